//! Shared access signatures of Azure Files: what is signed, and how it stands in a URL.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;

/// The version that the service signs with.
pub(crate) const VERSION: &str = "2024-11-04";

/// The signature of a text with an account key; none when the key is not base64.
pub(crate) fn sign(key: &str, text: &str) -> Option<String> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(key).ok()?);
    Some(STANDARD.encode(hmac::sign(&key, text.as_bytes())))
}

/// An account SAS, by its fields `sv sp ss srt st se sip spr ses`.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccountSas {
    pub(crate) version: String,
    pub(crate) permissions: String,
    pub(crate) services: String,
    pub(crate) types: String,
    pub(crate) start: String,
    pub(crate) expiry: String,
    pub(crate) addresses: String,
    pub(crate) protocol: String,
    pub(crate) scope: String,
}

impl AccountSas {
    /// What is signed. The encryption scope came with version 2020-12-06.
    pub(crate) fn text(&self, account: &str) -> String {
        let mut lines = vec![
            account,
            &self.permissions,
            &self.services,
            &self.types,
            &self.start,
            &self.expiry,
            &self.addresses,
            &self.protocol,
            &self.version,
        ];
        if self.version.as_str() >= "2020-12-06" {
            lines.push(&self.scope);
        }
        lines.join("\n") + "\n"
    }

    /// The query part that carries it.
    pub(crate) fn sign(&self, account: &str, key: &str) -> String {
        let signature = sign(key, &self.text(account)).unwrap_or_default();
        query(&[
            ("sv", &self.version),
            ("ss", &self.services),
            ("srt", &self.types),
            ("sp", &self.permissions),
            ("st", &self.start),
            ("se", &self.expiry),
            ("sip", &self.addresses),
            ("spr", &self.protocol),
            ("sig", &signature),
        ])
    }
}

/// A SAS for one share or file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceSas {
    pub(crate) version: String,
    /// `s` or `f`.
    pub(crate) resource: String,
    /// `/file/account/share/path`.
    pub(crate) path: String,
    pub(crate) permissions: String,
    pub(crate) start: String,
    pub(crate) expiry: String,
    pub(crate) addresses: String,
    pub(crate) protocol: String,
    pub(crate) identifier: String,
    /// `rscc rscd rsce rscl rsct`.
    pub(crate) headers: [String; 5],
}

impl ServiceSas {
    /// What is signed.
    pub(crate) fn text(&self) -> String {
        let mut lines: Vec<&str> = vec![
            &self.permissions,
            &self.start,
            &self.expiry,
            &self.path,
            &self.identifier,
            &self.addresses,
            &self.protocol,
            &self.version,
        ];
        lines.extend(self.headers.iter().map(String::as_str));
        lines.join("\n")
    }

    /// The query part that carries it.
    pub(crate) fn sign(&self, key: &str) -> String {
        let signature = sign(key, &self.text()).unwrap_or_default();
        let [rscc, rscd, rsce, rscl, rsct] = &self.headers;
        query(&[
            ("sv", &self.version),
            ("sr", &self.resource),
            ("sp", &self.permissions),
            ("st", &self.start),
            ("se", &self.expiry),
            ("si", &self.identifier),
            ("sip", &self.addresses),
            ("spr", &self.protocol),
            ("rscc", rscc),
            ("rscd", rscd),
            ("rsce", rsce),
            ("rscl", rscl),
            ("rsct", rsct),
            ("sig", &signature),
        ])
    }
}

fn query(pairs: &[(&str, &String)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    let encoded = pairs
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    encoded.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

    #[test]
    fn both_kinds_are_signed_as_the_reference_says() {
        let account = AccountSas {
            version: "2024-11-04".into(),
            permissions: "rwdlc".into(),
            services: "f".into(),
            types: "sco".into(),
            start: "2026-03-03T09:00:00Z".into(),
            expiry: "2026-03-03T21:00:00Z".into(),
            protocol: "https".into(),
            ..AccountSas::default()
        };
        let token = account.sign("examplefiles01", KEY);
        assert!(
            token.ends_with("sig=znLYGTTlTQreWaW9KomYZomBeClRmb1afVI%2FUOsKHSg%3D"),
            "{token}"
        );
        let service = ServiceSas {
            version: "2024-11-04".into(),
            resource: "s".into(),
            path: "/file/examplefiles01/pvc-0001".into(),
            permissions: "rcwdl".into(),
            start: "2026-03-03T09:00:00Z".into(),
            expiry: "2026-03-03T21:00:00Z".into(),
            protocol: "https".into(),
            ..ServiceSas::default()
        };
        let token = service.sign(KEY);
        assert!(
            token.ends_with("sig=fFKEq%2BRVj3IzP4lt%2Ffo2wXWGUeImd5zndPLQ3%2FbUqOc%3D"),
            "{token}"
        );
    }
}
