//! Tests of `error`.

use super::{AttachError, VmError, VmErrorKind};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::node::VmRef;

fn error(kind: VmErrorKind, text: &str) -> VmError {
    VmError {
        kind,
        vm: VmRef::machine("s", "g", "v").unwrap(),
        retry_after: None,
        text: text.into(),
        fault: Fault::Invalid,
        source: None,
    }
}

#[test]
fn a_disk_is_named_by_its_whole_name_only() {
    let disk = DiskUri::new("s", "g", "pvc-1").unwrap();
    for (text, named) in [
        ("Disk 'PVC-1' is gone", true),
        ("disk pvc-1.", true),
        ("/disks/pvc-1", true),
        ("disk pvc-11 is gone", false),
        ("disk xpvc-1 is gone", false),
        ("disk pvc-1.old is gone", false),
        ("", false),
    ] {
        assert_eq!(
            error(VmErrorKind::Rejected, text).names(&disk),
            named,
            "{text}"
        );
    }
}

#[test]
fn each_kind_has_its_fault() {
    for (kind, fault) in [
        (VmErrorKind::Gone, Fault::NotFound),
        (VmErrorKind::Full(4), Fault::Exhausted),
        (VmErrorKind::Owned(None), Fault::Precondition),
        (VmErrorKind::DiskMissing, Fault::NotFound),
        (VmErrorKind::BeingDetached, Fault::Unavailable),
        (VmErrorKind::Conflict, Fault::Unavailable),
        (VmErrorKind::Throttled, Fault::Unavailable),
        (VmErrorKind::Uncertain, Fault::Unavailable),
        (VmErrorKind::Rejected, Fault::Precondition),
    ] {
        assert_eq!(
            AttachError::of(&error(kind.clone(), "")).fault(),
            fault,
            "{kind:?}"
        );
    }
}

#[test]
fn throttling_is_no_sign_of_a_stuck_disk() {
    assert!(AttachError::of(&error(VmErrorKind::Uncertain, "")).is_stuck());
    for kind in [
        VmErrorKind::Throttled,
        VmErrorKind::Conflict,
        VmErrorKind::Rejected,
    ] {
        assert!(!AttachError::of(&error(kind, "")).is_stuck());
    }
}
