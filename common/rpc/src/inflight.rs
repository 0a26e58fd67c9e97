//! Guards: what is being changed right now.
//!
//! A guard belongs to the operation, not to the call, so it outlives a call that timed out. It is
//! freed when it is dropped, so also when the operation panics.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::method::Method;

/// Names one thing that only one operation at a time may change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GuardKey(Arc<str>);

impl GuardKey {
    /// The guard of the thing `id` of this `kind`, for example `("disk", "/subscriptions/...")`.
    ///
    /// Compared exactly: fold the case of `id` first if the thing's name does not depend on case.
    #[must_use]
    pub fn new(kind: &str, id: &str) -> Self {
        Self(format!("{kind} {id}").into())
    }
}

impl std::fmt::Display for GuardKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which operations hold which guards.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    held: Mutex<HashMap<GuardKey, Method>>,
}

/// A guard that another operation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Busy {
    pub(crate) key: GuardKey,
    pub(crate) holder: Method,
}

impl InFlight {
    /// Takes all of `keys` or none.
    pub(crate) fn take(
        self: &Arc<Self>,
        keys: &[GuardKey],
        holder: Method,
    ) -> Result<Guards, Busy> {
        let mut guards = Guards {
            home: Arc::clone(self),
            keys: Vec::with_capacity(keys.len()),
        };
        let mut held = self.lock();
        for key in keys {
            match held.entry(key.clone()) {
                Entry::Vacant(free) => {
                    free.insert(holder);
                    guards.keys.push(key.clone());
                }
                Entry::Occupied(taken) => {
                    let busy = Busy {
                        key: key.clone(),
                        holder: *taken.get(),
                    };
                    // Freed here, before `guards` is dropped, because that takes the lock again.
                    for key in std::mem::take(&mut guards.keys) {
                        held.remove(&key);
                    }
                    return Err(busy);
                }
            }
        }
        drop(held);
        Ok(guards)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<GuardKey, Method>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guards that are held; dropping them frees them.
#[derive(Debug)]
pub(crate) struct Guards {
    home: Arc<InFlight>,
    keys: Vec<GuardKey>,
}

impl Drop for Guards {
    fn drop(&mut self) {
        if self.keys.is_empty() {
            return;
        }
        let mut held = self.home.lock();
        for key in &self.keys {
            held.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Busy, GuardKey, InFlight};
    use crate::method::Method;

    fn keys<const N: usize>(ids: [&str; N]) -> [GuardKey; N] {
        ids.map(|id| GuardKey::new("disk", id))
    }

    #[test]
    fn all_are_taken_or_none() {
        let inflight = Arc::new(InFlight::default());
        let first = inflight.take(&keys(["b"]), Method::DeleteVolume).unwrap();
        let busy = inflight
            .take(&keys(["a", "b", "c"]), Method::CreateVolume)
            .unwrap_err();
        assert_eq!(
            busy,
            Busy {
                key: GuardKey::new("disk", "b"),
                holder: Method::DeleteVolume
            }
        );
        drop(
            inflight
                .take(&keys(["a", "c"]), Method::CreateVolume)
                .unwrap(),
        );
        drop(first);
        let all = inflight
            .take(&keys(["a", "b", "c"]), Method::CreateVolume)
            .unwrap();
        drop(all);
        assert!(inflight.lock().is_empty());
    }

    #[test]
    fn kinds_are_kept_apart() {
        let inflight = Arc::new(InFlight::default());
        let _disk = inflight.take(&keys(["a"]), Method::DeleteVolume).unwrap();
        let name = [GuardKey::new("name", "a")];
        assert!(inflight.take(&name, Method::CreateVolume).is_ok());
    }
}
