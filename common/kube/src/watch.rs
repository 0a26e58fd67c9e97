//! List, then follow; begin again when that breaks.
//!
//! A list is read page by page into a new collection that replaces the old one whole. A watch then
//! continues from its version. When the server no longer knows that version, or the stream breaks in
//! an unclear way, everything is listed again; what was known stays in use meanwhile, with its age.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::fault::report;
use futures_util::TryStreamExt as _;
use http::Method;
use kube::api::WatchEvent;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::client::{Kube, PATIENCE, escaped, request};
use crate::error::KubeError;

/// Objects in one page of a list.
pub(crate) const PAGE: u32 = 500;

/// How long the server keeps one watch open. Its end counts as a sign of life, so this bounds the age
/// of what is known, also with servers that send no bookmarks.
const WATCH: Duration = Duration::from_secs(100);

/// Pause before the first new try, and the longest one.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Pause between two watches.
const BREATH: Duration = Duration::from_millis(200);

/// What is used of `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta {
    pub(crate) name: Box<str>,
    pub(crate) uid: Box<str>,
    pub(crate) resource_version: String,
    pub(crate) deletion_timestamp: Option<Box<str>>,
    pub(crate) labels: BTreeMap<String, String>,
}

/// One page of a list.
#[derive(Debug, Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
pub(crate) struct Page<T> {
    #[serde(default)]
    pub(crate) metadata: PageMeta,
    #[serde(default = "Vec::new")]
    pub(crate) items: Vec<T>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PageMeta {
    pub(crate) resource_version: String,
    r#continue: Option<String>,
}

impl<T> Page<T> {
    /// The part of the query that asks for the page after this one; empty after the last.
    pub(crate) fn next(&self) -> String {
        match self.metadata.r#continue.as_deref() {
            None | Some("") => String::new(),
            Some(token) => format!("&continue={}", escaped(token)),
        }
    }
}

/// What a watch keeps.
pub trait Collection: fmt::Debug + Default + Send + 'static {
    /// What is decoded of each object.
    type Object: DeserializeOwned + Clone + Send + 'static;
    /// Path of the list.
    const PATH: &'static str;
    /// Plural noun for messages.
    const NOUN: &'static str;

    /// Its version.
    fn version(object: &Self::Object) -> &str;
    /// An object is new or changed.
    fn put(&mut self, object: Self::Object);
    /// An object is gone.
    fn remove(&mut self, object: &Self::Object);
}

#[derive(Debug)]
struct State<C> {
    known: C,
    /// When the server last said something that confirms it.
    heard: Option<Duration>,
}

/// A collection that follows the cluster for as long as this value lives.
#[derive(Debug)]
pub struct Watched<C: Collection> {
    state: Arc<Mutex<State<C>>>,
    changed: tokio::sync::watch::Receiver<u64>,
    clock: Arc<dyn Clock>,
    task: tokio::task::JoinHandle<()>,
}

impl<C: Collection> Drop for Watched<C> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<C: Collection> Watched<C> {
    /// Begins to follow; `empty` decides what is kept. Must be called inside a runtime.
    #[must_use]
    pub fn start(kube: &Kube, empty: impl Fn() -> C + Send + Sync + 'static) -> Self {
        let state = Arc::new(Mutex::new(State {
            known: empty(),
            heard: None,
        }));
        let (tell, changed) = tokio::sync::watch::channel(0);
        let follower = Follower {
            kube: kube.clone(),
            state: Arc::clone(&state),
            tell,
            empty: Box::new(empty),
        };
        Self {
            state,
            changed,
            clock: Arc::clone(kube.clock()),
            task: tokio::spawn(follower.run()),
        }
    }

    /// How long ago the server last confirmed what is known; `None` before the first list.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        let heard = self
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .heard;
        heard.map(|heard| self.clock.now().saturating_sub(heard))
    }

    /// Reads what is known, if it is not older than `limit`.
    pub fn read<R>(&self, limit: Duration, read: impl FnOnce(&C) -> R) -> Option<R> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let age = self.clock.now().saturating_sub(state.heard?);
        (age <= limit).then(|| read(&state.known))
    }

    /// Waits until `done` is true of what is known.
    pub async fn until(&self, mut done: impl FnMut(&C) -> bool) {
        let mut changed = self.changed.clone();
        loop {
            changed.mark_unchanged();
            if self.read(Duration::MAX, &mut done) == Some(true) {
                return;
            }
            if changed.changed().await.is_err() {
                // The task ends only with this value.
                std::future::pending::<()>().await;
            }
        }
    }
}

