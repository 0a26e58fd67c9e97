//! Tests of `classify`.

use azcsi_types::fault::{Fault, Faulty};

use crate::ArmError;
use crate::testing::{answer, answer_with};

fn error(status: u16, code: &str) -> ArmError {
    ArmError::from_response(&answer_with(status, &[("x-ms-error-code", code)], ""))
}

#[test]
fn refusals_of_the_file_service_are_told_apart() {
    assert!(error(403, "KeyBasedAuthenticationNotPermitted").is_key_refused());
    assert!(error(403, "AuthorizationPermissionMismatch").is_role_missing());
    assert!(error(403, "AuthorizationFailure").is_network_refused());
    assert!(!error(403, "AuthorizationFailed").is_network_refused());
    assert!(error(409, "FileOAuthManagementApiRestrictedToSrp").is_restricted_to_arm());
    assert!(error(409, "ShareSnapshotCountExceeded").is_quota());
    assert!(error(409, "ContainerQuotaDowngradeNotAllowed").is_downgrade_too_early());
    assert!(error(409, "AccountBeingCreated").is_account_not_ready());
    for code in [
        "KeyBasedAuthenticationNotPermitted",
        "AuthorizationFailure",
        "AccountIsDisabled",
    ] {
        assert_eq!(error(403, code).fault(), Fault::Denied, "{code}");
    }
    for code in [
        "ShareSnapshotInProgress",
        "SharingViolation",
        "DeletePending",
    ] {
        assert_eq!(error(409, code).fault(), Fault::InProgress, "{code}");
    }
    for code in [
        "InvalidHeaderValue",
        "OutOfRangeInput",
        "FileShareProvisionedIopsInvalid",
    ] {
        assert_eq!(error(400, code).fault(), Fault::Invalid, "{code}");
    }
}

#[test]
fn the_code_of_the_header_counts_before_that_of_the_body() {
    let body = "<Error><Code>Other</Code><Message>m</Message></Error>";
    let both = answer_with(404, &[("x-ms-error-code", "ShareNotFound")], body);
    assert!(ArmError::from_response(&both).is_not_found());
    assert!(!ArmError::from_response(&answer(404, body)).is_not_found());
}
