//! Every failure of every RPC comes out with its own code, never as `INTERNAL`.

use azcsi_rpc::Method;
use azcsi_rpc::status::{answered, is_final, status};
use azcsi_types::fault::{Fault, Faulty as _};
use azcsi_types::share_handle::ShareHandle;
use azcsi_types::size::{CapacityRange, GiB};
use tonic::Code;

use super::ControllerError;

/// One of each kind, with the code that it means where CSI knows it.
fn each() -> Vec<(ControllerError, Code)> {
    let text = || "text".to_owned();
    let bad_id = || "x".parse::<ShareHandle>().unwrap_err();
    let size = CapacityRange::from_wire(1 << 40, 0).unwrap();
    let size = size
        .pick(GiB::new(1), GiB::new(2), GiB::new(1))
        .unwrap_err();
    let absent = || ControllerError::Absent { what: text() };
    vec![
        (ControllerError::Refused(text()), Code::InvalidArgument),
        (ControllerError::BadId(bad_id()), Code::InvalidArgument),
        (
            ControllerError::NoSuchId {
                id: text(),
                source: bad_id(),
            },
            Code::NotFound,
        ),
        (absent(), Code::NotFound),
        (
            ControllerError::Differs {
                what: text(),
                difference: text(),
            },
            Code::AlreadyExists,
        ),
        (ControllerError::Size(size), Code::OutOfRange),
        (ControllerError::Range(text()), Code::OutOfRange),
        (ControllerError::NoRoom(text()), Code::ResourceExhausted),
        (ControllerError::State(text()), Code::FailedPrecondition),
        (ControllerError::Going(text()), Code::Aborted),
        (ControllerError::Token(text()), Code::Aborted),
        (absent().half_way("it"), Code::Unavailable),
        (
            ControllerError::NoRoom(text()).half_way("it"),
            Code::ResourceExhausted,
        ),
    ]
}

/// The kinds of failure that an RPC of this driver has beside the common ones.
const RAISED: [(Method, &[Code]); 11] = [
    (
        Method::CreateVolume,
        &[
            Code::NotFound,
            Code::AlreadyExists,
            Code::OutOfRange,
            Code::ResourceExhausted,
            Code::FailedPrecondition,
        ],
    ),
    (Method::DeleteVolume, &[Code::FailedPrecondition]),
    (Method::ValidateVolumeCapabilities, &[Code::NotFound]),
    (
        Method::CreateSnapshot,
        &[
            Code::NotFound,
            Code::AlreadyExists,
            Code::ResourceExhausted,
            Code::FailedPrecondition,
        ],
    ),
    (Method::DeleteSnapshot, &[Code::FailedPrecondition]),
    (Method::ListSnapshots, &[]),
    (Method::GetSnapshot, &[Code::NotFound]),
    (
        Method::ControllerExpandVolume,
        &[Code::NotFound, Code::OutOfRange, Code::FailedPrecondition],
    ),
    (Method::ControllerGetVolume, &[Code::NotFound]),
    (Method::ControllerGetVolumeHealth, &[Code::NotFound]),
    (
        Method::ControllerModifyVolume,
        &[Code::NotFound, Code::FailedPrecondition],
    ),
];

const COMMON: [Code; 3] = [Code::InvalidArgument, Code::Aborted, Code::Unavailable];

#[test]
fn what_an_rpc_raises_is_answered_with_its_own_code() {
    for (method, own) in RAISED {
        let raised: Vec<Code> = own.iter().chain(&COMMON).copied().collect();
        let mut seen = Vec::new();
        for (error, code) in each() {
            if raised.contains(&code) {
                assert_eq!(status(method, &error).code(), code, "{method}: {error:?}");
                seen.push(code);
            }
        }
        assert!(raised.iter().all(|code| seen.contains(code)), "{method}");
    }
}

#[test]
fn a_failure_that_is_to_be_tried_again_is_never_made_final() {
    for (method, _) in RAISED {
        for (error, _) in each() {
            let fault = error.fault();
            assert_eq!(
                is_final(answered(method, fault)),
                is_final(fault),
                "{method}"
            );
        }
    }
}

#[test]
fn half_a_volume_is_no_final_answer() {
    for (error, _) in each() {
        let fault = error.half_way("it").fault();
        assert!(!is_final(fault) && fault != Fault::Internal, "{fault:?}");
    }
}
