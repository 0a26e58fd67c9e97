//! Guards: what is being changed right now.
//!
//! A guard belongs to the operation, not to the call, so it outlives a call that timed out. It is
//! freed when it is dropped, so also when the operation panics.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::method::Method;

/// Names one thing that an operation changes, or that must not be changed while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GuardKey {
    name: Arc<str>,
    share: Share,
}

/// Whether other operations may hold the same guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Share {
    /// None.
    Alone,
    /// Those that share it as well.
    Shared,
}

impl GuardKey {
    /// The guard of the thing `id` of this `kind`, for example `("disk", "/subscriptions/...")`,
    /// for an operation that must be alone.
    ///
    /// Compared exactly: fold the case of `id` first if the thing's name does not depend on case.
    #[must_use]
    pub fn new(kind: &str, id: &str) -> Self {
        Self {
            name: format!("{kind} {id}").into(),
            share: Share::Alone,
        }
    }

    /// The same guard for an operation that only needs the thing to stay: several of them may run,
    /// but none together with one that must be alone.
    #[must_use]
    pub fn shared(kind: &str, id: &str) -> Self {
        Self {
            share: Share::Shared,
            ..Self::new(kind, id)
        }
    }
}

impl std::fmt::Display for GuardKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Which operations hold which guards.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    held: Mutex<HashMap<Arc<str>, Held>>,
}

/// A guard that is held.
#[derive(Debug)]
struct Held {
    /// The last operation that took it.
    holder: Method,
    share: Share,
    count: usize,
}

/// Gives one holding back.
fn release(held: &mut HashMap<Arc<str>, Held>, key: &GuardKey) {
    if let Entry::Occupied(mut entry) = held.entry(Arc::clone(&key.name)) {
        entry.get_mut().count -= 1;
        if entry.get().count == 0 {
            entry.remove();
        }
    }
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
            match held.entry(Arc::clone(&key.name)) {
                Entry::Vacant(free) => {
                    free.insert(Held {
                        holder,
                        share: key.share,
                        count: 1,
                    });
                }
                Entry::Occupied(mut taken)
                    if (taken.get().share, key.share) == (Share::Shared, Share::Shared) =>
                {
                    taken.get_mut().count += 1;
                }
                Entry::Occupied(taken) => {
                    let busy = Busy {
                        key: key.clone(),
                        holder: taken.get().holder,
                    };
                    // Freed here, before `guards` is dropped, because that takes the lock again.
                    for key in std::mem::take(&mut guards.keys) {
                        release(&mut held, &key);
                    }
                    return Err(busy);
                }
            }
            guards.keys.push(key.clone());
        }
        drop(held);
        Ok(guards)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Held>> {
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
            release(&mut held, key);
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
    fn those_that_share_run_together_and_never_with_one_that_must_be_alone() {
        let inflight = Arc::new(InFlight::default());
        let shared = [GuardKey::shared("disk", "a")];
        let one = inflight
            .take(&shared, Method::ControllerPublishVolume)
            .unwrap();
        let two = inflight
            .take(&shared, Method::ControllerUnpublishVolume)
            .unwrap();
        assert!(inflight.take(&keys(["a"]), Method::DeleteVolume).is_err());
        drop(one);
        assert!(inflight.take(&keys(["a"]), Method::DeleteVolume).is_err());
        drop(two);
        let alone = inflight.take(&keys(["a"]), Method::DeleteVolume).unwrap();
        assert!(
            inflight
                .take(&shared, Method::ControllerPublishVolume)
                .is_err()
        );
        drop(alone);
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
