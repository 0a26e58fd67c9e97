//! Reports that must not pass, and one that must.

use serde_json::{Value, json};

use super::{PENDING, Report, SPECS};
use crate::capabilities::{Advertised, DISK};

fn spec(text: &str, state: &str, message: &str) -> Value {
    json!({
        "ContainerHierarchyTexts": ["Controller"],
        "LeafNodeType": "It",
        "LeafNodeText": text,
        "State": state,
        "Failure": {"Message": message, "Location": {"FileName": "a/b/controller.go", "LineNumber": 7}},
    })
}

/// A good report with its first spec replaced.
fn report(first: Value) -> Report {
    let mut specs = vec![first, spec(PENDING[0], "pending", "")];
    specs.resize_with(SPECS, || spec("should work", "passed", ""));
    parse(specs, SPECS - 1)
}

fn parse(specs: Vec<Value>, run: usize) -> Report {
    let text = json!([{
        "PreRunStats": {"TotalSpecs": SPECS, "SpecsThatWillRun": run},
        "SpecialSuiteFailureReasons": null,
        "SpecReports": specs,
    }]);
    Report::parse(&text.to_string()).unwrap()
}

fn all() -> Advertised {
    DISK.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_run_in_which_all_pass_has_no_problem_and_names_what_is_pending() {
    let verdict = report(spec("should work", "passed", "")).judge(&all());
    assert_eq!(verdict.problems, Vec::<String>::new());
    assert_eq!(verdict.passed, SPECS - 1);
    assert_eq!(verdict.pending, [format!("Controller · {}", PENDING[0])]);
}

#[test]
fn a_failure_is_told_with_its_place_and_message() {
    for state in ["failed", "panicked", "timedout", "aborted", "interrupted"] {
        let verdict = report(spec("should work", state, "Expected OK\n")).judge(&all());
        assert_eq!(
            verdict.problems,
            [format!(
                "Controller · should work ({state}, controller.go:7): Expected OK"
            )]
        );
    }
}

#[test]
fn a_skip_of_something_advertised_fails_and_of_something_absent_does_not() {
    let skip = |message: &str| report(spec("should list", "skipped", message)).judge(&all());
    assert_eq!(skip("ListVolumes not supported").problems.len(), 1);
    assert_eq!(
        skip("testnodevolumeattachlimit not enabled").problems.len(),
        1
    );
    let group = skip("GroupControllerService not supported");
    assert!(group.problems.is_empty());
    assert_eq!(
        group.excused.get("plugin/GROUP_CONTROLLER_SERVICE"),
        Some(&1)
    );
}

#[test]
fn a_spec_that_was_filtered_out_or_lost_fails_the_run() {
    let good = || spec("should work", "passed", "");
    let mut filtered = vec![spec(PENDING[0], "pending", "")];
    filtered.resize_with(SPECS, good);
    assert_eq!(parse(filtered, SPECS - 2).judge(&all()).problems.len(), 1);
    let lost = vec![good(); 3];
    assert_eq!(parse(lost, SPECS - 1).judge(&all()).problems.len(), 1);
}

#[test]
fn a_spec_that_becomes_pending_fails_the_run() {
    let verdict = report(spec("should attach", "pending", "")).judge(&all());
    assert_eq!(
        verdict.problems,
        ["Controller · should attach: pending, but not known to be"]
    );
}

#[test]
fn a_failure_outside_of_the_specs_fails_the_run() {
    let mut node = spec("", "failed", "no connection");
    node["LeafNodeType"] = json!("BeforeSuite");
    let mut specs = vec![node, spec(PENDING[0], "pending", "")];
    specs.resize_with(SPECS + 1, || spec("should work", "passed", ""));
    let verdict = parse(specs, SPECS - 1).judge(&all());
    assert_eq!(
        verdict.problems,
        ["Controller · BeforeSuite (failed, controller.go:7): no connection"]
    );
}