struct Follower<C: Collection> {
    kube: Kube,
    state: Arc<Mutex<State<C>>>,
    tell: tokio::sync::watch::Sender<u64>,
    empty: Box<dyn Fn() -> C + Send + Sync>,
}

/// How a watch ended.
enum End {
    /// In order; the next one continues at this version.
    Continue(String),
    /// What is known has to be listed again.
    Again,
}

impl<C: Collection> Follower<C> {
    async fn run(self) {
        let mut pause = PAUSE.0;
        loop {
            let began = self.kube.clock().now();
            let error = match self.list().await {
                Ok(version) => self.follow(version).await,
                Err(error) => error,
            };
            // Lists are expensive: only a watch that lasted makes the next try quick again.
            if self.kube.clock().now().saturating_sub(began) > PAUSE.1 {
                pause = PAUSE.0;
            }
            if !matches!(error, KubeError::Gone { .. }) {
                tracing::warn!(retry = ?pause, "following {}: {}", C::NOUN, report(&error));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    async fn list(&self) -> Result<String, KubeError> {
        let what = format!("list {}", C::NOUN);
        let mut fresh = (self.empty)();
        let mut next = String::new();
        loop {
            let path = format!("{}?limit={PAGE}{next}", C::PATH);
            let page: Page<C::Object> = self.kube.get(&what, &path).await?;
            next = page.next();
            page.items.into_iter().for_each(|object| fresh.put(object));
            if next.is_empty() {
                self.change(|known| *known = fresh);
                return Ok(page.metadata.resource_version);
            }
        }
    }

    /// Watches from `version` on until that is no longer possible, and says why.
    async fn follow(&self, mut version: String) -> KubeError {
        loop {
            // Not at once, should the server close every watch that is opened.
            tokio::time::sleep(BREATH).await;
            match self.watch(version).await {
                Ok(End::Continue(next)) => version = next,
                Ok(End::Again) => {
                    return KubeError::Gone {
                        what: format!("watch {}", C::NOUN),
                    };
                }
                Err(error) => return error,
            }
        }
    }

    async fn watch(&self, mut version: String) -> Result<End, KubeError> {
        let what = format!("watch {}", C::NOUN);
        let path = format!(
            "{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
            C::PATH,
            WATCH.as_secs(),
            escaped(&version)
        );
        let failed = |error| KubeError::from_kube(what.clone(), error);
        let slow = |_| KubeError::Slow {
            what: what.clone(),
            patience: WATCH + PATIENCE,
        };
        let client = self.kube.client().await;
        let request = request(&what, Method::GET, &path, None)?;
        let opened = Box::pin(client.request_events::<C::Object>(request));
        let opened = tokio::time::timeout(PATIENCE, opened).await;
        let mut events = pin!(opened.map_err(slow)?.map_err(failed)?);
        loop {
            let event = tokio::time::timeout(WATCH + PATIENCE, events.try_next()).await;
            match event.map_err(slow)?.map_err(failed)? {
                Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    C::version(&object).clone_into(&mut version);
                    self.change(|known| known.put(object));
                }
                Some(WatchEvent::Deleted(object)) => {
                    C::version(&object).clone_into(&mut version);
                    self.change(|known| known.remove(&object));
                }
                Some(WatchEvent::Bookmark(mark)) => {
                    version = mark.metadata.resource_version;
                    self.change(|_| ());
                }
                Some(WatchEvent::Error(status)) if status.code == 410 => return Ok(End::Again),
                Some(WatchEvent::Error(status)) => return Err(failed(kube::Error::Api(status))),
                None => {
                    self.change(|_| ());
                    return Ok(End::Continue(version));
                }
            }
        }
    }

    /// Applies news, and records that the server was heard.
    fn change(&self, change: impl FnOnce(&mut C)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state.known);
        state.heard = Some(self.kube.clock().now());
        drop(state);
        self.tell.send_modify(|count| *count += 1);
    }
}

#[cfg(test)]
mod tests;
