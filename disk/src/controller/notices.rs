//! What users are told about a controller's work: which failures, in which words, about what.

use std::future::Future;

use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::node::NodeName;

use super::Controller;
use super::attach::error::{AttachError, VmErrorKind};
use super::error::ControllerError;
use crate::notices::{self, Notice, Severity, Subject, Word};

/// What is done to a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Attaching it.
    Attach,
    /// Detaching it.
    Detach,
    /// Growing it.
    Expand,
    /// Changing it by a class.
    Modify,
}

impl Act {
    const fn verb(self) -> &'static str {
        match self {
            Self::Attach => "attaching",
            Self::Detach => "detaching",
            Self::Expand => "growing",
            Self::Modify => "changing",
        }
    }

    /// The reason when it takes long.
    const fn slow(self) -> &'static str {
        match self {
            Self::Attach => "AttachSlow",
            Self::Detach => "DetachSlow",
            Self::Expand => "ExpansionSlow",
            Self::Modify => "ModificationSlow",
        }
    }

    /// The reason when Azure, or the driver before it, refuses for good.
    const fn refused(self) -> &'static str {
        match self {
            Self::Attach => "AttachRefused",
            Self::Detach => "DetachRefused",
            Self::Expand => "ExpansionRefused",
            Self::Modify => "ModificationRefused",
        }
    }
}

/// What a failure is called, if users are told of it. What only has to be tried again is not told:
/// it shows when it takes long.
#[must_use]
pub fn word(act: Act, error: &ControllerError) -> Option<Word> {
    match error {
        ControllerError::StillThere(inner) => word(act, inner),
        ControllerError::Held { .. } => Some(Word {
            reason: "DiskInUse",
            remedy: "end the pod that uses it there; if that node is down, give it the taint \
                     node.kubernetes.io/out-of-service",
        }),
        ControllerError::NoRoom(_) if act == Act::Attach => Some(Word {
            reason: "DiskInUse",
            remedy: "raise maxShares, or end a pod that uses it",
        }),
        ControllerError::Attach { source, .. } => of_attach(act, source),
        ControllerError::Azure { source, .. } if source.is_throttled() => Some(THROTTLED),
        ControllerError::Field(_) | ControllerError::NoSuchId { .. } => None,
        other => of_fault(act, other.fault()),
    }
}

const THROTTLED: Word = Word {
    reason: "AzureThrottled",
    remedy: "nothing has to be done: it is tried again when Azure allows it",
};

fn of_attach(act: Act, error: &AttachError) -> Option<Word> {
    match error {
        AttachError::Full { .. } => Some(Word {
            reason: "NodeDiskLimit",
            remedy: "move pods to other nodes, or use a larger machine size",
        }),
        AttachError::Owned { .. } => Some(Word {
            reason: "DiskInUse",
            remedy: "detach it from that machine",
        }),
        AttachError::Update(error) if error.kind == VmErrorKind::Throttled => Some(THROTTLED),
        other => of_fault(act, other.fault()),
    }
}

const fn of_fault(act: Act, fault: Fault) -> Option<Word> {
    let remedy = match fault {
        Fault::Denied => {
            return Some(Word {
                reason: "AzureDenied",
                remedy: "give the driver's identity a role that allows it",
            });
        }
        Fault::Unauthenticated => {
            return Some(Word {
                reason: "AzureLoginFailed",
                remedy: "check the credentials of the cloud configuration",
            });
        }
        Fault::Exhausted => "use another zone or SKU, or ask Azure for a higher quota",
        Fault::Invalid | Fault::OutOfRange | Fault::Precondition | Fault::Exists => "",
        _ => return None,
    };
    Some(Word {
        reason: act.refused(),
        remedy,
    })
}

/// Where something is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) disk: &'a DiskUri,
    pub(super) node: Option<&'a NodeName>,
}

