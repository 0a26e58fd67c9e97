//! What Azure Resource Manager, or the file service, answers when it does not do as asked.
//!
//! Bodies come in many shapes: ARM's own, flat ones, OData, XML, HTML from a load balancer, none at
//! all. All of them become one [`ArmError`] with owned text. What it means is in `classify.rs`.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::resource_id::ResourceId;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::pipeline::retry::retry_after;
use crate::pipeline::trace::redact;
use crate::pipeline::transport::TransportError;
use crate::storage::data_plane::xml;

/// A call to Azure Resource Manager or to the file service of an account that did not succeed. Both
/// use the same codes, so both have one type.
#[derive(Clone)]
pub struct ArmError(Box<Parts>);

#[derive(Clone, Default)]
struct Parts {
    kind: ErrorKind,
    call: String,
    status: Option<StatusCode>,
    code: String,
    message: String,
    target: Option<String>,
    details: Vec<ErrorDetail>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    correlation_id: Option<String>,
    gateway: bool,
    operation: bool,
    doubt: bool,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// Marks the answer to a write of which an earlier sending may have been carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InDoubt;

/// Where an [`ArmError`] comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorKind {
    /// Azure answered with an error.
    #[default]
    Answer,
    /// Not sent: Azure had asked for a pause that is longer than this call can wait.
    Paused,
    /// No answer. Whether Azure has seen the request is unknown.
    Transport,
    /// Time ran out; the work may go on in Azure.
    Deadline,
    /// No token: the credentials are wrong.
    Credentials,
    /// No token: the token service cannot be reached or is busy.
    TokenService,
    /// An answer that makes no sense, or a request that must not be sent.
    Protocol,
    /// Not sent: what was given cannot be part of a request.
    Invalid,
}

/// One level of an error: Azure nests the decisive code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorDetail {
    /// The code.
    pub code: String,
    /// The text.
    pub message: String,
    /// What it is about.
    pub target: Option<String>,
}

/// Longest text that is kept of one message, in bytes.
const MESSAGE_LIMIT: usize = 2000;
/// How deep details are followed.
const DEPTH_LIMIT: usize = 6;

impl ArmError {
    /// An answer with an error status.
    #[must_use]
    pub fn from_response(response: &http::Response<Bytes>) -> Self {
        let headers = response.headers();
        let mut parts = parse_body(response.body());
        parts.status = Some(response.status());
        if let Some(code) = header(headers, "x-ms-error-code") {
            parts.code = code;
        }
        parts.retry_after = retry_after(headers);
        parts.request_id = header(headers, "x-ms-request-id");
        parts.correlation_id = header(headers, "x-ms-correlation-request-id");
        parts.gateway = header(headers, "x-ms-failure-cause").as_deref() == Some("gateway");
        parts.doubt = response.extensions().get::<InDoubt>().is_some();
        Self(Box::new(parts))
    }

    /// A status document that says that the operation failed. Its HTTP status was a success, so the
    /// code alone tells what happened.
    #[must_use]
    pub fn from_status_document(response: &http::Response<Bytes>, state: &str) -> Self {
        let mut error = Self::from_response(response);
        error.0.operation = true;
        error.0.status = None;
        if error.0.code.is_empty() {
            error.0.code = format!("Operation{state}");
        }
        error
    }

    pub(crate) fn transport(source: TransportError) -> Self {
        Self::of(ErrorKind::Transport, "no answer from Azure".to_owned()).because(source)
    }

    pub(crate) fn deadline(doing: &str) -> Self {
        Self::of(
            ErrorKind::Deadline,
            format!("time ran out while {doing}; Azure may still be working on it"),
        )
    }

