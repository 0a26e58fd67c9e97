//! What an [`ArmError`] means: by status and code, and by a phrase of the message only where one
//! code has several meanings.

use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::node::VmRef;
use http::StatusCode;

use super::error::{Absence, ArmError, ErrorKind};

const THROTTLED: [&str; 4] = [
    "TooManyRequests",
    "SubscriptionRequestsThrottled",
    "ResourceRequestsThrottled",
    "ServerBusy",
];
const CONFLICT: [&str; 15] = [
    "AttachDiskWhileBeingDetached",
    "Conflict",
    "OperationPreempted",
    "CanceledAndSupersededDueToAnotherOperation",
    "RetryableErrorDueToAnotherOperation",
    "AnotherOperationInProgress",
    "ReferencedResourceNotProvisioned",
    "PropertyChangeNotAllowed",
    "StorageAccountIsNotProvisioned",
    "StorageAccountOperationInProgress",
    "ShareBeingDeleted",
    "ShareSnapshotInProgress",
    "AccountBeingCreated",
    "SharingViolation",
    "DeletePending",
];
const CAPACITY: [&str; 11] = [
    "QuotaExceeded",
    "SkuNotAvailable",
    "ZonalAllocationFailed",
    "AllocationFailed",
    "OverconstrainedAllocationRequest",
    "OverconstrainedZonalAllocationRequest",
    "ResourceQuotaExceeded",
    "MaxStorageAccountsCountPerSubscriptionExceeded",
    "AccountLimitExceeded",
    "ShareSnapshotCountExceeded",
    "ShareSizeLimitReached",
];
/// Codes of a 404 that name exactly what was asked for, or something that it lived in and died with.
const ABSENT: [&str; 5] = [
    "ResourceNotFound",
    "NotFound",
    "DiskNotFound",
    "ShareNotFound",
    "ShareSnapshotNotFound",
];
const TRANSIENT: [&str; 8] = [
    "InternalServerError",
    "InternalExecutionError",
    "InternalOperationError",
    "ServerTimeout",
    "ServiceUnavailable",
    "OperationTimedOut",
    "NetworkingInternalOperationError",
    "VMAgentStatusCommunicationError",
];
const MAX_DISKS: &str =
    "maximum number of data disks allowed to be attached to a VM of this size is ";

impl ArmError {
    fn any_of(&self, codes: &[&str]) -> bool {
        self.any_code(|code| codes.iter().any(|c| c.eq_ignore_ascii_case(code)))
    }

    fn is_status(&self, status: StatusCode) -> bool {
        self.status() == Some(status)
    }

    /// What is proven not to exist. Only a 404 with a code that says so proves it: a 404 of a proxy
    /// or of a wrong subscription proves nothing.
    #[must_use]
    pub fn absence(&self) -> Option<Absence> {
        let is = |code: &str| self.code().eq_ignore_ascii_case(code);
        if !self.is_status(StatusCode::NOT_FOUND) {
            return None;
        }
        if is("ParentResourceNotFound") || is("ParentNotFound") {
            Some(Absence::Parent)
        } else if is("ResourceGroupNotFound") {
            Some(Absence::Group)
        } else if ABSENT.into_iter().any(is) {
            Some(Absence::Resource)
        } else {
            None
        }
    }

