//! Watches: one JSON object per line, as long as the client stays or the timeout lasts.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::error::ApiError;
use super::http::StubBody;
use super::resources::Target;
use super::select::Selector;
use super::store::{Change, Store};

/// How long a watch lasts when the client does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// What the client asked for.
#[derive(Debug)]
pub struct Options {
    /// Which objects.
    pub selector: Selector,
    /// After which version; `None` begins with everything that exists.
    pub from: Option<u64>,
    /// When to end.
    pub timeout: Option<Duration>,
    /// Whether the client understands bookmarks.
    pub bookmarks: bool,
    /// Whether a bookmark is to mark the end of what exists.
    pub initial_events: bool,
}

struct Session {
    store: Arc<Store>,
    target: Target,
    selector: Selector,
    changes: watch::Receiver<u64>,
    version: u64,
    first: Option<String>,
    end: Instant,
    bookmarks: bool,
}

/// The body of a watch response.
///
/// # Errors
/// When the log does not reach back to the version asked for.
pub fn body(store: Arc<Store>, target: Target, options: Options) -> Result<StubBody, ApiError> {
    let changes = store.changes();
    let mut first = String::new();
    let version = match options.from.filter(|_| !options.initial_events) {
        Some(version) => {
            store.since(&target, version)?;
            version
        }
        None => {
            let (version, objects) = store.list(&target);
            for object in objects
                .iter()
                .filter(|object| options.selector.matches(object))
            {
                first.push_str(&line(Change::Added.word(), object));
            }
            if options.initial_events {
                first.push_str(&bookmark(&target, version, true));
            }
            version
        }
    };
    let end = Instant::now() + options.timeout.unwrap_or(DEFAULT_TIMEOUT);
    let session = Session {
        store,
        target,
        selector: options.selector,
        changes,
        version,
        first: Some(first).filter(|text| !text.is_empty()),
        end,
        bookmarks: options.bookmarks,
    };
    Ok(StreamBody::new(frames(session)).boxed_unsync())
}

fn frames(session: Session) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
    stream::unfold(Some(session), |session| async move {
        let (text, rest) = session?.next().await?;
        Some((Ok(Frame::data(Bytes::from(text))), rest))
    })
}

impl Session {
    /// The next lines, and the session unless these are the last.
    async fn next(mut self) -> Option<(String, Option<Self>)> {
        if let Some(first) = self.first.take() {
            return Some((first, Some(self)));
        }
        loop {
            self.changes.borrow_and_update();
            let (version, events) = match self.store.since(&self.target, self.version) {
                Ok(news) => news,
                Err(expired) => return Some((line("ERROR", &expired.status()), None)),
            };
            self.version = version;
            let text: String = events
                .iter()
                .filter(|event| self.selector.matches(&event.object))
                .map(|event| line(event.change.word(), &event.object))
                .collect();
            if !text.is_empty() {
                return Some((text, Some(self)));
            }
            let woken = tokio::time::timeout_at(self.end, self.changes.changed()).await;
            if !matches!(woken, Ok(Ok(()))) {
                let last = bookmark(&self.target, self.version, false);
                return Some(last)
                    .filter(|_| self.bookmarks)
                    .map(|text| (text, None));
            }
        }
    }
}

fn line(word: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": word, "object": object}))
}

fn bookmark(target: &Target, version: u64, ends_initial_events: bool) -> String {
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if ends_initial_events && let Some(fields) = metadata.as_object_mut() {
        fields.insert(
            "annotations".to_owned(),
            json!({"k8s.io/initial-events-end": "true"}),
        );
    }
    let resource = target.resource;
    line(
        "BOOKMARK",
        &json!({
            "kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata,
        }),
    )
}