    pub(crate) fn paused(pause: Duration) -> Self {
        let text = format!(
            "not sent: Azure asked for a pause of {} s more (throttling)",
            pause.as_secs_f64().ceil()
        );
        let mut error = Self::of(ErrorKind::Paused, text);
        error.0.retry_after = Some(pause);
        error
    }

    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::of(ErrorKind::Protocol, message.into())
    }

    /// Nothing was sent, because `what` cannot be written into a request.
    pub(crate) fn invalid(what: &str) -> Self {
        Self::of(
            ErrorKind::Invalid,
            format!("{what} cannot be part of a request"),
        )
    }

    pub(crate) fn of(kind: ErrorKind, message: String) -> Self {
        Self(Box::new(Parts {
            kind,
            message,
            ..Parts::default()
        }))
    }

    pub(crate) fn because(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The write may have been carried out all the same.
    pub(crate) fn in_doubt(mut self) -> Self {
        self.0.doubt = true;
        self
    }

    /// An operation that fails is one of two, if an earlier sending of its request got no answer.
    pub(crate) fn doubted_like(mut self, first: &http::Response<Bytes>) -> Self {
        self.0.doubt |= first.extensions().get::<InDoubt>().is_some();
        self
    }

    /// Names the resource, if no call is named yet.
    pub(crate) fn on(self, id: &ResourceId) -> Self {
        self.during(|| id.to_string())
    }

    pub(crate) fn during(mut self, call: impl FnOnce() -> String) -> Self {
        if self.0.call.is_empty() {
            self.0.call = call();
        }
        self
    }

    pub(crate) fn correlated(mut self, id: &str) -> Self {
        self.0.correlation_id.get_or_insert_with(|| id.to_owned());
        self
    }

    /// Where it comes from.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The HTTP status, if Azure answered with one that says so. `None` for a failed operation,
    /// whose status document arrives with 200.
    #[must_use]
    pub const fn status(&self) -> Option<StatusCode> {
        self.0.status
    }

    /// Azure's code; empty if there is none.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// Azure's text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What it is about, in Azure's words.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        self.0.target.as_deref()
    }

    /// The nested errors, outermost first.
    #[must_use]
    pub fn details(&self) -> &[ErrorDetail] {
        &self.0.details
    }

    /// How long Azure asks to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Azure's name for the request.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The name under which Azure keeps everything of this operation.
    #[must_use]
    pub fn correlation_id(&self) -> Option<&str> {
        self.0.correlation_id.as_deref()
    }

    /// Whether ARM's front door answered and the provider never saw the request.
    #[must_use]
    pub const fn is_from_gateway(&self) -> bool {
        self.0.gateway
    }

    /// Whether an accepted operation failed later.
    #[must_use]
    pub const fn is_from_operation(&self) -> bool {
        self.0.operation
    }

    /// Whether a write may have been carried out although this is no success: an earlier sending of
    /// it got no answer, or its operation could not be watched to its end.
    #[must_use]
    pub const fn is_in_doubt(&self) -> bool {
        self.0.doubt
    }

    /// Whether the outer or a nested code is this one.
    #[must_use]
    pub fn has_code(&self, code: &str) -> bool {
        self.any_code(|c| c.eq_ignore_ascii_case(code))
    }

    /// Whether the outer or a nested code satisfies the predicate.
    #[must_use]
    pub fn any_code(&self, predicate: impl Fn(&str) -> bool) -> bool {
        predicate(self.code()) || self.0.details.iter().any(|d| predicate(&d.code))
    }

    /// Whether the outer or a nested message holds this text, whatever the case.
    #[must_use]
    pub fn says(&self, marker: &str) -> bool {
        let marker = marker.to_ascii_lowercase();
        let holds = |text: &str| text.to_ascii_lowercase().contains(&marker);
        holds(self.message()) || self.0.details.iter().any(|d| holds(&d.message))
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn parse_body(body: &Bytes) -> Parts {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    let mut parts = Parts::default();
    if let Ok(json) = serde_json::from_str::<Value>(text) {
        let root = field(&json, &["error", "odata.error"]).unwrap_or(&json);
        if let Value::String(word) = root {
            // The metadata and token services answer with a word and a description beside it.
            parts.code.clone_from(word);
            parts.message = words(&json, &["error_description", "message"]);
        } else {
            let outer = level(root);
            parts.code = outer.code;
            parts.message = outer.message;
            parts.target = outer.target;
            nested(root, DEPTH_LIMIT, &mut parts.details);
        }
    } else if text.contains("<Error") {
        from_xml(text, &mut parts);
    } else if let Some(title) = element(text, "title") {
        parts.message = shorten(&title);
    } else if !text.starts_with('<') {
        parts.message = shorten(text);
    }
    parts
}

/// The file service: `<Error><Code/><Message/>…</Error>`. What stands beside the two is kept, except
/// values of headers, which could be secret.
fn from_xml(text: &str, parts: &mut Parts) {
    let Ok(root) = xml::parse(text.as_bytes()) else {
        // Cut short: what can be read is better than nothing.
        parts.code = element(text, "Code").unwrap_or_default();
        parts.message = shorten(&element(text, "Message").unwrap_or_default());
        return;
    };
    for child in &root.children {
        let value = shorten(child.value().trim());
        match child.name.to_ascii_lowercase().as_str() {
            "code" => parts.code = value,
            "message" => parts.message = value,
            "headervalue" => {}
            _ if value.is_empty() => {}
            _ => parts.details.push(ErrorDetail {
                code: child.name.clone(),
                message: value,
                target: None,
            }),
        }
    }
}

fn field<'a>(object: &'a Value, names: &[&str]) -> Option<&'a Value> {
    let map = object.as_object()?;
    let named = |name: &&str| map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    names.iter().find_map(named).map(|(_, value)| value)
}

