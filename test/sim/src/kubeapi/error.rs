//! Refusals, in the `Status` shape that Kubernetes clients read.

use serde_json::{Value, json};

use super::patch::PatchError;
use super::resources::{Resource, Target};

/// Why a request was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ApiError {
    /// No such object.
    #[error("{0} not found")]
    NotFound(String),
    /// The stub does not serve this path.
    #[error("the server could not find the requested resource")]
    NoSuchResource,
    /// The name is taken.
    #[error("{0} already exists")]
    AlreadyExists(String),
    /// Someone else wrote first.
    #[error(
        "Operation cannot be fulfilled on {0}: the object has been modified; please apply your changes to the latest version and try again"
    )]
    Conflict(String),
    /// The request makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// The object breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// The version to start a watch from is no longer known.
    #[error("too old resource version: {0}")]
    Expired(u64),
    /// The verb is not served here.
    #[error("the server does not allow this method on the requested resource")]
    MethodNotAllowed,
    /// The patch type is not served.
    #[error(
        "the body of the request was in an unknown format: this stub takes merge, strategic merge and JSON patches, not {0:?}"
    )]
    UnsupportedPatch(String),
}

impl ApiError {
    pub(super) fn not_found(target: &Target) -> Self {
        Self::NotFound(quoted(
            target.resource,
            target.name.as_deref().unwrap_or_default(),
        ))
    }

    pub(super) fn exists(resource: &Resource, name: &str) -> Self {
        Self::AlreadyExists(quoted(resource, name))
    }

    pub(super) fn conflict(resource: &Resource, name: &str) -> Self {
        Self::Conflict(quoted(resource, name))
    }

    /// The HTTP status.
    #[must_use]
    pub const fn code(&self) -> u16 {
        self.class().0
    }

    const fn class(&self) -> (u16, &'static str) {
        match self {
            Self::NotFound(_) | Self::NoSuchResource => (404, "NotFound"),
            Self::AlreadyExists(_) => (409, "AlreadyExists"),
            Self::Conflict(_) => (409, "Conflict"),
            Self::BadRequest(_) => (400, "BadRequest"),
            Self::Invalid(_) => (422, "Invalid"),
            Self::Expired(_) => (410, "Expired"),
            Self::MethodNotAllowed => (405, "MethodNotAllowed"),
            Self::UnsupportedPatch(_) => (415, "UnsupportedMediaType"),
        }
    }

    /// The body.
    #[must_use]
    pub fn status(&self) -> Value {
        let (code, reason) = self.class();
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.to_string(), "reason": reason, "code": code,
        })
    }
}

impl From<PatchError> for ApiError {
    fn from(error: PatchError) -> Self {
        match error {
            PatchError::Malformed(_) => Self::BadRequest(error.to_string()),
            PatchError::DoesNotApply(_) => Self::Invalid(error.to_string()),
        }
    }
}

fn quoted(resource: &Resource, name: &str) -> String {
    if resource.group.is_empty() {
        format!("{} {name:?}", resource.plural)
    } else {
        format!("{}.{} {name:?}", resource.plural, resource.group)
    }
}
