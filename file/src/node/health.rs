//! What is wrong with a volume on this node: what is seen of its mount, and how its last stage or
//! publish failed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use azcsi_host::liveness::Liveness;
use azcsi_types::fault::{Fault, Faulty, report};
use nix::errno::Errno;

use super::error::NodeError;
use super::share::VolumeKey;

/// Most failures that are remembered.
const LIMIT: usize = 256;
/// Longest message, in bytes (Kubernetes takes 1024).
const MESSAGE_LIMIT: usize = 1000;

/// How bad it is (CSI, `VolumeHealthErrorType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It cannot be used.
    Inaccessible,
    /// It works, but not as it should.
    Degraded,
}

/// One adverse condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// How bad it is.
    pub severity: Severity,
    /// Stable, in CamelCase.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// The last failure of each volume.
#[derive(Debug, Default)]
pub struct Book(Mutex<BTreeMap<String, Condition>>);

impl Book {
    /// Keeps a failure, unless the request itself was wrong or somebody else was at work.
    pub fn remember(&self, volume: &VolumeKey, error: &NodeError) {
        let Some(reason) = reason_of(error) else {
            return;
        };
        let mut message = report(error);
        let mut end = message.len().min(MESSAGE_LIMIT);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        let mut failures = self.lock();
        let key = volume.record();
        if failures.len() >= LIMIT && !failures.contains_key(&key) {
            failures.pop_first();
        }
        let condition = Condition {
            severity: Severity::Inaccessible,
            reason,
            message,
        };
        failures.insert(key, condition);
    }

    /// Forgets it: the volume works, or is gone from this node.
    pub fn forget(&self, volume: &VolumeKey) {
        self.lock().remove(&volume.record());
    }

    /// Forgets a failure whose reason was the server, because the volume's mount works again. Whoever
    /// met it may never ask again: its pod is gone.
    pub fn recovered(&self, volume: &VolumeKey) {
        let mut failures = self.lock();
        let key = volume.record();
        let is_over = |known: &Condition| OF_SERVER.contains(&known.reason.as_str());
        if failures.get(&key).is_some_and(is_over) {
            failures.remove(&key);
        }
    }

    /// The last failure of a volume.
    #[must_use]
    pub fn of(&self, volume: &VolumeKey) -> Option<Condition> {
        self.lock().get(&volume.record()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Condition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reasons that are over when the server answers.
const OF_SERVER: [&str; 2] = ["StaleMount", "ServerNotReady"];

fn reason_of(error: &NodeError) -> Option<String> {
    match error {
        NodeError::Mount { cause, .. } => Some(cause.reason()),
        NodeError::Stale { .. } => Some("StaleMount".to_owned()),
        NodeError::Credentials { .. } => Some("CredentialsMissing".to_owned()),
        _ => match error.fault() {
            Fault::Precondition | Fault::Exists | Fault::Denied => Some("MountRefused".to_owned()),
            Fault::Unavailable | Fault::Deadline => Some("ServerNotReady".to_owned()),
            Fault::Internal => Some("MountFailed".to_owned()),
            _ => None,
        },
    }
}

/// What follows from how a mount answers; `None` for one that is not there.
#[must_use]
pub fn judge(life: Option<Liveness>) -> Option<Condition> {
    let (reason, message) = match life? {
        Liveness::Alive => return None,
        Liveness::Dead(errno) => (
            "StaleMount",
            format!(
                "The mount is dead ({}): the server is lost, the key was rotated or the share is \
                 gone. Restart the pods that have it.",
                Errno::from_raw(errno).desc()
            ),
        ),
        Liveness::Silent => (
            "ServerUnresponsive",
            "The server does not answer. The mount recovers when it does.".to_owned(),
        ),
    };
    Some(Condition {
        severity: Severity::Inaccessible,
        reason: reason.to_owned(),
        message,
    })
}

/// What it means that a volume is recorded as mounted at a path where nothing is.
#[must_use]
pub fn not_mounted() -> Condition {
    Condition {
        severity: Severity::Inaccessible,
        reason: "NotMounted".to_owned(),
        message: "The share is not mounted where it was staged: restart the pod.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use azcsi_host::liveness::Liveness;
    use nix::libc;

    use super::{Book, LIMIT, judge};
    use crate::node::error::NodeError;
    use crate::node::share::VolumeKey;

    fn key(id: &str) -> VolumeKey {
        VolumeKey::decode(id.to_owned()).unwrap()
    }

    #[test]
    fn a_dead_mount_is_not_a_silent_one() {
        assert_eq!(judge(None), None);
        assert_eq!(judge(Some(Liveness::Alive)), None);
        let dead = judge(Some(Liveness::Dead(libc::EHOSTDOWN))).unwrap();
        assert_eq!(dead.reason, "StaleMount");
        assert!(dead.message.contains("Host is down"), "{}", dead.message);
        let silent = judge(Some(Liveness::Silent)).unwrap();
        assert_eq!(silent.reason, "ServerUnresponsive");
    }

    #[test]
    fn a_failure_is_remembered_until_it_works() {
        let book = Book::default();
        let failure = NodeError::stale("v", "ä".repeat(2000));
        book.remember(&key("v"), &failure);
        let condition = book.of(&key("v")).unwrap();
        assert_eq!(condition.reason, "StaleMount");
        assert!(condition.message.len() <= 1000);
        book.recovered(&key("v"));
        assert_eq!(book.of(&key("v")), None);
        book.remember(&key("v"), &NodeError::refused("v", "a limit"));
        book.recovered(&key("v"));
        assert_eq!(book.of(&key("v")).unwrap().reason, "MountRefused");
        book.forget(&key("v"));
        book.remember(&key("v"), &NodeError::value("x", "wrong request"));
        assert_eq!(book.of(&key("v")), None);
        for number in 0..2 * LIMIT {
            book.remember(&key(&number.to_string()), &failure);
        }
        assert_eq!(book.lock().len(), LIMIT);
    }
}