fn words(object: &Value, names: &[&str]) -> String {
    let text = match field(object, names) {
        Some(Value::String(text)) => text.clone(),
        // OData: {"lang":"en-us","value":"…"}
        Some(inner) => field(inner, &["value"])
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        None => String::new(),
    };
    shorten(&text)
}

fn level(object: &Value) -> ErrorDetail {
    let target = words(object, &["target"]);
    ErrorDetail {
        code: words(object, &["code"]),
        message: words(object, &["message"]),
        target: (!target.is_empty()).then_some(target),
    }
}

/// Collects details, inner errors, policy information, and errors wrapped as text in a message.
fn nested(object: &Value, depth: usize, into: &mut Vec<ErrorDetail>) {
    if depth == 0 {
        return;
    }
    let mut descend = |inner: &Value| {
        let found = level(inner);
        if !found.code.is_empty() || !found.message.is_empty() {
            into.push(found);
        }
        nested(inner, depth - 1, into);
    };
    if let Some(details) = field(object, &["details"]).and_then(Value::as_array) {
        details.iter().for_each(&mut descend);
    }
    if let Some(inner) = field(object, &["innererror"]) {
        descend(inner);
    }
    for info in field(object, &["additionalInfo"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        into.push(ErrorDetail {
            code: words(info, &["type"]),
            message: shorten(
                &field(info, &["info"])
                    .map(Value::to_string)
                    .unwrap_or_default(),
            ),
            target: None,
        });
    }
    let message = field(object, &["message"]).and_then(Value::as_str);
    if let Some(wrapped) = message.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        let root = field(&wrapped, &["error"]).unwrap_or(&wrapped);
        let found = level(root);
        if !found.code.is_empty() {
            into.push(found);
        }
        nested(root, depth - 1, into);
    }
}

fn element(xml: &str, name: &str) -> Option<String> {
    let from = xml.find(&format!("<{name}>"))? + name.len() + 2;
    let to = from + xml.get(from..)?.find(&format!("</{name}>"))?;
    Some(xml.get(from..to)?.trim().to_owned())
}

fn shorten(text: &str) -> String {
    let mut end = text.len().min(MESSAGE_LIMIT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    redact(&text[..end])
}

impl fmt::Display for ArmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &self.0;
        if !parts.call.is_empty() {
            write!(f, "{}: ", parts.call)?;
        }
        if parts.operation {
            f.write_str("operation failed: ")?;
        }
        if let Some(status) = parts.status {
            write!(f, "{} ", status.as_u16())?;
        }
        match (parts.code.as_str(), parts.message.as_str()) {
            ("", "") => f.write_str("no reason given")?,
            ("", message) => f.write_str(message)?,
            (code, "") => f.write_str(code)?,
            (code, message) => write!(f, "{code}: {message}")?,
        }
        for detail in parts.details.iter().take(2) {
            if !detail.code.is_empty() && !detail.code.eq_ignore_ascii_case(&parts.code) {
                write!(f, " [{}: {}]", detail.code, detail.message)?;
            }
        }
        if let Some(id) = &parts.correlation_id {
            write!(f, " (correlation id {id})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ArmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.0.kind;
        write!(f, "ArmError({kind:?}: {self})")
    }
}

impl Error for ArmError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

/// What exactly does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The resource itself.
    Resource,
    /// Its resource group, and so the resource too.
    Group,
    /// The resource that it is part of: a scale set, for an instance.
    Parent,
}

#[cfg(test)]
mod tests;
