//! Tests of `lro`.

use std::time::Duration;

use azcsi_types::fault::{Fault, Faulty as _};
use bytes::Bytes;
use http::{Method, Response};

use super::{Start, Step, Watch, begin, judge, pace};
use crate::testing::{answer, answer_with};

const U: &str = "https://a/op";

fn start(method: &Method, response: &Response<Bytes>) -> String {
    match begin(method, response) {
        Ok(Start::Done) => "done".to_owned(),
        Ok(Start::Running(Watch::Status { .. })) => "status".to_owned(),
        Ok(Start::Running(Watch::Location { .. })) => "location".to_owned(),
        Ok(Start::Running(Watch::Resource)) => "resource".to_owned(),
        Err(_) => "error".to_owned(),
    }
}

#[test]
fn the_first_answer_tells_where_to_look() {
    let busy = r#"{"properties":{"provisioningState":"Updating"}}"#;
    let done = r#"{"properties":{"provisioningState":"Succeeded"}}"#;
    let status = [("azure-asyncoperation", U)];
    let location = [("location", U)];
    let both = [("location", U), ("azure-asyncoperation", U)];
    for (method, code, headers, body, expected) in [
        (Method::PUT, 202, &both[..], busy, "status"),
        (Method::PUT, 201, &status, busy, "status"),
        (Method::PUT, 200, &status, done, "done"),
        (Method::PUT, 202, &location, "", "location"),
        (Method::PATCH, 200, &[], busy, "resource"),
        (Method::PATCH, 200, &[], done, "done"),
        (Method::PUT, 202, &[], "", "resource"),
        (Method::PUT, 200, &[], "{}", "done"),
        (Method::POST, 200, &[], "{}", "done"),
        (Method::POST, 202, &location, "", "location"),
        (Method::POST, 202, &[], "", "error"),
        (Method::DELETE, 202, &both, "", "status"),
        (Method::DELETE, 202, &[], "", "error"),
        (Method::DELETE, 204, &[], "", "done"),
        (Method::DELETE, 200, &[], "", "done"),
    ] {
        let response = answer_with(code, headers, body);
        assert_eq!(
            start(&method, &response),
            expected,
            "{method} {code} {body}"
        );
    }
}

fn step(watch: &Watch, response: &Response<Bytes>) -> String {
    match judge(watch, response) {
        Step::Running => "running".to_owned(),
        Step::Moved(_) => "moved".to_owned(),
        Step::Succeeded(None) => "succeeded".to_owned(),
        Step::Succeeded(Some(_)) => "succeeded with".to_owned(),
        Step::Failed(error) => error.code().to_owned(),
        Step::Forgotten => "forgotten".to_owned(),
    }
}

#[test]
fn a_status_document_is_read_whatever_its_case() {
    let watch = Watch::Status {
        url: U.to_owned(),
        result: None,
    };
    for (code, body, expected) in [
        (200, r#"{"status":"InProgress"}"#, "running"),
        (202, "", "running"),
        (200, r#"{"status":"SUCCEEDED"}"#, "succeeded"),
        (
            200,
            r#"{"status":"Succeeded","properties":{"output":{}}}"#,
            "succeeded",
        ),
        (
            200,
            r#"{"status":"Succeeded","properties":{"output":{"id":"x"}}}"#,
            "succeeded with",
        ),
        (200, r#"{"status":"Failed","error":{"code":"X"}}"#, "X"),
        (
            200,
            r#"{"status":"Canceled","error":{"code":"OperationPreempted"}}"#,
            "OperationPreempted",
        ),
        (200, r#"{"status":"Cancelled"}"#, "OperationCancelled"),
        (200, "{}", ""),
        (429, "", "running"),
        (500, "", "running"),
        (503, "<html>", "running"),
        (404, "", "forgotten"),
        (410, "", "forgotten"),
        (
            403,
            r#"{"error":{"code":"AuthorizationFailed"}}"#,
            "AuthorizationFailed",
        ),
    ] {
        assert_eq!(step(&watch, &answer(code, body)), expected, "{code} {body}");
    }
}

#[test]
fn a_refused_look_at_an_operation_says_nothing_of_its_end() {
    let refused = answer(403, r#"{"error":{"code":"AuthorizationFailed"}}"#);
    let status = Watch::Status {
        url: U.to_owned(),
        result: None,
    };
    let result = Watch::Location { url: U.to_owned() };
    for (watch, doubt) in [(status, true), (Watch::Resource, true), (result, false)] {
        let Step::Failed(error) = judge(&watch, &refused) else {
            panic!("{watch:?}");
        };
        assert_eq!(error.is_in_doubt(), doubt, "{watch:?}");
        assert_eq!(error.fault() == Fault::Unavailable, doubt, "{watch:?}");
    }
}

#[test]
fn a_result_address_is_followed_when_it_moves() {
    let watch = Watch::Location { url: U.to_owned() };
    for (code, location, body, expected) in [
        (202, U, "", "running"),
        (202, "https://a/other", "", "moved"),
        (200, U, r#"{"dataDisks":[]}"#, "succeeded with"),
        (204, U, "", "succeeded"),
        (
            200,
            U,
            r#"{"properties":{"provisioningState":"Creating"}}"#,
            "running",
        ),
        (
            200,
            U,
            r#"{"properties":{"provisioningState":"Failed"}}"#,
            "OperationFailed",
        ),
        (200, U, r#"{"status":"InProgress"}"#, "running"),
        (409, U, r#"{"error":{"code":"Conflict"}}"#, "Conflict"),
        (502, U, "", "running"),
        (404, U, "", "forgotten"),
    ] {
        let response = answer_with(code, &[("location", location)], body);
        assert_eq!(
            step(&watch, &response),
            expected,
            "{code} {location} {body}"
        );
    }
}

#[test]
fn the_resource_itself_tells_by_its_state() {
    for (code, body, expected) in [
        (
            200,
            r#"{"properties":{"provisioningState":"Updating"}}"#,
            "running",
        ),
        (
            200,
            r#"{"properties":{"provisioningState":"ResolvingDNS"}}"#,
            "running",
        ),
        (
            200,
            r#"{"properties":{"provisioningState":"Succeeded"}}"#,
            "succeeded with",
        ),
        (
            200,
            r#"{"properties":{"provisioningState":"Failed"}}"#,
            "OperationFailed",
        ),
        (200, "{}", "succeeded with"),
        (201, "{}", "running"),
        (
            404,
            r#"{"error":{"code":"ResourceNotFound"}}"#,
            "ResourceNotFound",
        ),
    ] {
        assert_eq!(
            step(&Watch::Resource, &answer(code, body)),
            expected,
            "{code} {body}"
        );
    }
}

#[test]
fn polls_begin_fast_and_slow_down_unless_azure_says_when() {
    let own: Vec<u128> = (0..8).map(|i| pace(i, None, false).as_millis()).collect();
    assert_eq!(own, [200, 800, 1500, 2500, 4000, 5000, 5000, 5000]);
    let behind: Vec<u128> = (0..2).map(|i| pace(i, None, true).as_millis()).collect();
    assert_eq!(behind, [5000, 5000]);
    let asked = |s| pace(0, Some(Duration::from_secs(s)), false).as_secs();
    assert_eq!([0, 1, 30, 3600].map(asked), [1, 1, 30, 60]);
}
