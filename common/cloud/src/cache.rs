//! A cache whose entries live for a time, and where one fetch serves everybody who waits.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azcsi_types::clock::Clock;

/// Values by key, each good for the same time.
pub struct Cache<K, V> {
    clock: Arc<dyn Clock>,
    ttl: Duration,
    entries: Mutex<HashMap<K, Arc<Slot<V>>>>,
}

struct Slot<V> {
    flight: tokio::sync::Mutex<()>,
    value: Mutex<Option<(Duration, V)>>,
}

impl<K, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} s)", self.ttl.as_secs())
    }
}

/// How many entries are kept before old ones are looked for.
const SWEEP_FROM: usize = 1024;

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    /// An empty cache.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ttl: Duration) -> Self {
        Self {
            clock,
            ttl,
            entries: Mutex::default(),
        }
    }

    fn slot(&self, key: &K) -> Arc<Slot<V>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= SWEEP_FROM && !entries.contains_key(key) {
            let now = self.clock.now();
            // A slot that somebody holds is in use.
            entries.retain(|_, slot| Arc::strong_count(slot) > 1 || self.good(slot, now).is_some());
        }
        let fresh = || {
            Arc::new(Slot {
                flight: tokio::sync::Mutex::default(),
                value: Mutex::default(),
            })
        };
        Arc::clone(entries.entry(key.clone()).or_insert_with(fresh))
    }

    fn good(&self, slot: &Slot<V>, now: Duration) -> Option<V> {
        let value = slot.value.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, value) = value.as_ref()?;
        (now.saturating_sub(*at) < self.ttl).then(|| value.clone())
    }

    /// The value, if it is there and good.
    #[must_use]
    pub fn peek(&self, key: &K) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        self.good(entries.get(key)?, self.clock.now())
    }

    /// The value; fetched, if it is not there or too old. Whoever asks meanwhile waits for the same
    /// fetch. An error is not kept.
    ///
    /// # Errors
    /// Those of the fetch.
    pub async fn get_or_fetch<E>(
        &self,
        key: &K,
        fetch: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        let slot = self.slot(key);
        if let Some(value) = self.good(&slot, self.clock.now()) {
            return Ok(value);
        }
        let _flight = slot.flight.lock().await;
        if let Some(value) = self.good(&slot, self.clock.now()) {
            return Ok(value);
        }
        // What was true when the fetch began: a change during it is not hidden for a whole TTL.
        let at = self.clock.now();
        let value = fetch.await?;
        let mut place = slot.value.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some((at, value.clone()));
        Ok(value)
    }

    /// Puts a value that came another way, such as the answer to a write.
    pub fn put(&self, key: &K, value: V) {
        let slot = self.slot(key);
        let at = self.clock.now();
        *slot.value.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, value));
    }

    /// Forgets a value, also one that is being fetched.
    pub fn forget(&self, key: &K) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.remove(key);
    }
}

#[cfg(test)]
mod tests;
