//! Answers of the file service that are in the headers.

use std::str::FromStr;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::request::FilesRequest;
use crate::arm::error::ArmError;
use crate::storage::shares::Metadata;

const META: &str = "x-ms-meta-";

pub(super) fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub(super) fn parsed<T: FromStr>(headers: &HeaderMap, name: &str) -> Option<T> {
    text(headers, name)?.parse().ok()
}

/// The metadata; keys are in lower case, because headers are.
pub(super) fn metadata(headers: &HeaderMap) -> Metadata {
    let mut found = Metadata::new();
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(META) {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            found.insert(key.to_owned(), value);
        }
    }
    found
}

impl FilesRequest {
    /// With metadata. Keys are written in lower case, because headers are.
    pub(super) fn metadata(mut self, metadata: &Metadata) -> Result<Self, ArmError> {
        for (key, value) in metadata {
            let name = format!("{META}{}", key.to_ascii_lowercase());
            let bad = HeaderName::try_from(name.as_str()).is_err()
                || key.is_empty()
                || HeaderValue::from_str(value).is_err()
                || !value.is_ascii();
            if bad {
                return Err(ArmError::invalid(&format!("the metadata '{key}'")));
            }
            self = self.header(name, value.as_str());
        }
        Ok(self)
    }
}
