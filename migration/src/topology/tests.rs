//! Affinity and labels, both ways.

use serde_json::{Value, json};

use super::{
    BETA_REGION, BETA_ZONE, REGION, ZONE, added, from_csi, is_number, replaced, to_csi, values,
};
use crate::error::TranslateError;

const KEY: &str = "topology.disk.csi.azure.com/zone";

fn expression(key: &str, zones: &[&str]) -> Value {
    json!({"key": key, "operator": "In", "values": zones})
}

fn pv(terms: &[Value]) -> Value {
    let terms: Vec<Value> = terms
        .iter()
        .map(|list| json!({"matchExpressions": list}))
        .collect();
    json!({
        "metadata": {"name": "t"},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}},
    })
}

fn labelled(key: &str, value: &str) -> Value {
    json!({"metadata": {"labels": {key: value}}, "spec": {}})
}

#[test]
fn numbers_are_ascii_digits_only() {
    assert!(is_number("0") && is_number("12"));
    for other in ["", " 1", "1 ", "-1", "٣", "a"] {
        assert!(!is_number(other), "{other:?}");
    }
}

#[test]
fn the_newer_zone_key_hides_the_older_one() {
    let both = pv(&[
        json!([expression(ZONE, &["a-1"])]),
        json!([
            expression(BETA_ZONE, &["a-2"]),
            expression(BETA_REGION, &["a"])
        ]),
    ]);
    let out = to_csi(KEY, &both).unwrap();
    assert_eq!(values(&out, KEY).unwrap(), ["a-1"]);
    assert_eq!(values(&out, BETA_ZONE).unwrap(), ["a-2"]);
    assert_eq!(values(&out, BETA_REGION).unwrap(), ["a"]);
}

#[test]
fn an_older_region_follows_its_zone() {
    let old = pv(&[json!([
        expression(BETA_ZONE, &["a-1"]),
        expression(BETA_REGION, &["a"])
    ])]);
    let out = to_csi(KEY, &old).unwrap();
    assert_eq!(values(&out, REGION).unwrap(), ["a"]);
}

#[test]
fn a_blank_label_adds_nothing() {
    let blank = labelled(ZONE, " ");
    assert_eq!(to_csi(KEY, &blank).unwrap(), blank);
    assert_eq!(replaced(ZONE, KEY, &blank).unwrap(), blank);
    assert_eq!(
        added(KEY, &["", "\t"], &blank),
        Err(TranslateError::NoValidZones)
    );
}

#[test]
fn every_term_gets_the_demand() {
    let two = pv(&[json!([]), json!([expression("k", &["v"])])]);
    let out = added(KEY, &["b", "a", "b"], &two).unwrap();
    for term in 0..2 {
        let path = format!("/spec/nodeAffinity/required/nodeSelectorTerms/{term}/matchExpressions");
        let list = out.pointer(&path).and_then(Value::as_array).unwrap();
        assert_eq!(list.last(), Some(&expression(KEY, &["a", "b"])));
    }
}

#[test]
fn the_way_back_writes_a_label_only_where_none_is() {
    let zoned = pv(&[json!([expression(KEY, &["a-2", "a-1"])])]);
    let back = from_csi(KEY, &zoned).unwrap();
    assert_eq!(
        back.pointer("/metadata/labels").unwrap(),
        &json!({ZONE: "a-1__a-2"})
    );
    let mut known = zoned;
    known["metadata"]["labels"] = json!({BETA_ZONE: "x"});
    let back = from_csi(KEY, &known).unwrap();
    assert_eq!(back["metadata"]["labels"], json!({BETA_ZONE: "x"}));
    assert_eq!(values(&back, BETA_ZONE).unwrap(), ["a-1", "a-2"]);
}

#[test]
fn an_affinity_of_another_shape_is_an_error() {
    for affinity in [
        json!(1),
        json!({"required": []}),
        json!({"required": {"nodeSelectorTerms": {}}}),
    ] {
        let pv = json!({"spec": {"nodeAffinity": affinity}});
        assert!(matches!(
            to_csi(KEY, &pv),
            Err(TranslateError::Malformed { .. })
        ));
    }
}
