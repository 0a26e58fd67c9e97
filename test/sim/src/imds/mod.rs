//! The instance metadata service, one per node.
//!
//! | file | holds |
//! |---|---|
//! | [`document`] | the instance document and its parts |
//! | [`identity`] | managed identity tokens |
//!
//! It is only reached from inside a virtual machine, so it trusts everyone who shows the `Metadata`
//! header, and refuses what has come through a proxy.

pub mod document;
pub mod identity;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use document::Instance;
use identity::Identities;

use crate::query::Query;

/// Versions of the instance document that are answered; a real service knows more, with the same
/// fields for what is used here.
const VERSIONS: [&str; 12] = [
    "2019-06-01",
    "2019-11-01",
    "2020-06-01",
    "2020-09-01",
    "2020-10-01",
    "2020-12-01",
    "2021-01-01",
    "2021-05-01",
    "2021-10-01",
    "2021-11-01",
    "2023-07-01",
    "2025-04-07",
];

/// Where the facts about a machine come from.
pub trait Machine: std::fmt::Debug + Send + Sync + 'static {
    /// The machine as its metadata service sees it now; `None` once it is gone.
    fn instance(&self) -> Option<Instance>;
}

/// Calls that the service still has to refuse, for tests of back-off. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Throttle(Arc<AtomicU32>);

impl Throttle {
    /// Refuses the next `count` requests.
    pub fn refuse_next(&self, count: u32) {
        self.0.store(count, Ordering::SeqCst);
    }

    fn refuses(&self) -> bool {
        self.0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
            .is_ok()
    }
}

/// The metadata service of one node.
#[derive(Debug)]
pub struct Imds {
    machine: Arc<dyn Machine>,
    identities: Arc<Identities>,
    throttle: Throttle,
}

impl Imds {
    /// A service for one machine.
    #[must_use]
    pub fn new(machine: Arc<dyn Machine>, identities: Arc<Identities>, throttle: Throttle) -> Self {
        Self {
            machine,
            identities,
            throttle,
        }
    }

    /// Answers one request.
    #[must_use]
    pub fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        if let Some(refusal) = self.refusal(request) {
            return refusal;
        }
        let query = Query::of(request.uri());
        let path = request.uri().path().trim_matches('/').to_owned();
        let Some(rest) = path.strip_prefix("metadata/") else {
            return not_found();
        };
        match rest.split('/').collect::<Vec<_>>().as_slice() {
            ["versions"] => json_reply(200, &json!({"apiVersions": VERSIONS})),
            ["instance", part @ ..] => self.instance(part, &query),
            ["identity", "oauth2", "token"] => match self.machine.instance() {
                Some(instance) => self.identities.answer(&instance, &query),
                None => gone(),
            },
            ["scheduledevents"] => unversioned(&query).unwrap_or_else(|| {
                json_reply(200, &json!({"DocumentIncarnation": 1, "Events": []}))
            }),
            _ => not_found(),
        }
    }

    fn refusal(&self, request: &Request<Bytes>) -> Option<Response<Bytes>> {
        let header = |name| {
            request
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        if header("x-forwarded-for").is_some() {
            return Some(json_reply(403, &json!({"error": "Forbidden"})));
        }
        if !header("metadata").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Some(no_header(request.uri().path()));
        }
        if request.method() != Method::GET {
            return Some(json_reply(405, &json!({"error": "Method Not Allowed"})));
        }
        self.throttle.refuses().then(throttled)
    }

    fn instance(&self, part: &[&str], query: &Query) -> Response<Bytes> {
        if let Some(refusal) = unversioned(query) {
            return refusal;
        }
        let Some(instance) = self.machine.instance() else {
            return gone();
        };
        let document = instance.document();
        let Some(found) = document::at(&document, part) else {
            return not_found();
        };
        match query.get("format") {
            None | Some("json") => json_reply(200, found),
            Some("text") => {
                let mut response = Response::new(Bytes::from(document::text(found)));
                let kind = HeaderValue::from_static("text/plain; charset=utf-8");
                response.headers_mut().insert(CONTENT_TYPE, kind);
                response
            }
            Some(_) => json_reply(
                400,
                &json!({"error": "Bad request. Format is not supported."}),
            ),
        }
    }
}

/// The refusal of a request without a version that is known.
fn unversioned(query: &Query) -> Option<Response<Bytes>> {
    let reason = match query.get("api-version") {
        Some(version) if VERSIONS.contains(&version) => return None,
        Some(_) => "Bad request. api-version is invalid or was not specified in the request.",
        None => "Bad request. api-version was not specified in the request",
    };
    let newest: Vec<&str> = VERSIONS.iter().rev().take(3).copied().collect();
    Some(json_reply(
        400,
        &json!({"error": reason, "newest-versions": newest}),
    ))
}

fn no_header(path: &str) -> Response<Bytes> {
    let description = "Required metadata header not specified";
    if path.starts_with("/metadata/identity") {
        let body = json!({"error": "invalid_request", "error_description": description});
        return json_reply(400, &body);
    }
    json_reply(
        400,
        &json!({"error": format!("Bad request. {description}")}),
    )
}

fn throttled() -> Response<Bytes> {
    let mut response = json_reply(429, &json!({"error": "Too many requests"}));
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn not_found() -> Response<Bytes> {
    json_reply(404, &json!({"error": "Not found"}))
}

/// A machine that was deleted has no metadata service; its last callers see the service vanish.
fn gone() -> Response<Bytes> {
    json_reply(410, &json!({"error": "Gone"}))
}

fn json_reply(status: u16, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
