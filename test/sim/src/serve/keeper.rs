//! Keeps files, devices and the journal in line with the world, before anyone is told about it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use azcsi_types::clock::Clock;
use serde_json::{Value, json};

use super::backend::Backend;
use super::lag::Lag;
use crate::kubeapi::Store;
use crate::link::LinkError;
use crate::link::sync::Sync;
use crate::persist::{Change, Journal, PersistError};

/// Key of simulated time; it is written with other changes, never by itself.
pub const CLOCK_KEY: &str = "meta/clock";
/// Prefix of the keys that the Kubernetes stub's objects have.
pub const KUBE_PREFIX: &str = "kube/";
/// Prefix of the keys that belong to the shell.
pub const META_PREFIX: &str = "meta/";

/// Why a change could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] PersistError),
    /// A part of the world has no form for the journal.
    #[error("the world cannot be written")]
    World(#[from] serde_json::Error),
    /// Files or devices.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The contents of shares.
    #[error("the contents of a deleted share cannot be removed")]
    Contents(#[from] std::io::Error),
    /// The thread that writes has died.
    #[error("the writer has stopped")]
    Stopped,
}

#[derive(Debug)]
struct Inner {
    journal: Journal,
    sync: Option<Sync>,
    kept: Option<(u64, u64)>,
    /// Changes that the world has told and the journal does not have yet.
    pending: BTreeMap<String, Option<Value>>,
}

/// Keeps one world.
#[derive(Debug)]
pub struct Keeper {
    backend: Arc<dyn Backend>,
    kube: Arc<Store>,
    clock: Arc<dyn Clock>,
    lag: Arc<Lag>,
    inner: Mutex<Inner>,
}

impl Keeper {
    /// A keeper over an open journal; without `sync` there are no devices.
    #[must_use]
    pub fn new(
        backend: Arc<dyn Backend>,
        kube: Arc<Store>,
        clock: Arc<dyn Clock>,
        journal: Journal,
        sync: Option<Sync>,
    ) -> Self {
        let inner = Inner {
            journal,
            sync,
            kept: None,
            pending: BTreeMap::new(),
        };
        Self {
            backend,
            kube,
            lag: Arc::new(Lag::new(Duration::ZERO, Arc::clone(&clock))),
            clock,
            inner: Mutex::new(inner),
        }
    }

    /// The same, telling `lag` of every change.
    #[must_use]
    pub fn with_lag(mut self, lag: Arc<Lag>) -> Self {
        self.lag = lag;
        self
    }

    /// Brings everything in line and returns when it is on the disk. It blocks on disk and kernel.
    ///
    /// # Errors
    /// When a change could not be kept; it is tried again the next time.
    pub fn keep(&self) -> Result<(), KeepError> {
        let mut inner = self.lock();
        let seen = (self.backend.settle(), self.kube.version());
        if inner.kept == Some(seen) {
            return Ok(());
        }
        self.lag.note(self.backend.as_ref());
        if let Some(sync) = &mut inner.sync {
            for pulled in sync.apply(&self.backend.desired())? {
                self.backend.report(&pulled);
            }
        }
        self.write(&mut inner, seen.1)?;
        self.backend.collect()?;
        if let Some(sync) = &inner.sync {
            sync.collect()?;
        }
        inner.kept = Some(seen);
        Ok(())
    }

    /// [`Keeper::keep`] away from the threads that serve requests.
    ///
    /// # Errors
    /// As there.
    pub async fn kept(self: &Arc<Self>) -> Result<(), KeepError> {
        let this = Arc::clone(self);
        let kept = tokio::task::spawn_blocking(move || this.keep()).await;
        kept.map_err(|_| KeepError::Stopped)?
    }

    /// Has devices appear so much later than Azure says; `false` where they cannot.
    #[must_use]
    pub fn set_device_lag(&self, lag: Duration) -> bool {
        let inner = self.lock();
        inner.sync.as_ref().is_some_and(|sync| sync.set_lag(lag))
    }

    /// Keeps what is left to keep and takes the devices away.
    pub fn shutdown(&self) {
        if let Err(error) = self.keep() {
            tracing::error!(%error, "the last changes were not saved");
        }
        if let Some(sync) = self.lock().sync.take() {
            sync.shutdown();
        }
    }

    /// Writes what changed. What the world told stays pending until it is in the journal.
    fn write(&self, inner: &mut Inner, kube: u64) -> Result<(), KeepError> {
        let told = self.backend.changes()?;
        let told_now = told.touched.into_iter();
        inner
            .pending
            .extend(told_now.map(|Change(key, value)| (key, value)));
        let (mut wanted, mut covered) = (told.rest, told.covered);
        covered.push(META_PREFIX.to_owned());
        if inner.kept.is_some_and(|(_, before)| before == kube) {
            covered.push(KUBE_PREFIX.to_owned());
        } else {
            let objects = self.kube.export().into_iter();
            wanted.extend(objects.map(|object| (kube_key(&object), object)));
        }
        let journal = &mut inner.journal;
        let mut changes = journal.difference(&wanted, &covered);
        let pending = inner.pending.iter();
        let news = pending.filter(|(key, value)| journal.current().get(*key) != value.as_ref());
        changes.extend(news.map(|(key, value)| Change(key.clone(), value.clone())));
        if !changes.is_empty() {
            changes.push(Change(
                CLOCK_KEY.to_owned(),
                Some(clock_value(self.clock.as_ref())),
            ));
        }
        journal.commit(changes)?;
        inner.pending.clear();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kube_key(object: &Value) -> String {
    let text = |pointer| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let place = [
        text("/apiVersion"),
        text("/kind"),
        text("/metadata/namespace"),
    ];
    format!(
        "{KUBE_PREFIX}{}/{}",
        place.join("/"),
        text("/metadata/name")
    )
}

fn clock_value(clock: &dyn Clock) -> Value {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let wall = clock.wall().duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({"now_ms": millis(clock.now()), "wall_ms": millis(wall)})
}

/// The instant and the time of day that were saved last.
#[must_use]
pub fn saved_time(journal: &Journal) -> (Duration, SystemTime) {
    let saved = journal.current().get(CLOCK_KEY);
    let millis = |name| {
        let number = saved
            .and_then(|value| value.get(name))
            .and_then(Value::as_u64);
        Duration::from_millis(number.unwrap_or(0))
    };
    (millis("now_ms"), UNIX_EPOCH + millis("wall_ms"))
}
