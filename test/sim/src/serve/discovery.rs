//! `/metadata/endpoints`: how a client that knows only the ARM address finds everything else.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderValue, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::site::Scheme;
use crate::query::Query;

/// Audiences whose tokens ARM takes.
pub const AUDIENCES: [&str; 2] = [
    "https://management.core.windows.net/",
    "https://management.azure.com/",
];

/// Whether a token for this audience is one for ARM; a slash at the end makes no difference.
#[must_use]
pub fn is_audience(audience: &str) -> bool {
    let plain = audience.trim_end_matches('/');
    AUDIENCES
        .iter()
        .any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(plain))
}

/// The first version that answers with one object and no longer with a list.
const FIRST_OBJECT_VERSION: &str = "2020-06-01";

/// Answers the discovery document; `None` for every other path. `authority` is where tokens are
/// given, which is HTTPS even for a client that came over plain HTTP.
#[must_use]
pub fn answer(request: &Request<Bytes>, authority: &str) -> Option<Response<Bytes>> {
    if request.uri().path().trim_end_matches('/') != "/metadata/endpoints" {
        return None;
    }
    let query = Query::of(request.uri());
    let Some(version) = query.get("api-version") else {
        return Some(reply(
            StatusCode::BAD_REQUEST,
            &json!({"error": {
                "code": "MissingApiVersionParameter",
                "message": "The api-version query parameter (?api-version=) is required for all requests.",
            }}),
        ));
    };
    let scheme = request
        .extensions()
        .get::<Scheme>()
        .map_or("https", |scheme| scheme.text());
    let host = request
        .headers()
        .get(HOST)
        .and_then(|value| value.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
    let arm = format!("{scheme}://{}", host.unwrap_or("management.azure.com"));
    let entry = entry(&arm, authority);
    // Dates of this form sort as text.
    let body = if version < FIRST_OBJECT_VERSION {
        json!([entry])
    } else {
        entry
    };
    Some(reply(StatusCode::OK, &body))
}

fn entry(arm: &str, authority: &str) -> Value {
    json!({
        "name": "AzureCloud",
        "resourceManager": format!("{arm}/"),
        "authentication": {
            "loginEndpoint": format!("{authority}/"),
            "audiences": AUDIENCES,
            "tenant": "common",
            "identityProvider": "AAD",
        },
        "suffixes": {
            "storage": "core.windows.net",
            "keyVaultDns": "vault.azure.net",
            "acrLoginServer": "azurecr.io",
            "sqlServerHostname": "database.windows.net",
        },
        "portal": "https://portal.azure.com",
        "graph": "https://graph.windows.net/",
        "graphAudience": "https://graph.windows.net/",
        "batch": "https://batch.core.windows.net/",
        "media": "https://rest.media.azure.net",
        "microsoftGraphResourceId": "https://graph.microsoft.com/",
    })
}

fn reply(status: StatusCode, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &str) -> (u16, Value) {
        let request = Request::get(path)
            .header(HOST, "localhost:1")
            .body(Bytes::new());
        let response =
            answer(&request.expect("request"), "https://localhost:2").expect("discovery");
        (
            response.status().as_u16(),
            serde_json::from_slice(response.body()).expect("JSON"),
        )
    }

    #[test]
    fn both_forms_are_answered() {
        let (_, list) = ask("/metadata/endpoints?api-version=2019-05-01");
        assert_eq!(
            list.pointer("/0/resourceManager"),
            Some(&json!("https://localhost:1/"))
        );
        let (_, object) = ask("/metadata/endpoints?api-version=2022-09-01");
        let login = object.pointer("/authentication/loginEndpoint");
        assert_eq!(login, Some(&json!("https://localhost:2/")));
        assert_eq!(ask("/metadata/endpoints").0, 400);
    }
}
