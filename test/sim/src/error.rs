//! Errors as ARM tells them: a status and a JSON body.

use http::StatusCode;
use serde_json::{Value, json};

/// An answer that says no.
#[derive(Clone, Debug)]
pub(crate) struct ArmError {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) target: Option<String>,
    pub(crate) details: Vec<Value>,
    /// Said by the front door, before any resource provider.
    pub(crate) gateway: bool,
    /// Seconds.
    pub(crate) retry_after: Option<u64>,
}

impl ArmError {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.into(),
            target: None,
            details: Vec::new(),
            gateway: false,
            retry_after: None,
        }
    }

    pub(crate) fn bad_request(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn conflict(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// 400 `InvalidParameter`, about this property.
    pub(crate) fn parameter(target: &str, message: impl Into<String>) -> Self {
        Self::bad_request("InvalidParameter", message).target(target)
    }

    /// 404 by the front door.
    pub(crate) fn absent(kind: &str, name: &str, group: &str) -> Self {
        let message = format!(
            "The Resource 'Microsoft.Compute/{kind}/{name}' under resource group '{group}' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"
        );
        Self::new(StatusCode::NOT_FOUND, "ResourceNotFound", message).gateway()
    }

    /// 404 by the front door, of a type of any provider.
    pub(crate) fn missing(kind: &str, name: &str, group: &str) -> Self {
        let message = format!(
            "The Resource '{kind}/{name}' under resource group '{group}' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"
        );
        Self::new(StatusCode::NOT_FOUND, "ResourceNotFound", message).gateway()
    }

    /// 404 by the front door: what this is part of is not there.
    pub(crate) fn no_parent(act: &str, kind: &str, parent: &str) -> Self {
        let message = format!(
            "Failed to perform '{act}' on resource(s) of type '{kind}', because the parent resource '{parent}' could not be found."
        );
        Self::new(StatusCode::NOT_FOUND, "ParentResourceNotFound", message).gateway()
    }

    pub(crate) fn target(mut self, target: &str) -> Self {
        self.target = Some(target.to_owned());
        self
    }

    pub(crate) const fn gateway(mut self) -> Self {
        self.gateway = true;
        self
    }

    /// The object inside `error`.
    pub(crate) fn inner(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(fields) = error.as_object_mut() {
            if let Some(target) = &self.target {
                fields.insert("target".to_owned(), json!(target));
            }
            if !self.details.is_empty() {
                fields.insert("details".to_owned(), json!(self.details));
            }
        }
        error
    }

    pub(crate) fn body(&self) -> Value {
        json!({"error": self.inner()})
    }
}
