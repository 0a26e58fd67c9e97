//! Token flows: secrets, assertions, federated tokens, and the refusals that clients parse.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use azcsi_sim::entra::Entra;
use azcsi_sim::entra::directory::{App, AppSecret, Directory, Federated};
use azcsi_sim::entra::issuer::{AUDIENCE, ISSUER, Issuer};
use azcsi_sim::entra::tokens::TokenKey;
use azcsi_types::clock::Clock as _;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::Request;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

use crate::support::{HandClock, START};

const TENANT: &str = "11111111-1111-4111-8111-111111111111";
const APP: &str = "33333333-3333-4333-8333-333333333333";
const SUBJECT: &str = "system:serviceaccount:kube-system:csi";
const KEY: &[u8] = include_bytes!("../fixtures/assertion.key");
const CERTIFICATE: &[u8] = include_bytes!("../fixtures/assertion.pem");
const BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

struct World {
    entra: Entra,
    clock: Arc<HandClock>,
    issuer: Issuer,
}

fn certificate() -> Vec<u8> {
    CertificateDer::from_pem_slice(CERTIFICATE)
        .expect("certificate")
        .to_vec()
}

fn world() -> World {
    let clock = Arc::new(HandClock::default());
    let issuer = Issuer::from_pkcs8(&Issuer::generate().expect("key")).expect("issuer");
    let expired = UNIX_EPOCH + START - Duration::from_secs(1);
    let secret = |value: &str, expires: Option<SystemTime>| AppSecret {
        value: value.to_owned(),
        expires,
    };
    let app = App {
        client_id: APP.to_owned(),
        secrets: vec![secret("right", None), secret("old", Some(expired))],
        certificates: vec![certificate()],
        federated: vec![Federated {
            issuer: ISSUER.to_owned(),
            subject: SUBJECT.to_owned(),
            audience: AUDIENCE.to_owned(),
            keys: vec![issuer.public_key()],
        }],
    };
    let directory = Directory {
        tenant: TENANT.to_owned(),
        apps: vec![app],
    };
    let entra = Entra::new(directory, TokenKey::new(b"k"), clock.clone());
    World {
        entra,
        clock,
        issuer,
    }
}

impl World {
    fn post(&self, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        let encode = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
        };
        let body: Vec<_> = form
            .iter()
            .map(|(k, v)| format!("{k}={}", encode(v)))
            .collect();
        let request = Request::post(path)
            .header("Host", "localhost:8443")
            .body(Bytes::from(body.join("&")))
            .expect("request");
        let response = self
            .entra
            .answer(&request)
            .expect("a path of the authority");
        let body = serde_json::from_slice(response.body()).expect("JSON");
        (response.status().as_u16(), body)
    }

    fn v2(&self, extra: &[(&str, &str)]) -> (u16, Value) {
        let mut form = vec![
            ("grant_type", "client_credentials"),
            ("client_id", APP),
            ("scope", "https://management.core.windows.net//.default"),
        ];
        form.extend_from_slice(extra);
        self.post(&format!("/{TENANT}/oauth2/v2.0/token"), &form)
    }

    fn assert(&self, assertion: &str) -> (u16, Value) {
        self.v2(&[
            ("client_assertion_type", BEARER),
            ("client_assertion", assertion),
        ])
    }

    fn federated(&self, subject: &str, until: u64) -> String {
        let now = START.as_secs();
        self.issuer.token(subject, now, now + until).expect("token")
    }
}

fn code(body: &Value) -> u64 {
    body.pointer("/error_codes/0")
        .and_then(Value::as_u64)
        .expect("error_codes")
}

fn own(algorithm: &str, header: &Value, change: impl FnOnce(&mut Value)) -> String {
    let now = START.as_secs();
    let mut header = header.clone();
    header["alg"] = json!(algorithm);
    let mut claims = json!({
        "aud": format!("https://localhost:8443/{TENANT}/oauth2/v2.0/token"),
        "iss": APP, "sub": APP, "jti": "1", "nbf": now, "exp": now + 600,
    });
    change(&mut claims);
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let key = PrivatePkcs8KeyDer::from_pem_slice(KEY).expect("key");
    let pair = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).expect("RSA key");
    let mut signature = vec![0; pair.public().modulus_len()];
    let padding: &dyn RsaEncoding = if algorithm == "PS256" {
        &RSA_PSS_SHA256
    } else {
        &RSA_PKCS1_SHA256
    };
    pair.sign(
        padding,
        &SystemRandom::new(),
        signed.as_bytes(),
        &mut signature,
    )
    .expect("sign");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn thumbprint(algorithm: &'static ring::digest::Algorithm) -> String {
    URL_SAFE_NO_PAD.encode(ring::digest::digest(algorithm, &certificate()))
}

fn sha256() -> Value {
    json!({"x5t#S256": thumbprint(&ring::digest::SHA256)})
}

#[test]
fn a_secret_gives_a_token_for_the_audience_asked() {
    let world = world();
    let (status, body) = world.v2(&[("client_secret", "right")]);
    assert_eq!(status, 200);
    assert!(body.get("expires_in").is_some_and(Value::is_u64));
    let token = body
        .get("access_token")
        .and_then(Value::as_str)
        .expect("token");
    let claims = world
        .entra
        .key()
        .verify(token, world.clock.wall())
        .expect("verifies");
    assert_eq!(claims.audience, "https://management.core.windows.net/");
    assert_eq!(claims.client_id, APP);
}

