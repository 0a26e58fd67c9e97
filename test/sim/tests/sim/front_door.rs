//! What never reaches a resource provider.

use std::time::Duration;

use azcsi_sim::entra::tokens::{Claims, TokenKey};
use azcsi_sim::{Auth, ManualClock, Profile};
use azcsi_types::clock::Clock as _;
use http::Request;
use serde_json::{Value, json};

use crate::support::{Lab, R, SUB, disk, premium};

#[tokio::test]
async fn api_versions_are_checked() {
    let lab = Lab::new();
    for (query, code) in [
        ("", "MissingApiVersionParameter"),
        ("?api-version=", "MissingApiVersionParameter"),
        ("?api-version=new", "InvalidApiVersionParameter"),
        ("?api-version=1999-01-01", "NoRegisteredProviderFound"),
    ] {
        let mut request = Lab::request("GET", &disk("a"), &Value::Null);
        *request.uri_mut() = format!("{}{query}", disk("a")).parse().expect("uri");
        let got = lab.raw(request).await.expect("an answer");
        assert_eq!((got.status, got.code()), (400, code), "{query}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_by_the_gateway() {
    let lab = Lab::new();
    for (path, code) in [
        (disk("none"), "ResourceNotFound"),
        (format!("{R}/snapshots/none"), "ResourceNotFound"),
        (format!("{R}/virtualMachines/none"), "ResourceNotFound"),
        (
            disk("none").replace("Rg", "no-group"),
            "ResourceGroupNotFound",
        ),
        (
            format!("{R}/virtualMachineScaleSets/none/virtualMachines/0"),
            "ParentResourceNotFound",
        ),
        (
            disk("none").replace("sub-1", "sub-2"),
            "SubscriptionNotFound",
        ),
    ] {
        let got = lab.get(&path).await;
        assert_eq!((got.status, got.code()), (404, code), "{path}");
        assert_eq!(got.header("x-ms-failure-cause"), "gateway", "{path}");
    }
}

#[tokio::test]
async fn unknown_types_and_methods_are_refused() {
    let lab = Lab::new();
    let got = lab.get(&format!("{R}/teapots/a")).await;
    assert_eq!((got.status, got.code()), (404, "InvalidResourceType"));
    let got = lab
        .get(&format!("{SUB}/providers/Microsoft.Tea/pots"))
        .await;
    assert_eq!((got.status, got.code()), (404, "InvalidResourceNamespace"));
    let got = lab.send("POST", &disk("a"), json!({})).await;
    assert_eq!(got.status, 405);
}

async fn with_token(lab: &Lab, header: Option<String>) -> (u16, String) {
    let mut request = Request::builder().uri(format!("{}?api-version=2024-07-01", disk("a")));
    if let Some(header) = header {
        request = request.header("authorization", header);
    }
    let request = request.body(bytes::Bytes::new()).expect("request");
    let got = lab.raw(request).await.expect("an answer");
    (got.status, got.code().to_owned())
}

#[tokio::test]
async fn a_request_without_a_good_token_is_refused() {
    let token_key = TokenKey::new(b"secret");
    let lab = Lab::options(|options| options.auth = Auth::Key(token_key.clone()));
    let bearer = |signer: &TokenKey, audience: &str, seconds| {
        let (lifetime, now) = (Duration::from_secs(seconds), ManualClock::new().wall());
        let claims = Claims::lasting(audience, "client-1", "tenant", now, lifetime);
        Some(format!("Bearer {}", signer.issue(&claims)))
    };
    let arm = "https://management.azure.com/";
    let invalid = "InvalidAuthenticationToken";
    for (header, status, code) in [
        (None, 401, "AuthenticationFailed"),
        (Some("Bearer nonsense".to_owned()), 401, invalid),
        (bearer(&TokenKey::new(b"other"), arm, 60), 401, invalid),
        (
            bearer(&token_key, "https://storage.azure.com/", 60),
            401,
            invalid,
        ),
        (
            bearer(&token_key, arm, 0),
            401,
            "ExpiredAuthenticationToken",
        ),
        (bearer(&token_key, arm, 60), 404, "ResourceNotFound"),
    ] {
        assert_eq!(with_token(&lab, header).await, (status, code.to_owned()));
    }
    assert_eq!(
        lab.sim.requests(0).last().expect("logged").caller,
        "client-1"
    );
}

#[tokio::test]
async fn malformed_bodies_are_refused() {
    let lab = Lab::new();
    let mut request = Lab::request("PUT", &disk("a"), &Value::Null);
    *request.body_mut() = bytes::Bytes::from_static(b"{");
    let got = lab.raw(request).await.expect("an answer");
    assert_eq!((got.status, got.code()), (400, "InvalidRequestContent"));
}

#[tokio::test]
async fn every_answer_can_be_traced() {
    let lab = Lab::new();
    let mut request = Lab::request("GET", &disk("a"), &Value::Null);
    let headers = request.headers_mut();
    headers.insert(
        "x-ms-correlation-request-id",
        "corr".parse().expect("value"),
    );
    headers.insert("x-ms-client-request-id", "mine".parse().expect("value"));
    headers.insert(
        "x-ms-return-client-request-id",
        "true".parse().expect("value"),
    );
    let got = lab.raw(request).await.expect("an answer");
    assert_eq!(got.header("x-ms-correlation-request-id"), "corr");
    assert_eq!(got.header("x-ms-client-request-id"), "mine");
    assert!(
        got.header("x-ms-routing-request-id")
            .contains(got.header("x-ms-request-id"))
    );
}

#[tokio::test]
async fn groups_regions_and_skus_are_told() {
    let lab = Lab::new();
    let group = "/subscriptions/sub-1/resourceGroups/rg";
    assert_eq!(lab.get(group).await.body["name"], "Rg");
    assert_eq!(lab.send("HEAD", group, Value::Null).await.status, 204);
    assert_eq!(
        lab.get(&format!("{group}x")).await.code(),
        "ResourceGroupNotFound"
    );
    let places = lab.get(&format!("{SUB}/locations")).await;
    let zones = &places.body["value"][0]["availabilityZoneMappings"];
    assert_eq!(zones.as_array().map(Vec::len), Some(3));
    let filter = "?$filter=location%20eq%20'eastus2'&api-version=2021-07-01";
    let skus = lab
        .get(&format!("{SUB}/providers/Microsoft.Compute/skus{filter}"))
        .await;
    let size = skus.body["value"].as_array().expect("list").iter();
    let size = size
        .clone()
        .find(|sku| sku["name"] == "Standard_D4s_v5")
        .expect("the size");
    assert_eq!(
        size["capabilities"][0],
        json!({"name": "MaxDataDiskCount", "value": "8"})
    );
    assert_eq!(size["locations"], json!(["eastus2"]));
}

#[tokio::test]
async fn the_same_seed_and_requests_give_the_same_answers() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let lab = Lab::with(Profile::Azure);
        let mut seen = Vec::new();
        for name in ["a", "b"] {
            let got = lab.send("PUT", &disk(name), premium(8)).await;
            lab.clock.advance(std::time::Duration::from_secs(2));
            seen.push(format!("{:?} {}", got.response.headers(), got.body));
            seen.push(lab.get(&disk(name)).await.body.to_string());
        }
        runs.push(seen);
    }
    assert_eq!(runs[0], runs[1]);
}