impl Place<'_> {
    fn subjects(self) -> Vec<Subject> {
        let node = self.node.cloned().map(Subject::Node);
        let volume = Subject::Volume(self.disk.clone());
        [Some(volume), node].into_iter().flatten().collect()
    }

    fn told(self, severity: Severity, reason: &'static str, text: &str) -> Vec<Notice> {
        let notice = |subject| Notice {
            subject,
            severity,
            reason,
            text: text.to_owned(),
        };
        self.subjects().into_iter().map(notice).collect()
    }
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "volume {}", self.disk)?;
        match self.node {
            Some(node) => write!(f, ", node {node},"),
            None => Ok(()),
        }
    }
}

impl Controller {
    /// Does `work`; users are told if it takes long, and if it is refused.
    pub(super) async fn in_sight<T>(
        &self,
        act: Act,
        place: Place<'_>,
        work: impl Future<Output = Result<T, ControllerError>>,
    ) -> Result<T, ControllerError> {
        let slow = || {
            let seconds = notices::SLOW.as_secs();
            let text = format!(
                "{} {place} takes longer than {seconds} seconds; Azure is still at work on it, and it goes on by itself",
                act.verb()
            );
            place.told(Severity::Normal, act.slow(), &text)
        };
        let result = notices::slowly(&*self.notices, slow, work).await;
        if let Err(error) = &result
            && let Some(word) = word(act, error)
        {
            let text = notices::line(error, word.remedy);
            self.tell(place.told(Severity::Warning, word.reason, &text));
        }
        result
    }

    /// Tells that a disk is taken from where it is, and why.
    pub(super) fn tell_taken(&self, place: Place<'_>, reason: &'static str, why: &str) {
        let text = format!("detaching {place} {why}");
        self.tell(place.told(Severity::Warning, reason, &text));
    }

    fn tell(&self, told: Vec<Notice>) {
        for notice in told {
            self.notices.tell(notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use azcsi_types::node::VmRef;

    use super::{Act, word};
    use crate::controller::attach::error::{AttachError, VmError, VmErrorKind};
    use crate::controller::error::ControllerError;

    fn attach(source: AttachError) -> ControllerError {
        ControllerError::Attach {
            disk: azcsi_types::disk_uri::DiskUri::new("s", "g", "d").unwrap(),
            node: "n".to_owned(),
            source: Box::new(source),
        }
    }

    fn update(kind: VmErrorKind, fault: azcsi_types::fault::Fault) -> ControllerError {
        attach(AttachError::of(&VmError {
            kind,
            vm: VmRef::machine("s", "g", "v").unwrap(),
            retry_after: None,
            text: "".into(),
            fault,
            source: None,
        }))
    }

    #[test]
    fn what_is_refused_is_told_and_what_is_tried_again_is_not() {
        use azcsi_types::fault::Fault::{Denied, Invalid, Unavailable};
        let full = VmErrorKind::Full(4);
        for (act, error, reason) in [
            (Act::Attach, update(full, Invalid), Some("NodeDiskLimit")),
            (
                Act::Attach,
                update(VmErrorKind::Owned(None), Invalid),
                Some("DiskInUse"),
            ),
            (
                Act::Detach,
                update(VmErrorKind::Throttled, Unavailable).still_there(),
                Some("AzureThrottled"),
            ),
            (
                Act::Attach,
                update(VmErrorKind::Rejected, Denied),
                Some("AzureDenied"),
            ),
            (
                Act::Detach,
                update(VmErrorKind::Rejected, Invalid).still_there(),
                Some("DetachRefused"),
            ),
            (
                Act::Expand,
                ControllerError::State("x".to_owned()),
                Some("ExpansionRefused"),
            ),
            (
                Act::Modify,
                ControllerError::Refused("x".to_owned()),
                Some("ModificationRefused"),
            ),
            (Act::Attach, update(VmErrorKind::Conflict, Invalid), None),
            (
                Act::Attach,
                update(VmErrorKind::Uncertain, Unavailable),
                None,
            ),
            (Act::Attach, ControllerError::Going("x".to_owned()), None),
        ] {
            let got = word(act, &error).map(|word| word.reason);
            assert_eq!(got, reason, "{act:?} {error:?}");
        }
    }
}