#[test]
fn the_old_endpoint_answers_numbers_as_text() {
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", APP),
        ("client_secret", "right"),
        ("resource", "https://management.azure.com/"),
    ];
    let (status, body) = world().post(&format!("/{TENANT}/oauth2/token"), &form);
    assert_eq!(status, 200);
    assert!(body.get("expires_on").is_some_and(Value::is_string));
    assert_eq!(
        body.get("resource"),
        Some(&Value::from("https://management.azure.com/"))
    );
}

#[test]
fn refusals_have_the_number_the_status_and_the_line_breaks() {
    let world = world();
    for (extra, status, number) in [
        (vec![("client_secret", "wrong")], 401, 7_000_215),
        (vec![("client_secret", "old")], 401, 7_000_222),
        (vec![], 401, 7_000_216),
        (
            vec![("client_assertion_type", BEARER), ("client_assertion", "x")],
            401,
            50_027,
        ),
    ] {
        let (found, body) = world.v2(&extra);
        assert_eq!((found, code(&body)), (status, number), "{body}");
        let text = body
            .get("error_description")
            .and_then(Value::as_str)
            .expect("text");
        assert!(text.starts_with(&format!("AADSTS{number}: ")), "{text}");
        assert_eq!(text.matches("\r\n").count(), 3, "{text}");
    }
    let form = [("grant_type", "client_credentials"), ("client_id", APP)];
    let (status, body) = world.post("/nowhere/oauth2/v2.0/token", &form);
    assert_eq!((status, code(&body)), (400, 90_002));
    let path = format!("/{TENANT}/oauth2/v2.0/token");
    let (status, body) = world.post(
        &path,
        &[("grant_type", "client_credentials"), ("client_id", "x")],
    );
    assert_eq!((status, code(&body)), (400, 700_016));
    let (status, body) = world.post(&path, &[("grant_type", "password")]);
    assert_eq!((status, code(&body)), (400, 70_003));
}

#[test]
fn assertions_of_a_registered_certificate_are_taken() {
    let world = world();
    let sha1 = json!({"x5t": thumbprint(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY)});
    let whole = base64::engine::general_purpose::STANDARD.encode(certificate());
    for (algorithm, header) in [
        ("PS256", sha256()),
        ("RS256", sha256()),
        ("RS256", sha1),
        ("RS256", json!({"x5c": [whole]})),
    ] {
        let (status, body) = world.assert(&own(algorithm, &header, |_| {}));
        assert_eq!(status, 200, "{algorithm} {header}: {body}");
    }
}

#[test]
fn times_with_fractions_are_times() {
    let exp = json!(START.as_secs_f64() + 600.5);
    let (status, body) = world().assert(&own("PS256", &sha256(), |claims| claims["exp"] = exp));
    assert_eq!(status, 200, "{body}");
}

#[test]
fn assertions_that_prove_nothing_are_refused() {
    let world = world();
    let unknown = json!({"x5t#S256": "AAAA"});
    assert_eq!(
        code(&world.assert(&own("PS256", &unknown, |_| {})).1),
        700_027
    );
    let mixed = own("PS256", &sha256(), |_| {});
    let (head, _) = mixed.rsplit_once('.').expect("dots");
    let forged = format!("{head}.{}", URL_SAFE_NO_PAD.encode([0; 256]));
    assert_eq!(code(&world.assert(&forged).1), 700_027);
    let late = own("PS256", &sha256(), |claims| {
        claims["exp"] = json!(START.as_secs() - 301)
    });
    assert_eq!(code(&world.assert(&late).1), 700_024);
    let early = own("PS256", &sha256(), |claims| {
        claims["nbf"] = json!(START.as_secs() + 301)
    });
    assert_eq!(code(&world.assert(&early).1), 700_024);
    let elsewhere = own("PS256", &sha256(), |claims| {
        claims["aud"] = json!("https://other/")
    });
    assert_eq!(code(&world.assert(&elsewhere).1), 50_027);
}

#[test]
fn federated_tokens_match_exactly_or_not_at_all() {
    let world = world();
    assert_eq!(world.assert(&world.federated(SUBJECT, 3600)).0, 200);
    let stranger = world.federated("system:serviceaccount:kube-system:other", 3600);
    assert_eq!(code(&world.assert(&stranger).1), 700_213);
    let foreign = Issuer::from_pkcs8(&Issuer::generate().expect("key")).expect("issuer");
    let forged = foreign
        .token(SUBJECT, START.as_secs(), START.as_secs() + 3600)
        .expect("token");
    assert_eq!(code(&world.assert(&forged).1), 700_027);
    let token = world.federated(SUBJECT, 60);
    world.clock.advance(Duration::from_secs(60 + 301));
    assert_eq!(code(&world.assert(&token).1), 700_024);
}

#[test]
fn discovery_points_back_to_where_it_was_asked() {
    let world = world();
    let ask = |path: &str| {
        let request = Request::get(path)
            .header("Host", "localhost:8443")
            .body(Bytes::new());
        let response = world
            .entra
            .answer(&request.expect("request"))
            .expect("answer");
        serde_json::from_slice::<Value>(response.body()).expect("JSON")
    };
    let document = ask(&format!("/{TENANT}/v2.0/.well-known/openid-configuration"));
    let endpoint = format!("https://localhost:8443/{TENANT}/oauth2/v2.0/token");
    assert_eq!(document.get("token_endpoint"), Some(&Value::from(endpoint)));
    let document = ask("/common/discovery/instance?api-version=1.1");
    let host = document.pointer("/metadata/0/preferred_network");
    assert_eq!(host, Some(&Value::from("localhost:8443")));
}
