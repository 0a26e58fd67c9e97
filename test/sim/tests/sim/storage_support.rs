//! Accounts, shares and signed requests for the tests of storage.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use ring::hmac;
use serde_json::{Value, json};

use crate::support::{Got, Lab};

pub(crate) const GROUP: &str = "/subscriptions/sub-1/resourceGroups/Rg";
pub(crate) const VERSION: &str = "api-version=2025-01-01";

pub(crate) fn account(name: &str) -> String {
    format!("{GROUP}/providers/Microsoft.Storage/storageAccounts/{name}?{VERSION}")
}

/// A path below an account; `more` is the rest of a query.
pub(crate) fn below(name: &str, path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let and = if query.is_empty() { "" } else { "&" };
    format!(
        "{GROUP}/providers/Microsoft.Storage/storageAccounts/{name}/{path}?{VERSION}{and}{query}"
    )
}

pub(crate) fn share(account: &str, name: &str) -> String {
    below(account, &format!("fileServices/default/shares/{name}"))
}

pub(crate) fn body(kind: &str, sku: &str) -> Value {
    json!({"location": "eastus2", "kind": kind, "sku": {"name": sku}})
}

/// The fields of one signed request to the data plane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plane<'a> {
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: Vec<u8>,
}

impl Lab {
    /// Makes an account and gives its first key.
    pub(crate) async fn account(&self, name: &str, body: Value) -> String {
        let got = self.send("PUT", &account(name), body).await;
        assert_eq!(got.status, 202, "{}", got.body);
        self.clock.advance(Duration::from_secs(120));
        self.key(name).await
    }

    pub(crate) async fn key(&self, name: &str) -> String {
        let got = self
            .send("POST", &below(name, "listKeys"), Value::Null)
            .await;
        assert_eq!(got.status, 200, "{}", got.body);
        got.body["keys"][0]["value"]
            .as_str()
            .expect("a key")
            .to_owned()
    }

    /// Makes a share through ARM.
    pub(crate) async fn share(&self, account: &str, name: &str, properties: Value) {
        let got = self
            .send(
                "PUT",
                &share(account, name),
                json!({"properties": properties}),
            )
            .await;
        assert_eq!(got.status, 201, "{}", got.body);
    }

    /// Sends a request that was signed with this key; the path begins behind the host.
    pub(crate) async fn plane(
        &self,
        (account, key): (&str, &str),
        verb: &str,
        path: &str,
        given: Plane<'_>,
    ) -> Got {
        let request = signed((account, key), verb, path, given);
        self.raw(request).await.expect("an answer")
    }

    /// The same without anything but a method and a path.
    pub(crate) async fn ask(&self, who: (&str, &str), verb: &str, path: &str) -> Got {
        self.plane(who, verb, path, Plane::default()).await
    }
}

impl Got {
    /// The code of an error of the data plane, from its body; its header says the same.
    pub(crate) fn xml_code(&self) -> String {
        let text = self.text();
        let code = between(&text, "<Code>", "</Code>");
        assert_eq!(code, self.header("x-ms-error-code"), "{text}");
        code
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.response.body()).into_owned()
    }
}

pub(crate) fn between(text: &str, open: &str, close: &str) -> String {
    let inside = text
        .split_once(open)
        .and_then(|(_, rest)| rest.split_once(close));
    inside
        .map(|(inside, _)| inside.to_owned())
        .unwrap_or_default()
}

pub(crate) fn hmac(key: &str, text: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(key).expect("base64"));
    STANDARD.encode(hmac::sign(&key, text.as_bytes()))
}

/// A request with a Shared Key signature, by the reference's own words.
pub(crate) fn signed(
    (account, key): (&str, &str),
    verb: &str,
    path: &str,
    given: Plane<'_>,
) -> Request<Bytes> {
    let mut headers: Vec<(&str, &str)> = given.headers.clone();
    headers.extend([
        ("x-ms-date", "Thu, 01 Jan 2026 00:02:00 GMT"),
        ("x-ms-version", "2024-11-04"),
    ]);
    headers.sort_unstable();
    let named = |name: &str| {
        let found = headers.iter().find(|(header, _)| *header == name);
        found.map_or("", |(_, value)| *value)
    };
    let length = given.body.len().to_string();
    let length = if given.body.is_empty() {
        ""
    } else {
        length.as_str()
    };
    let canonical: String = headers
        .iter()
        .filter(|(name, _)| name.starts_with("x-ms-"))
        .map(|(name, value)| format!("{name}:{value}\n"))
        .collect();
    let (plain, query) = path.split_once('?').unwrap_or((path, ""));
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.replacen('=', ":", 1))
        .collect();
    pairs.sort();
    let resource: String = std::iter::once(format!("/{account}{plain}"))
        .chain(pairs)
        .collect::<Vec<_>>()
        .join("\n");
    let text = format!(
        "{verb}\n\n\n{length}\n\n{}\n\n\n\n\n\n{}\n{canonical}{resource}",
        named("content-type"),
        named("range")
    );
    let mut request = Request::builder()
        .method(verb)
        .uri(format!("https://{account}.file.core.windows.net{path}"))
        .header(
            "authorization",
            format!("SharedKey {account}:{}", hmac(key, &text)),
        );
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.body(Bytes::from(given.body)).expect("request")
}
