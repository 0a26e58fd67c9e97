//! Signing with an account key ("Authorize with Shared Key", REST reference of the storage
//! services).
//!
//! The signature covers the method, the standard headers, every `x-ms-` header and the address, so
//! it is made last, over the request exactly as it leaves.

use azcsi_types::account::AccountName;
use azcsi_types::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, IF_MATCH, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, IF_UNMODIFIED_SINCE, RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use ring::hmac;

use crate::arm::error::{ArmError, ErrorKind};

/// The standard headers that are signed by value, in their order, before and after the length.
const BEFORE_LENGTH: [HeaderName; 2] = [CONTENT_ENCODING, CONTENT_LANGUAGE];
const AFTER_TYPE: [HeaderName; 5] = [
    IF_MODIFIED_SINCE,
    IF_MATCH,
    IF_NONE_MATCH,
    IF_UNMODIFIED_SINCE,
    RANGE,
];

/// A key, ready for signing.
pub(super) struct SigningKey(hmac::Key);

impl SigningKey {
    pub(super) fn new(key: &Secret) -> Result<Self, ArmError> {
        let bytes = STANDARD.decode(key.expose().trim()).map_err(|_| {
            // The decoder's own words could tell of the key.
            let text = "the account key is not valid base64".to_owned();
            ArmError::of(ErrorKind::Credentials, text)
        })?;
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The signature of a text, in base64.
    pub(super) fn sign(&self, text: &str) -> String {
        STANDARD.encode(hmac::sign(&self.0, text.as_bytes()))
    }
}

/// Adds the `Authorization` header. Nothing may be changed afterwards.
pub(super) fn authorize(
    request: &mut Request<Bytes>,
    account: &AccountName,
    key: &Secret,
) -> Result<(), ArmError> {
    let signature = SigningKey::new(key)?.sign(&string_to_sign(request, account));
    let mut value = HeaderValue::try_from(format!("SharedKey {account}:{signature}"))
        .map_err(|_| ArmError::invalid("the signature"))?;
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(())
}

/// What is signed. `x-ms-date` is always sent, so the line of `Date` is empty.
pub(super) fn string_to_sign(request: &Request<Bytes>, account: &AccountName) -> String {
    let headers = request.headers();
    let length = match request.body().len() {
        0 => String::new(),
        length => length.to_string(),
    };
    let mut lines = vec![request.method().to_string()];
    lines.extend(BEFORE_LENGTH.iter().map(|name| value(headers, name)));
    lines.push(length);
    lines.push(value(headers, &HeaderName::from_static("content-md5")));
    lines.push(value(headers, &CONTENT_TYPE));
    lines.push(String::new());
    lines.extend(AFTER_TYPE.iter().map(|name| value(headers, name)));
    format!(
        "{}\n{}{}",
        lines.join("\n"),
        canonical_headers(headers),
        canonical_resource(request.uri(), account)
    )
}

fn value(headers: &HeaderMap, name: &HeaderName) -> String {
    let text = headers.get(name).map(HeaderValue::as_bytes);
    String::from_utf8_lossy(text.unwrap_or_default())
        .trim()
        .to_owned()
}

fn canonical_headers(headers: &HeaderMap) -> String {
    let mut names: Vec<&str> = headers
        .keys()
        .map(HeaderName::as_str)
        .filter(|name| name.starts_with("x-ms-"))
        .collect();
    names.sort_unstable();
    let mut text = String::new();
    for name in names {
        let values: Vec<String> = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
            .collect();
        text.push_str(&format!("{name}:{}\n", values.join(",")));
    }
    text
}

fn canonical_resource(uri: &http::Uri, account: &AccountName) -> String {
    let decode = |text: &str| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8_lossy()
            .into_owned()
    };
    let mut pairs: Vec<(String, String)> = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name).to_ascii_lowercase(), decode(value)))
        .collect();
    pairs.sort();
    let mut text = format!("/{account}{}", uri.path());
    let mut last: Option<&str> = None;
    for (name, value) in &pairs {
        if last == Some(name) {
            text.push_str(&format!(",{value}"));
        } else {
            text.push_str(&format!("\n{name}:{value}"));
        }
        last = Some(name);
    }
    text
}

#[cfg(test)]
mod tests;
