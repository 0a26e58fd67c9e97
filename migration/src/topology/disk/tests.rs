//! Old affinities in the disk driver's terms.

use serde_json::{Value, json};

use super::super::{BETA_REGION, BETA_ZONE, REGION, ZONE};
use super::{ZONE_KEY, rewritten};
use crate::error::TranslateError;

fn within(key: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": "In", "values": values})
}

fn pv(terms: &[Value]) -> Value {
    let terms: Vec<Value> = terms
        .iter()
        .map(|list| json!({"matchExpressions": list}))
        .collect();
    json!({"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}})
}

fn terms(pv: &Value) -> Value {
    let terms = pv.pointer("/spec/nodeAffinity/required/nodeSelectorTerms");
    let lists = terms.and_then(Value::as_array).unwrap().iter();
    lists.map(|term| term["matchExpressions"].clone()).collect()
}

#[test]
fn a_zone_makes_its_region_superfluous() {
    for (zone, region) in [(ZONE, REGION), (BETA_ZONE, BETA_REGION)] {
        let old = pv(&[json!([
            within(region, &["UKSouth"]),
            within(zone, &["UKSouth-1"])
        ])]);
        let new = rewritten(&old).unwrap();
        assert_eq!(terms(&new), json!([[within(ZONE_KEY, &["uksouth-1"])]]));
    }
}

#[test]
fn three_fault_domains_are_one_empty_zone_and_keep_the_region() {
    let old: Vec<Value> = ["0", "1", "2"]
        .iter()
        .map(|n| json!([within(BETA_REGION, &["uksouth"]), within(BETA_ZONE, &[n])]))
        .collect();
    let new = rewritten(&pv(&old)).unwrap();
    assert_eq!(
        terms(&new),
        json!([[within(REGION, &["uksouth"]), within(ZONE_KEY, &[""])]])
    );
    assert_eq!(rewritten(&new).unwrap(), new);
}

#[test]
fn a_label_stands_in_for_an_affinity() {
    let labelled = json!({"metadata": {"labels": {
        BETA_ZONE: "a-2__a-1", BETA_REGION: "a",
    }}, "spec": {}});
    let new = rewritten(&labelled).unwrap();
    assert_eq!(terms(&new), json!([[within(ZONE_KEY, &["a-2", "a-1"])]]));
    let fault_domain = json!({"metadata": {"labels": {ZONE: "0", REGION: "a"}}});
    assert_eq!(
        terms(&rewritten(&fault_domain).unwrap()),
        json!([[within(ZONE_KEY, &[""]), within(REGION, &["a"])]])
    );
}

#[test]
fn other_keys_and_volumes_without_a_place_pass() {
    let custom = json!({"key": "team", "operator": "Exists"});
    let old = pv(&[json!([custom, within(ZONE, &["a-1"])])]);
    assert_eq!(
        terms(&rewritten(&old).unwrap()),
        json!([[custom, within(ZONE_KEY, &["a-1"])]])
    );
    let nowhere = json!({"spec": {"other": 1}});
    assert_eq!(rewritten(&nowhere).unwrap(), nowhere);
}

#[test]
fn what_cannot_be_derived_is_left_to_a_person() {
    let exists = json!({"key": ZONE, "operator": "Exists"});
    for term in [
        json!([within(ZONE, &["a-1", "0"])]),
        json!([within(ZONE, &["somewhere"])]),
        json!([within(ZONE, &["a-1"]), within(BETA_ZONE, &["a-2"])]),
        json!([exists]),
    ] {
        let error = rewritten(&pv(std::slice::from_ref(&term))).unwrap_err();
        assert!(
            matches!(error, TranslateError::TopologyUndecided(_)),
            "{term}: {error}"
        );
    }
}
