//! Tests of `error`.

use azcsi_types::fault::{Fault, Faulty};

use super::ArmError;
use crate::testing::{answer, answer_with};

fn error(status: u16, body: &str) -> ArmError {
    ArmError::from_response(&answer(status, body))
}

#[test]
fn every_shape_of_body_is_read_au_10() {
    for (body, code, message) in [
        (
            r#"{"error":{"code":"A","message":"say \"x\"\r\n\u0027y\u0027"}}"#,
            "A",
            "say \"x\"\r\n'y'",
        ),
        (r#"{"code":"A","message":"flat"}"#, "A", "flat"),
        (r#"{"Code":"A","Message":"Flat"}"#, "A", "Flat"),
        (
            r#"{"odata.error":{"code":"A","message":{"lang":"en","value":"o"}}}"#,
            "A",
            "o",
        ),
        (
            r#"{"error":"invalid_client","error_description":"no"}"#,
            "invalid_client",
            "no",
        ),
        (
            "\u{feff}<?xml version=\"1.0\"?><Error><Code>A</Code><Message>m</Message></Error>",
            "A",
            "m",
        ),
        (
            "<html><head><title>502 Bad Gateway</title></head></html>",
            "",
            "502 Bad Gateway",
        ),
        ("", "", ""),
        ("plain words", "", "plain words"),
        ("null", "", ""),
        (r#"{"error":null}"#, "", ""),
        (r#"{"error":{"code":7}}"#, "", ""),
    ] {
        let error = error(400, body);
        assert_eq!((error.code(), error.message()), (code, message), "{body}");
    }
}

#[test]
fn nested_codes_are_found_at_every_level() {
    let body = r#"{"error":{"code":"OperationNotAllowed","message":"m","details":[{"code":"TooManyRequests","target":"UpdateVMResource","message":"{\"operationGroup\":\"UpdateVMResource\"}"}]}}"#;
    let throttled = error(409, body);
    assert!(throttled.is_throttled());
    assert_eq!(
        throttled.details()[0].target.as_deref(),
        Some("UpdateVMResource")
    );

    let wrapped = r#"{"error":{"code":"DeploymentFailed","message":"{\"error\":{\"code\":\"SkuNotAvailable\",\"message\":\"none\"}}"}}"#;
    assert!(error(409, wrapped).is_quota());
    let inner = r#"{"error":{"code":"X","innererror":{"code":"OperationPreempted"},"additionalInfo":[{"type":"PolicyViolation","info":{"a":1}}]}}"#;
    assert!(error(409, inner).is_preempted());
    assert!(error(409, inner).has_code("policyviolation"));
}

#[test]
fn ids_and_pauses_come_from_the_headers() {
    let headers = [
        ("x-ms-error-code", "H"),
        ("x-ms-request-id", "r"),
        ("x-ms-correlation-request-id", "c"),
        ("x-ms-failure-cause", "gateway"),
        ("retry-after", "7"),
    ];
    let error = ArmError::from_response(&answer_with(503, &headers, r#"{"code":"B"}"#));
    assert_eq!(error.code(), "H");
    assert_eq!(error.request_id(), Some("r"));
    assert_eq!(error.retry_after().unwrap().as_secs(), 7);
    assert!(error.is_from_gateway() && error.is_throttled());
    assert!(error.to_string().ends_with("(correlation id c)"));
}

#[test]
fn secrets_in_a_message_do_not_show() {
    let body = r#"{"error":{"code":"A","message":"see https://x/y?sv=1&sig=geheim&se=2"}}"#;
    let error = error(400, body);
    assert!(!format!("{error} {error:?}").contains("geheim"));
}

const MAX: &str =
    "The maximum number of data disks allowed to be attached to a VM of this size is 8.";
const OWNED: &str = "Disk is already owned by VM '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v'.";

/// Status, code, message and what a caller may conclude.
const FAULTS: [(u16, &str, &str, Fault); 25] = [
    (404, "ResourceNotFound", "", Fault::NotFound),
    (404, "ParentResourceNotFound", "", Fault::NotFound),
    (404, "SubscriptionNotFound", "", Fault::Unavailable),
    (400, "InvalidParameter", "too big", Fault::Invalid),
    (
        400,
        "InvalidParameter",
        "A disk at LUN 0 already exists.",
        Fault::InProgress,
    ),
    (
        400,
        "InvalidParameter",
        "only when additionalCapabilities.ultraSSDEnabled is set.",
        Fault::Precondition,
    ),
    (
        400,
        "InvalidParameter",
        "The provided instanceId 7 is not an active Virtual Machine Scale Set VM instanceId.",
        Fault::NotFound,
    ),
    (
        400,
        "BadRequest",
        "cannot be attached to the VM because it is not in zone '1'.",
        Fault::Precondition,
    ),
    (
        401,
        "ExpiredAuthenticationToken",
        "",
        Fault::Unauthenticated,
    ),
    (403, "AuthorizationFailed", "", Fault::Denied),
    (403, "RequestDisallowedByPolicy", "", Fault::Denied),
    (408, "", "", Fault::Unavailable),
    (409, "AttachDiskWhileBeingDetached", "", Fault::InProgress),
    (409, "ConflictingUserInput", OWNED, Fault::Precondition),
    (409, "OperationNotAllowed", MAX, Fault::Exhausted),
    (
        409,
        "OperationNotAllowed",
        "exceeding approved Total Regional Cores quota",
        Fault::Exhausted,
    ),
    (
        409,
        "OperationNotAllowed",
        "Disk X is attached to VM",
        Fault::Precondition,
    ),
    (409, "SkuNotAvailable", "", Fault::Exhausted),
    (409, "ScopeLocked", "", Fault::Precondition),
    (
        409,
        "Conflict",
        "conflict with a concurrent request",
        Fault::InProgress,
    ),
    (412, "PreconditionFailed", "", Fault::InProgress),
    (429, "TooManyRequests", "", Fault::Unavailable),
    (500, "InternalServerError", "", Fault::Unavailable),
    (502, "", "", Fault::Unavailable),
    (503, "", "", Fault::Unavailable),
];

#[test]
fn each_answer_has_its_fault() {
    for (status, code, message, fault) in FAULTS {
        let body = format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
        assert_eq!(
            error(status, &body).fault(),
            fault,
            "{status} {code} {message}"
        );
    }
}

#[test]
fn the_facts_inside_a_message_are_read() {
    let full = error(
        409,
        r#"{"error":{"code":"OperationNotAllowed","message":"The maximum number of data disks allowed to be attached to a VM of this size is 64."}}"#,
    );
    assert_eq!(full.max_data_disks(), Some(64));
    let id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/x/virtualMachines/3";
    let body = format!(
        r#"{{"error":{{"code":"ConflictingUserInput","message":"Disk '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d' cannot be attached as the disk is already owned by VM '{id}'."}}}}"#
    );
    assert_eq!(error(409, &body).owner_vm().unwrap().to_string(), id);
    assert!(
        error(
            409,
            r#"{"error":{"code":"OperationNotAllowed","message":"marked for deletion"}}"#
        )
        .is_vmss_instance_gone()
    );
    let denied = r#"{"error":{"code":"AuthorizationFailed","message":"The client does not have authorization to perform action 'Microsoft.Compute/virtualMachines/attachDetachDataDisks/action'"}}"#;
    assert!(error(403, denied).is_action_unavailable());
    assert!(
        !error(
            403,
            r#"{"error":{"code":"AuthorizationFailed","message":"virtualMachines/write"}}"#
        )
        .is_action_unavailable()
    );
}

proptest::proptest! {
    #[test]
    fn no_body_makes_it_panic(status in 400_u16..600, body in ".{0,400}") {
        let error = error(status, &body);
        let _ = (error.fault(), error.max_data_disks(), error.owner_vm(), error.to_string());
    }
}
