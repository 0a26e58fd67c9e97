//! Failures on request: conflicts, stale reads, and callers that die in the middle.

use std::sync::{Mutex, PoisonError};

use http::Method;
use tokio::sync::Notify;

use super::resources::Target;

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Somebody else wrote first (409).
    Conflict,
    /// A read answers with the version before the last.
    Stale,
    /// The request never arrives and is never answered: the caller died before it.
    LostBefore,
    /// The request is carried out, but never answered: the caller died after it.
    LostAfter,
}

/// Which requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Every request that writes.
    Writes,
    /// Every read of one object.
    Reads,
}

impl Which {
    fn counts(self, method: &Method, target: &Target) -> bool {
        match self {
            Self::Writes => *method != Method::GET,
            Self::Reads => *method == Method::GET && target.name.is_some(),
        }
    }
}

#[derive(Debug)]
struct Planned {
    which: Which,
    /// Requests that pass before it.
    left: usize,
    effect: Effect,
}

/// The failures that are still to come.
#[derive(Debug, Default)]
pub struct Faults {
    planned: Mutex<Vec<Planned>>,
    seen: Mutex<usize>,
    lost: Notify,
}

impl Faults {
    /// Plans a failure of the request after `skip` others of its sort.
    pub fn plan(&self, which: Which, skip: usize, effect: Effect) {
        let planned = Planned {
            which,
            left: skip,
            effect,
        };
        self.lock().push(planned);
    }

    /// Forgets what was planned.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// How many failures have not happened.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.lock().len()
    }

    /// Requests that wrote or tried to, so far.
    #[must_use]
    pub fn writes(&self) -> usize {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when a request is lost.
    pub async fn lost(&self) {
        self.lost.notified().await;
    }

    /// The failure of this request.
    pub(super) fn next(&self, method: &Method, target: &Target) -> Option<Effect> {
        if Which::Writes.counts(method, target) {
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        let mut planned = self.lock();
        let mut hit = None;
        for (index, fault) in planned.iter_mut().enumerate() {
            if !fault.which.counts(method, target) {
                continue;
            }
            match fault.left.checked_sub(1) {
                Some(left) => fault.left = left,
                None => hit = hit.or(Some(index)),
            }
        }
        let effect = hit.map(|index| planned.remove(index).effect);
        if matches!(effect, Some(Effect::LostBefore | Effect::LostAfter)) {
            self.lost.notify_one();
        }
        effect
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Planned>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::{Effect, Faults, Target, Which};

    #[test]
    fn a_fault_hits_the_request_it_was_planned_for_once() {
        let faults = Faults::default();
        let target = Target::parse("/api/v1/persistentvolumes/a").unwrap();
        faults.plan(Which::Writes, 1, Effect::Conflict);
        assert_eq!(faults.next(&Method::PATCH, &target), None);
        assert_eq!(faults.next(&Method::GET, &target), None);
        assert_eq!(
            faults.next(&Method::DELETE, &target),
            Some(Effect::Conflict)
        );
        assert_eq!(faults.next(&Method::DELETE, &target), None);
        assert_eq!((faults.writes(), faults.pending()), (3, 0));
    }
}
