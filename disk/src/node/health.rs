//! What is wrong with a volume on this node.
//!
//! Kubelet asks for one volume after another, so an answer has to come at once: it is made from the
//! mount table, from sysfs and from what is remembered, without any lock that a stage may hold.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use azcsi_host::devices::{Devices, Disk};
use azcsi_host::mountinfo::Mount;
use azcsi_types::fault::{Fault, Faulty, report};

use super::error::NodeError;
use super::volume::VolumeKey;

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
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// The last failed stage of each volume.
#[derive(Debug, Default)]
pub struct Book {
    failures: Mutex<BTreeMap<String, Condition>>,
}

impl Book {
    /// Keeps a failure, unless the request itself was wrong or somebody else was at work.
    pub fn remember(&self, volume: &VolumeKey, error: &NodeError) {
        let Some(reason) = reason_of(error.fault()) else {
            return;
        };
        let mut message = report(error);
        let mut end = message.len().min(MESSAGE_LIMIT);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        let mut failures = self.lock();
        if failures.len() >= LIMIT && !failures.contains_key(volume.as_str()) {
            failures.pop_first();
        }
        let condition = Condition {
            severity: Severity::Inaccessible,
            reason,
            message,
        };
        failures.insert(volume.as_str().to_owned(), condition);
    }

    /// Forgets it: the volume is staged, or gone from this node.
    pub fn forget(&self, volume: &VolumeKey) {
        self.lock().remove(volume.as_str());
    }

    /// The last failed stage of a volume.
    #[must_use]
    pub fn of(&self, volume: &VolumeKey) -> Option<Condition> {
        self.lock().get(volume.as_str()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Condition>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn reason_of(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::Precondition | Fault::Exists => Some("StageRefused"),
        Fault::Unavailable | Fault::Deadline => Some("DeviceNotReady"),
        Fault::Internal => Some("StageFailed"),
        _ => None,
    }
}

/// What is seen of a staged volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether its device works.
    pub is_alive: bool,
    /// Whether the kernel made its filesystem read-only after an error.
    pub is_shut_down: bool,
    /// How many errors ext4 counts.
    pub errors: u64,
    /// Whether it is mounted where it was staged.
    pub is_mounted: bool,
    /// The disk that Azure says is in its slot, if that is another one.
    pub other_in_slot: Option<String>,
}

/// Looks at a mount. `None` for the disk means that the kernel does not know its device any more.
#[must_use]
pub fn look(devices: &Devices, mount: Option<&Mount>, disk: Option<&Disk>) -> Seen {
    Seen {
        is_alive: disk.is_some_and(|disk| devices.is_alive(disk.device)),
        is_shut_down: mount.is_some_and(Mount::is_shut_down),
        errors: disk.and_then(|disk| devices.ext_errors(disk)).unwrap_or(0),
        is_mounted: mount.is_some(),
        other_in_slot: None,
    }
}

/// What follows: at most one condition of each severity, the worst cause first.
#[must_use]
pub fn judge(seen: &Seen) -> Vec<Condition> {
    let condition = |severity, reason, message: String| Condition {
        severity,
        reason,
        message,
    };
    let mut conditions = Vec::new();
    if !seen.is_alive {
        let message = "The device is gone or offline: check whether the disk is still attached to \
                       this machine.";
        conditions.push(condition(
            Severity::Inaccessible,
            "DeviceGone",
            message.to_owned(),
        ));
    } else if let Some(other) = &seen.other_in_slot {
        let message = format!(
            "Azure says that the slot of the volume now holds '{other}': the disk was detached by \
             other means; restart the pod on another node."
        );
        conditions.push(condition(Severity::Inaccessible, "WrongDisk", message));
    } else if !seen.is_mounted {
        let message = "The volume is not mounted where it was staged: restart the pod.";
        conditions.push(condition(
            Severity::Inaccessible,
            "NotMounted",
            message.to_owned(),
        ));
    }
    if seen.is_shut_down {
        let message = "The kernel made the filesystem read-only after an error: restart the pod, so \
                       that the filesystem is checked.";
        conditions.push(condition(
            Severity::Degraded,
            "FilesystemReadOnly",
            message.to_owned(),
        ));
    } else if seen.errors > 0 {
        let message = format!(
            "The filesystem has recorded {} errors: restart the pod, so that it is checked.",
            seen.errors
        );
        conditions.push(condition(Severity::Degraded, "FilesystemErrors", message));
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::{Book, LIMIT, Seen, Severity, judge};
    use crate::node::error::NodeError;
    use crate::node::volume::VolumeKey;

    const GOOD: Seen = Seen {
        is_alive: true,
        is_shut_down: false,
        errors: 0,
        is_mounted: true,
        other_in_slot: None,
    };

    #[test]
    fn each_severity_has_at_most_one_condition() {
        let wrong = Seen {
            other_in_slot: Some("other".to_owned()),
            ..GOOD
        };
        assert_eq!(judge(&wrong)[0].reason, "WrongDisk");
        assert!(judge(&GOOD).is_empty());
        for (seen, reasons) in [
            (
                Seen {
                    is_alive: false,
                    ..GOOD
                },
                &["DeviceGone"][..],
            ),
            (
                Seen {
                    is_mounted: false,
                    ..GOOD
                },
                &["NotMounted"],
            ),
            (
                Seen {
                    is_shut_down: true,
                    errors: 3,
                    ..GOOD
                },
                &["FilesystemReadOnly"],
            ),
            (Seen { errors: 3, ..GOOD }, &["FilesystemErrors"]),
            (
                Seen {
                    is_alive: false,
                    is_shut_down: true,
                    is_mounted: false,
                    errors: 1,
                    other_in_slot: None,
                },
                &["DeviceGone", "FilesystemReadOnly"],
            ),
        ] {
            let found: Vec<_> = judge(&seen).into_iter().map(|c| c.reason).collect();
            assert_eq!(found, reasons);
        }
    }

    fn key(id: &str) -> VolumeKey {
        VolumeKey::decode(id.to_owned()).unwrap()
    }

    #[test]
    fn a_failed_stage_is_remembered_until_it_works() {
        let book = Book::default();
        let failure = NodeError::NotReady {
            volume: "v".to_owned(),
            why: "ä".repeat(2000),
        };
        book.remember(&key("v"), &failure);
        let condition = book.of(&key("v")).unwrap();
        assert_eq!(condition.severity, Severity::Inaccessible);
        assert!(condition.message.len() <= 1000);
        book.forget(&key("v"));
        assert_eq!(book.of(&key("v")), None);
        book.remember(&key("v"), &NodeError::value("x", "wrong request"));
        assert_eq!(book.of(&key("v")), None);
        for number in 0..2 * LIMIT {
            book.remember(&key(&number.to_string()), &failure);
        }
        assert_eq!(book.lock().len(), LIMIT);
    }
}
