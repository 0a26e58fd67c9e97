//! What can go wrong with the disks of a machine.

use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::ArmError;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::node::VmRef;

/// What kind of answer a machine's update got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmErrorKind {
    /// The machine does not exist any more, or is marked for deletion.
    Gone,
    /// It holds as many disks as it can; how many, if Azure says so.
    Full(u32),
    /// A disk is in another machine; which one, if Azure says so.
    Owned(Option<Box<VmRef>>),
    /// A disk does not exist.
    DiskMissing,
    /// A disk is on its way out of another machine.
    BeingDetached,
    /// The slot is in use, the model changed, or another update displaced this one.
    Conflict,
    /// Too many requests.
    Throttled,
    /// It is not known what became of the update.
    Uncertain,
    /// Anything else; repeating the same cannot help.
    Rejected,
}

/// An update of a machine that did not succeed. Every waiter of a write gets a copy.
#[derive(Clone, Debug, thiserror::Error)]
#[error("machine {vm} could not be updated")]
pub struct VmError {
    /// What kind of answer it was.
    pub kind: VmErrorKind,
    /// The machine.
    pub vm: VmRef,
    /// How long Azure asks to wait.
    pub retry_after: Option<Duration>,
    /// Text in which Azure may name disks.
    pub text: Box<str>,
    /// The fault of the cause.
    pub fault: Fault,
    /// Azure's own words.
    #[source]
    pub source: Option<Arc<ArmError>>,
}

impl VmError {
    /// Sorts an error of Azure.
    #[must_use]
    pub fn new(vm: &VmRef, error: ArmError) -> Self {
        Self {
            kind: kind(vm, &error),
            vm: vm.clone(),
            retry_after: error.retry_after(),
            text: words(&error).into(),
            fault: error.fault(),
            source: Some(Arc::new(error)),
        }
    }

    /// Whether Azure's words name this disk.
    #[must_use]
    pub fn names(&self, disk: &DiskUri) -> bool {
        let text = self.text.to_ascii_lowercase();
        let name = disk.name().to_ascii_lowercase();
        let part_of_a_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        text.match_indices(&name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let mut after = text[at + name.len()..].chars();
            let next = after.next();
            // A full stop that ends the sentence is no part of the name.
            let ends = match next {
                Some('.') => !after.next().is_some_and(part_of_a_name),
                Some(c) => !part_of_a_name(c),
                None => true,
            };
            ends && !before.is_some_and(part_of_a_name)
        })
    }
}

fn kind(vm: &VmRef, error: &ArmError) -> VmErrorKind {
    if error.is_not_found() || error.is_parent_not_found() {
        let of_disk = !error.is_from_gateway() && error.says("disk") && !error.says(vm.name());
        return if of_disk {
            VmErrorKind::DiskMissing
        } else {
            VmErrorKind::Gone
        };
    }
    if error.has_code("DiskNotFound") || (error.is_from_operation() && error.has_code("NotFound")) {
        return VmErrorKind::DiskMissing;
    }
    if error.is_vmss_instance_gone() {
        return VmErrorKind::Gone;
    }
    if let Some(most) = error.max_data_disks() {
        return VmErrorKind::Full(most);
    }
    if error.is_being_detached() {
        return VmErrorKind::BeingDetached;
    }
    if error.is_owned_elsewhere() {
        return VmErrorKind::Owned(error.owner_vm().map(Box::new));
    }
    if error.is_throttled() {
        return VmErrorKind::Throttled;
    }
    if error.is_lun_taken()
        || error.is_preempted()
        || error.is_precondition_failed()
        || error.is_conflict_retryable()
        || error.has_code("PropertyChangeNotAllowed")
        || error.has_code("DataDisksForceDetached")
    {
        return VmErrorKind::Conflict;
    }
    if error.is_uncertain() {
        return VmErrorKind::Uncertain;
    }
    VmErrorKind::Rejected
}

fn words(error: &ArmError) -> String {
    let mut text = format!("{} {}", error.message(), error.target().unwrap_or_default());
    for detail in error.details() {
        text.push(' ');
        text.push_str(&detail.message);
    }
    text
}

/// Why a wish was not fulfilled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AttachError {
    /// The machine does not exist any more.
    #[error("machine {vm} does not exist")]
    Gone {
        /// The machine.
        vm: VmRef,
    },
    /// The machine cannot hold another disk.
    #[error("machine {vm} cannot hold another data disk{}", .most.map(|most| format!(": its size allows {most}")).unwrap_or_default())]
    Full {
        /// The machine.
        vm: VmRef,
        /// How many it can hold.
        most: Option<u32>,
    },
    /// The disk is in another machine.
    #[error("the disk is attached to {}", .owner.as_ref().map_or_else(|| "another machine".to_owned(), ToString::to_string))]
    Owned {
        /// Which one, if Azure says so.
        owner: Option<VmRef>,
    },
    /// The disk does not exist.
    #[error("the disk does not exist")]
    DiskMissing,
    /// The disk is still on its way out of a machine.
    #[error("the disk is still being detached; it can be attached when that has ended")]
    Leaving,
    /// Azure reports success, yet not what was asked.
    #[error("Azure accepted the update of {vm}, but does not report the disk as asked")]
    Unproven {
        /// The machine.
        vm: VmRef,
    },
    /// The update failed.
    #[error(transparent)]
    Update(Box<VmError>),
    /// Time ran out before Azure reported anything.
    #[error("time ran out while machine {vm} was updated; the update goes on")]
    Late {
        /// The machine.
        vm: VmRef,
    },
}

impl AttachError {
    /// The error of a wish from the error of a write that it was part of.
    #[must_use]
    pub fn of(error: &VmError) -> Self {
        let vm = error.vm.clone();
        match &error.kind {
            VmErrorKind::Gone => Self::Gone { vm },
            VmErrorKind::Full(most) => Self::Full {
                vm,
                most: Some(*most),
            },
            VmErrorKind::Owned(owner) => Self::Owned {
                owner: owner.as_deref().cloned(),
            },
            VmErrorKind::DiskMissing => Self::DiskMissing,
            VmErrorKind::BeingDetached => Self::Leaving,
            _ => Self::Update(Box::new(error.clone())),
        }
    }

    /// Whether the disk did not come off although Azure was asked, so that waiting longer may not
    /// help. Throttling and conflicts are no such sign.
    #[must_use]
    pub const fn is_stuck(&self) -> bool {
        match self {
            Self::Unproven { .. } | Self::Late { .. } | Self::Leaving => true,
            Self::Update(error) => matches!(error.kind, VmErrorKind::Uncertain),
            _ => false,
        }
    }
}

impl Faulty for AttachError {
    fn fault(&self) -> Fault {
        match self {
            Self::Gone { .. } | Self::DiskMissing => Fault::NotFound,
            Self::Full { .. } => Fault::Exhausted,
            Self::Owned { .. } => Fault::Precondition,
            Self::Leaving | Self::Unproven { .. } => Fault::Unavailable,
            Self::Late { .. } => Fault::Deadline,
            Self::Update(error) => match (&error.kind, error.fault) {
                (VmErrorKind::Rejected, Fault::Denied) => Fault::Denied,
                (VmErrorKind::Rejected, Fault::Unauthenticated) => Fault::Unauthenticated,
                (VmErrorKind::Rejected, Fault::Exhausted) => Fault::Exhausted,
                // The request was checked before: what Azure refuses lies in disk and machine.
                (VmErrorKind::Rejected, Fault::Invalid | Fault::Precondition) => {
                    Fault::Precondition
                }
                _ => Fault::Unavailable,
            },
        }
    }
}

#[cfg(test)]
mod tests;
