//! One request on its way through the handlers, and what they give back.

use http::StatusCode;
use serde_json::{Value, json};

use crate::error::ArmError;
use crate::query::Query;
use crate::state::State;

/// A request that the front door let in.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) subscription: String,
    pub(crate) group: Option<String>,
    /// What stood for each `*` of the route after the group, as spelt.
    pub(crate) names: Vec<String>,
    /// ARM id of the resource, or of the group or subscription for a list.
    pub(crate) id: String,
    pub(crate) query: Query,
    pub(crate) body: Value,
    pub(crate) if_match: Option<String>,
    pub(crate) if_none_match: Option<String>,
    /// `x-ms-snapshot`: which snapshot of a share is meant.
    pub(crate) snapshot: Option<String>,
    /// `https://host`.
    pub(crate) base: String,
    /// The URL as it came, for the next page.
    pub(crate) path: String,
}

impl Call {
    /// The n-th name.
    pub(crate) fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("", String::as_str)
    }

    /// What every id of the scope begins with, lower-cased.
    pub(crate) fn scope(&self) -> String {
        let subscription = self.subscription.to_ascii_lowercase();
        match &self.group {
            None => format!("/subscriptions/{subscription}/"),
            Some(group) => format!(
                "/subscriptions/{subscription}/resourcegroups/{}/",
                group.to_ascii_lowercase()
            ),
        }
    }

    /// 404 of the front door for this kind.
    pub(crate) fn absent(&self, kind: &str) -> ArmError {
        let group = self.group.as_deref().unwrap_or_default();
        ArmError::absent(kind, self.name(0), group)
    }

    /// The page of a list that was asked for.
    pub(crate) fn page<'a, T: 'a>(
        &self,
        state: &State,
        found: impl Iterator<Item = (&'a String, &'a T)>,
        show: impl Fn(&T) -> Value,
    ) -> Reply {
        let after = self.query.get("$skiptoken").map(str::to_owned);
        let mut rest = found
            .filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after))
            .peekable();
        let mut value = Vec::new();
        let mut last = String::new();
        while value.len() < state.knobs.page_size
            && let Some((key, item)) = rest.next()
        {
            value.push(show(item));
            last.clone_from(key);
        }
        let mut body = json!({"value": value});
        if rest.peek().is_some()
            && let Some(fields) = body.as_object_mut()
        {
            let version = self.query.get("api-version").unwrap_or_default();
            let token =
                percent_encoding::utf8_percent_encode(&last, percent_encoding::NON_ALPHANUMERIC);
            let mut next = format!(
                "{}{}?api-version={version}&$skiptoken={token}",
                self.base, self.path
            );
            for name in ["$expand", "$filter", "$maxpagesize", "statusOnly"] {
                if let Some(value) = self.query.get(name) {
                    let value = percent_encoding::utf8_percent_encode(
                        value,
                        percent_encoding::NON_ALPHANUMERIC,
                    );
                    next.push_str(&format!("&{name}={value}"));
                }
            }
            fields.insert("nextLink".to_owned(), json!(next));
        }
        Reply::ok(body)
    }
}

/// Which headers lead to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// `Azure-AsyncOperation` alone.
    Async,
    /// With `Location`.
    Both,
    /// `Location` alone.
    Location,
}

/// What a handler gives back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) body: Option<Value>,
    pub(crate) operation: Option<(String, Links)>,
    pub(crate) etag: Option<String>,
}

impl Reply {
    pub(crate) const fn ok(body: Value) -> Self {
        Self::new(StatusCode::OK, Some(body))
    }

    pub(crate) const fn new(status: StatusCode, body: Option<Value>) -> Self {
        Self {
            status,
            body,
            operation: None,
            etag: None,
        }
    }

    /// 202 with both links.
    pub(crate) fn accepted(operation: String, body: Option<Value>) -> Self {
        Self::new(StatusCode::ACCEPTED, body).with(operation, Links::Both)
    }

    pub(crate) fn with(mut self, operation: String, links: Links) -> Self {
        self.operation = Some((operation, links));
        self
    }

    pub(crate) fn tagged(mut self, etag: String) -> Self {
        self.etag = Some(etag);
        self
    }
}

pub(crate) type Answer = Result<Reply, ArmError>;
