//! The stub's HTTP face: verbs by method, discovery, and watches as chunked JSON lines.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use super::discovery;
use super::error::ApiError;
use super::faults::Effect;
use super::resources::Target;
use super::select::Selector;
use super::store::{PatchKind, Store};
use super::watch;
use crate::query::Query;

/// A response body; a watch never ends by itself.
pub type StubBody = UnsyncBoxBody<Bytes, Infallible>;

/// Answers one request.
pub async fn answer(store: Arc<Store>, request: Request<Bytes>) -> Response<StubBody> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    if let Some(document) = discovery::document(&path) {
        return json_response(StatusCode::OK, &document);
    }
    if matches!(path.as_str(), "/healthz" | "/readyz" | "/livez") {
        return plain("ok");
    }
    let Some(target) = Target::parse(&path) else {
        return refuse(&ApiError::NoSuchResource);
    };
    let query = Query::of(&parts.uri);
    let fault = store.faults().next(&parts.method, &target);
    match fault {
        Some(Effect::Conflict) => {
            let name = target.name.clone().unwrap_or_default();
            return refuse(&ApiError::conflict(target.resource, &name));
        }
        Some(Effect::LostBefore) => std::future::pending::<()>().await,
        Some(Effect::Stale | Effect::LostAfter) | None => {}
    }
    let reads = parts.method == Method::GET;
    let response = perform(&store, &target, &query, (parts, body), fault);
    if !reads {
        store.settle();
    }
    if fault == Some(Effect::LostAfter) {
        std::future::pending::<()>().await;
    }
    response
}

/// Carries the request out.
fn perform(
    store: &Arc<Store>,
    target: &Target,
    query: &Query,
    (parts, body): (http::request::Parts, Bytes),
    fault: Option<Effect>,
) -> Response<StubBody> {
    let dry = query.get("dryRun").is_some_and(|value| value == "All");
    let outcome = match (parts.method, target.name.is_some()) {
        (Method::GET, false) if query.is("watch") => watch_collection(store, target, query),
        (Method::GET, false) => list(store, target, query),
        (Method::GET, true) => match fault {
            Some(Effect::Stale) => store.get_stale(target),
            _ => store.get(target),
        }
        .map(|o| json_response(StatusCode::OK, &o)),
        (Method::POST, false) if dry => body_json(&body)
            .and_then(|body| store.would_create(target, body))
            .map(|o| json_response(StatusCode::CREATED, &o)),
        (Method::POST, false) => body_json(&body)
            .and_then(|body| store.create(target, body))
            .map(|o| json_response(StatusCode::CREATED, &o)),
        (Method::PUT, true) => body_json(&body)
            .and_then(|body| store.replace(target, body))
            .map(|o| json_response(StatusCode::OK, &o)),
        (Method::PATCH, true) => {
            let kind = parts
                .headers
                .get(CONTENT_TYPE)
                .and_then(|v| v.to_str().ok());
            patch(store, target, kind.unwrap_or_default(), &body)
        }
        (Method::DELETE, true) => delete(store, target, &body),
        _ => Err(ApiError::MethodNotAllowed),
    };
    outcome.unwrap_or_else(|error| refuse(&error))
}

fn list(store: &Store, target: &Target, query: &Query) -> Result<Response<StubBody>, ApiError> {
    let selector = selector(query)?;
    let (version, objects) = store.list(target);
    let items: Vec<&Value> = objects
        .iter()
        .map(AsRef::as_ref)
        .filter(|object| selector.matches(object))
        .collect();
    let resource = target.resource;
    Ok(json_response(
        StatusCode::OK,
        &json!({
            "kind": format!("{}List", resource.kind), "apiVersion": resource.api_version(),
            "metadata": {"resourceVersion": version.to_string()}, "items": items,
        }),
    ))
}

fn watch_collection(
    store: &Arc<Store>,
    target: &Target,
    query: &Query,
) -> Result<Response<StubBody>, ApiError> {
    let options = watch::Options {
        selector: selector(query)?,
        from: number(query, "resourceVersion")?.filter(|version| *version > 0),
        timeout: number(query, "timeoutSeconds")?.map(std::time::Duration::from_secs),
        bookmarks: query.is("allowWatchBookmarks"),
        initial_events: query.is("sendInitialEvents"),
    };
    let body = watch::body(Arc::clone(store), target.clone(), options)?;
    let mut response = Response::new(body);
    response.headers_mut().insert(
        CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    Ok(response)
}

fn patch(
    store: &Store,
    target: &Target,
    kind: &str,
    body: &Bytes,
) -> Result<Response<StubBody>, ApiError> {
    let media = kind.split(';').next().unwrap_or_default().trim();
    let kind = match media {
        "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
            PatchKind::Merge
        }
        "application/json-patch+json" => PatchKind::Json,
        other => return Err(ApiError::UnsupportedPatch(other.to_owned())),
    };
    let object = store.patch(target, kind, &body_json(body)?)?;
    Ok(json_response(StatusCode::OK, &object))
}

fn delete(store: &Store, target: &Target, body: &Bytes) -> Result<Response<StubBody>, ApiError> {
    let options = if body.is_empty() {
        Value::Null
    } else {
        body_json(body)?
    };
    let object = store.delete(target, &options)?;
    if super::object::is_being_deleted(&object) {
        return Ok(json_response(StatusCode::OK, &object));
    }
    let details = json!({
        "name": target.name, "kind": target.resource.plural, "group": target.resource.group,
        "uid": object.pointer("/metadata/uid"),
    });
    Ok(json_response(
        StatusCode::OK,
        &json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": details,
        }),
    ))
}

fn body_json(body: &Bytes) -> Result<Value, ApiError> {
    serde_json::from_slice(body)
        .map_err(|error| ApiError::BadRequest(format!("the body is not JSON: {error}")))
}

fn refuse(error: &ApiError) -> Response<StubBody> {
    let status = StatusCode::from_u16(error.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, &error.status());
    if *error == ApiError::MethodNotAllowed {
        let allowed = http::HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

fn json_response(status: StatusCode, body: &Value) -> Response<StubBody> {
    let mut response = Response::new(full(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    response
}

fn plain(text: &'static str) -> Response<StubBody> {
    Response::new(full(text.to_owned()))
}

fn full(text: String) -> StubBody {
    Full::new(Bytes::from(text)).boxed_unsync()
}

fn number(query: &Query, key: &str) -> Result<Option<u64>, ApiError> {
    let Some(text) = query.get(key).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text.parse();
    number
        .map(Some)
        .map_err(|_| ApiError::BadRequest(format!("{key}={text:?} is no number")))
}

fn selector(query: &Query) -> Result<Selector, ApiError> {
    Selector::parse(query.get("labelSelector"), query.get("fieldSelector"))
}
