//! The one place that turns an error into a gRPC status.
//!
//! A handler says what happened ([`Fault`]); the table here says which code that is, and
//! [`Method::allows`] says whether CSI knows that code for the call. A code that it does not know is
//! replaced by one that leaves the caller the same freedom: a final answer stays final, an answer
//! that asks for a retry keeps asking for one.
#![expect(
    clippy::disallowed_methods,
    reason = "the only file that may construct tonic::Status"
)]

use azcsi_types::fault::{Fault, Faulty, report};
use tonic::{Code, Status};

use crate::method::Method;

/// The gRPC code of each kind of failure (CSI, "Error Scheme").
#[must_use]
pub const fn code(fault: Fault) -> Code {
    match fault {
        Fault::Invalid => Code::InvalidArgument,
        Fault::NotFound => Code::NotFound,
        Fault::Exists => Code::AlreadyExists,
        Fault::OutOfRange => Code::OutOfRange,
        Fault::Exhausted => Code::ResourceExhausted,
        Fault::Precondition => Code::FailedPrecondition,
        Fault::InProgress => Code::Aborted,
        Fault::Unavailable => Code::Unavailable,
        Fault::Deadline => Code::DeadlineExceeded,
        Fault::Denied => Code::PermissionDenied,
        Fault::Unauthenticated => Code::Unauthenticated,
        Fault::Unimplemented => Code::Unimplemented,
        Fault::Internal => Code::Internal,
    }
}

/// Whether the caller may take this failure for the end of the matter.
///
/// Sidecars and kubelet repeat a call that failed in a way that is not final, and undo it before
/// they give up; a final failure they believe to have left nothing behind.
#[must_use]
pub const fn is_final(fault: Fault) -> bool {
    match fault {
        Fault::Invalid
        | Fault::NotFound
        | Fault::Exists
        | Fault::OutOfRange
        | Fault::Precondition
        | Fault::Denied
        | Fault::Unauthenticated
        | Fault::Unimplemented
        | Fault::Internal => true,
        Fault::Exhausted | Fault::InProgress | Fault::Unavailable | Fault::Deadline => false,
    }
}

/// The kind of failure that is answered for `fault` by `method`.
#[must_use]
pub fn answered(method: Method, fault: Fault) -> Fault {
    match (method.allows(fault), is_final(fault)) {
        (true, _) => fault,
        (false, true) => Fault::Internal,
        (false, false) => Fault::Unavailable,
    }
}

/// The status with which `method` answers `error`: code, and the error with its causes as one line.
#[must_use]
pub fn status(method: Method, error: &dyn Faulty) -> Status {
    Status::new(code(answered(method, error.fault())), report(error))
}

/// The method is not offered.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not offered by this plugin")]
pub(crate) struct NotOffered(pub(crate) Method);

impl Faulty for NotOffered {
    fn fault(&self) -> Fault {
        Fault::Unimplemented
    }
}

/// The answer of a method that a service has to have and the plugin does not offer.
#[must_use]
pub fn not_offered(method: Method) -> Status {
    status(method, &NotOffered(method))
}

/// The status for a request that is not for any method of CSI, or failed before that was known.
#[must_use]
pub(crate) fn unmatched(error: &dyn Faulty) -> Status {
    Status::new(code(error.fault()), report(error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use azcsi_types::fault::{Fault, Faulty};
    use tonic::Code;

    use super::{answered, code, is_final, status};
    use crate::method::{Method, Service};

    #[derive(Debug, thiserror::Error)]
    #[error("it is {0:?}")]
    struct Error(Fault);

    impl Faulty for Error {
        fn fault(&self) -> Fault {
            self.0
        }
    }

    /// What CSI lists for a method, written down a second time by code.
    fn listed(method: Method) -> BTreeSet<i32> {
        use Code::{AlreadyExists, FailedPrecondition, NotFound, OutOfRange, ResourceExhausted};
        let own: &[Code] = match method.name() {
            "Probe" | "DeleteVolume" | "DeleteSnapshot" | "DeleteVolumeGroupSnapshot" => {
                &[FailedPrecondition]
            }
            "CreateVolume" => &[NotFound, AlreadyExists, ResourceExhausted, OutOfRange],
            "ControllerPublishVolume" => &[
                NotFound,
                AlreadyExists,
                FailedPrecondition,
                ResourceExhausted,
            ],
            "CreateSnapshot" => &[AlreadyExists, ResourceExhausted],
            "ControllerExpandVolume" | "NodeExpandVolume" | "GetMetadataDelta" => {
                &[NotFound, FailedPrecondition, OutOfRange]
            }
            "NodeStageVolume" | "NodePublishVolume" => {
                &[NotFound, AlreadyExists, FailedPrecondition]
            }
            "CreateVolumeGroupSnapshot" => &[AlreadyExists, FailedPrecondition, ResourceExhausted],
            "GetMetadataAllocated" => &[NotFound, OutOfRange],
            "ControllerUnpublishVolume"
            | "ValidateVolumeCapabilities"
            | "ControllerGetVolume"
            | "ControllerGetVolumeHealth"
            | "GetSnapshot"
            | "ControllerModifyVolume"
            | "GetVolumeGroupSnapshot"
            | "NodeUnstageVolume"
            | "NodeUnpublishVolume"
            | "NodeGetVolumeStats"
            | "NodeGetVolumeHealth" => &[NotFound],
            _ => &[],
        };
        let general = [3, 4, 7, 10, 12, 13, 14, 16];
        own.iter()
            .map(|&code| i32::from(code))
            .chain(general)
            .collect()
    }

    #[test]
    fn every_fault_of_every_method_is_answered_with_a_listed_code() {
        for &method in Method::ALL {
            let mut seen = BTreeSet::new();
            for fault in Fault::ALL {
                let status = status(method, &Error(fault));
                assert!(status.details().is_empty(), "CSI forbids details");
                assert_eq!(status.message(), format!("it is {fault:?}"));
                seen.insert(i32::from(status.code()));
                let answer = answered(method, fault);
                assert_eq!(is_final(answer), is_final(fault), "{method} {fault:?}");
                assert_eq!(status.code(), code(answer));
            }
            assert_eq!(seen, listed(method), "{method}");
        }
    }

    #[test]
    fn each_fault_has_a_code_of_its_own() {
        let codes: BTreeSet<i32> = Fault::ALL
            .iter()
            .map(|&fault| i32::from(code(fault)))
            .collect();
        assert_eq!(codes.len(), Fault::ALL.len());
        assert!(
            !codes.contains(&i32::from(Code::Ok)) && !codes.contains(&i32::from(Code::Unknown))
        );
    }

    #[test]
    fn identity_never_names_a_volume_fault() {
        for &method in Method::ALL
            .iter()
            .filter(|method| method.service() == Service::Identity)
        {
            assert_eq!(answered(method, Fault::NotFound), Fault::Internal);
        }
    }
}