    /// The resource is proven absent, by itself or with its group.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self.absence(), Some(Absence::Resource | Absence::Group))
    }

    /// The resource that it would be part of is absent.
    #[must_use]
    pub fn is_parent_not_found(&self) -> bool {
        self.absence() == Some(Absence::Parent)
    }

    /// The resource group is absent.
    #[must_use]
    pub fn is_group_not_found(&self) -> bool {
        self.absence() == Some(Absence::Group)
    }

    /// Too many requests, as Azure says or as it said before.
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        let busy = self.is_status(StatusCode::SERVICE_UNAVAILABLE) && self.retry_after().is_some();
        self.kind() == ErrorKind::Paused
            || self.is_status(StatusCode::TOO_MANY_REQUESTS)
            || self.any_of(&THROTTLED)
            || busy
    }

    /// Something else is at work on the resource, or the model changed: read it again and retry.
    #[must_use]
    pub fn is_conflict_retryable(&self) -> bool {
        self.is_precondition_failed()
            || self.is_lun_taken()
            || (self.any_of(&CONFLICT) && !self.says("currently attached to running VM"))
    }

    /// The slot is in use.
    #[must_use]
    pub fn is_lun_taken(&self) -> bool {
        self.has_code("InvalidParameter")
            && self.says("A disk at LUN")
            && self.says("already exists")
    }

    /// A newer write to the same machine displaced this one.
    #[must_use]
    pub fn is_preempted(&self) -> bool {
        self.has_code("OperationPreempted")
    }

    /// The disk is still on its way out of a machine.
    #[must_use]
    pub fn is_being_detached(&self) -> bool {
        self.has_code("AttachDiskWhileBeingDetached")
    }

    /// Quota or capacity of the zone or region is used up.
    #[must_use]
    pub fn is_quota(&self) -> bool {
        self.any_of(&CAPACITY)
            || self.account_limit().is_some()
            || (self.has_code("OperationNotAllowed") && self.says("quota"))
    }

    /// The version of `If-Match` is not the present one.
    #[must_use]
    pub fn is_precondition_failed(&self) -> bool {
        self.is_status(StatusCode::PRECONDITION_FAILED)
            || self.any_of(&["PreconditionFailed", "ConditionNotMet"])
    }

    /// The machine is gone, or is marked for deletion: nothing can be attached to it any more.
    #[must_use]
    pub fn is_vmss_instance_gone(&self) -> bool {
        let instance = self.has_code("InvalidParameter")
            && (self
                .target()
                .is_some_and(|t| t.eq_ignore_ascii_case("instanceIds"))
                || self.says("not an active Virtual Machine Scale Set VM instanceId"));
        let marked = self.has_code("OperationNotAllowed") && self.says("marked for deletion");
        instance || marked
    }

    /// The machine is full; how many data disks it holds.
    #[must_use]
    pub fn max_data_disks(&self) -> Option<u32> {
        if !self.has_code("OperationNotAllowed") {
            return None;
        }
        std::iter::once(self.message())
            .chain(self.details().iter().map(|d| d.message.as_str()))
            .find_map(|text| {
                let rest = &text[text.find(MAX_DISKS)? + MAX_DISKS.len()..];
                let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
                digits.parse().ok()
            })
    }

    /// The machine that already holds the disk which was to be attached.
    #[must_use]
    pub fn owner_vm(&self) -> Option<VmRef> {
        if !self.is_owned_elsewhere() {
            return None;
        }
        std::iter::once(self.message())
            .chain(self.details().iter().map(|d| d.message.as_str()))
            .flat_map(|text| text.split(['\'', '"', ' ', '\n']))
            .filter(|word| word.to_ascii_lowercase().starts_with("/subscriptions/"))
            .find_map(|word| word.trim_end_matches(['.', ',']).parse().ok())
    }

    /// The disk is in another machine.
    #[must_use]
    pub fn is_owned_elsewhere(&self) -> bool {
        self.has_code("ConflictingUserInput")
            || self.says("already owned by VM")
            || self.says("already attached to VM")
    }

    /// A snapshot or disk of this name exists, with another source.
    #[must_use]
    pub fn is_other_source(&self) -> bool {
        self.is_status(StatusCode::CONFLICT) && self.says("existing disk")
    }

    /// This identity or this API version has no such action; another way may be open.
    #[must_use]
    pub fn is_action_unavailable(&self) -> bool {
        let denied = self.is_status(StatusCode::FORBIDDEN)
            && self.has_code("AuthorizationFailed")
            && self.says("attachDetachDataDisks");
        denied || self.any_of(&["InvalidResourceType", "NoRegisteredProviderFound"])
    }

    /// Azure answered 401: the token is not accepted.
    #[must_use]
    pub fn is_unauthenticated(&self) -> bool {
        self.is_status(StatusCode::UNAUTHORIZED) || self.kind() == ErrorKind::Credentials
    }

    /// Whether it is unknown if Azure did, or still does, what was asked.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        let server = self.status().is_some_and(|s| s.is_server_error());
        matches!(
            self.kind(),
            ErrorKind::Deadline | ErrorKind::Transport | ErrorKind::Protocol
        ) || (server && !self.is_throttled())
            || self.is_status(StatusCode::REQUEST_TIMEOUT)
            || self.is_in_doubt()
    }

    fn answer_fault(&self) -> Fault {
        if self.is_throttled() {
            return Fault::Unavailable;
        }
        if self.is_quota() || self.max_data_disks().is_some() {
            return Fault::Exhausted;
        }
        if self.is_vmss_instance_gone() || self.absence().is_some() {
            return Fault::NotFound;
        }
        if self.is_share_already_there() {
            return Fault::Exists;
        }
        if self.is_owned_elsewhere() {
            return Fault::Precondition;
        }
        if self.is_conflict_retryable() {
            return Fault::InProgress;
        }
        if self.any_of(&TRANSIENT) {
            return Fault::Unavailable;
        }
        match self.status() {
            Some(StatusCode::UNAUTHORIZED) => Fault::Unauthenticated,
            Some(StatusCode::FORBIDDEN) => Fault::Denied,
            Some(StatusCode::BAD_REQUEST) => self.bad_request_fault(),
            Some(StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED) => Fault::Precondition,
            Some(status) if status == StatusCode::NOT_FOUND => Fault::Unavailable,
            Some(status) if status.is_client_error() && status != StatusCode::REQUEST_TIMEOUT => {
                Fault::Invalid
            }
            Some(_) => Fault::Unavailable,
            None => self.operation_fault(),
        }
    }

    fn bad_request_fault(&self) -> Fault {
        const STATE: [&str; 6] = [
            "ultraSSDEnabled",
            "does not support the storage account type",
            "not in zone",
            "not in the same zone",
            "Availability Set",
            "attached to running VM",
        ];
        if self.has_code("InvalidSubscriptionId") || STATE.iter().any(|text| self.says(text)) {
            Fault::Precondition
        } else {
            Fault::Invalid
        }
    }

    /// A failed operation has no status; its code has to do.
    fn operation_fault(&self) -> Fault {
        if self.any_of(&[
            "OperationNotAllowed",
            "ScopeLocked",
            "RequestDisallowedByPolicy",
        ]) {
            Fault::Precondition
        } else if self.any_of(&["AuthorizationFailed", "LinkedAuthorizationFailed"]) {
            Fault::Denied
        } else if self.any_of(&["InvalidParameter", "BadRequest"]) {
            self.bad_request_fault()
        } else {
            Fault::Unavailable
        }
    }
}

impl Faulty for ArmError {
    fn fault(&self) -> Fault {
        let fault = match self.kind() {
            ErrorKind::Answer => self.answer_fault(),
            ErrorKind::Deadline => Fault::Deadline,
            ErrorKind::Credentials => Fault::Unauthenticated,
            ErrorKind::Invalid => Fault::Invalid,
            ErrorKind::Paused
            | ErrorKind::Transport
            | ErrorKind::TokenService
            | ErrorKind::Protocol => Fault::Unavailable,
        };
        match fault {
            Fault::Unavailable | Fault::Deadline | Fault::InProgress => fault,
            // A caller takes any other kind as proof that nothing was done.
            _ if self.is_in_doubt() => Fault::Unavailable,
            fault => fault,
        }
    }
}
