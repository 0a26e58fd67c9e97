//! Errors of the data plane: a status, a header with the code, and XML.

use http::StatusCode;

use crate::files::reply::Reply;
use crate::files::xml::Element;
use crate::storage::share_rules::Refusal;

/// An answer that says no.
#[derive(Clone, Debug)]
pub(crate) struct FilesError {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
    /// Elements behind the message.
    pub(crate) more: Vec<(&'static str, String)>,
    /// Seconds.
    pub(crate) retry_after: Option<u64>,
}

impl FilesError {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.into(),
            more: Vec::new(),
            retry_after: None,
        }
    }

    pub(crate) fn bad(code: &str, message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn forbidden(code: &str, message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    pub(crate) fn conflict(code: &str, message: &str) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    pub(crate) fn absent() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "ResourceNotFound",
            "The specified resource does not exist.",
        )
    }

    /// A header that is not there.
    pub(crate) fn header_missing(name: &str) -> Self {
        Self::bad(
            "MissingRequiredHeader",
            "An HTTP header that's mandatory for this request is not specified.",
        )
        .with("HeaderName", name)
    }

    /// A header whose value makes no sense.
    pub(crate) fn header_wrong(name: &str, value: &str) -> Self {
        Self::bad(
            "InvalidHeaderValue",
            "The value for one of the HTTP headers is not in the correct format.",
        )
        .with("HeaderName", name)
        .with("HeaderValue", value)
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.more.push((name, value.into()));
        self
    }

    /// The wrong signature, token or time.
    pub(crate) fn unproven(detail: impl Into<String>) -> Self {
        Self::forbidden(
            "AuthenticationFailed",
            "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.",
        )
        .with("AuthenticationErrorDetail", detail)
    }

    /// The response; its last lines name the request.
    pub(crate) fn reply(&self, request: &str, time: &str) -> Reply {
        let message = format!("{}\nRequestId:{request}\nTime:{time}", self.message);
        let mut error = Element::new("Error")
            .text("Code", &self.code)
            .text("Message", &message);
        for (name, value) in &self.more {
            error = error.text(name, value);
        }
        let mut reply = Reply::new(self.status)
            .header("x-ms-error-code", &self.code)
            .xml(&error);
        if let Some(seconds) = self.retry_after {
            reply = reply.header("retry-after", &seconds.to_string());
        }
        reply
    }
}

impl From<Refusal> for FilesError {
    fn from(refusal: Refusal) -> Self {
        let mut error = Self::new(refusal.status, refusal.code, refusal.message);
        if let Some((name, value)) = refusal.header {
            error = error.with("HeaderName", name).with("HeaderValue", value);
        }
        error
    }
}

impl From<std::io::Error> for FilesError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::absent(),
            std::io::ErrorKind::DirectoryNotEmpty => {
                Self::conflict("DirectoryNotEmpty", "The specified directory is not empty.")
            }
            _ => crate::storage::share_life::broken(&error).into(),
        }
    }
}
