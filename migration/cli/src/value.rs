//! Reading JSON objects of Kubernetes by path.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// A string, or nothing.
#[must_use]
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The name.
#[must_use]
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// The namespace, or nothing.
#[must_use]
pub fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

/// The unique id.
#[must_use]
pub fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

/// The version.
#[must_use]
pub fn version(object: &Value) -> &str {
    text(object, "/metadata/resourceVersion")
}

/// The reclaim policy of a PersistentVolume.
#[must_use]
pub fn policy(volume: &Value) -> &str {
    text(volume, "/spec/persistentVolumeReclaimPolicy")
}

/// An annotation, or nothing.
#[must_use]
pub fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    let found = object
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(key));
    found.and_then(Value::as_str).unwrap_or_default()
}

/// A list, or nothing.
#[must_use]
pub fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The strings of a list.
pub fn strings<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> {
    list(object, pointer).iter().filter_map(Value::as_str)
}

/// Whether a deletion waits for something.
#[must_use]
pub fn is_going(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

/// The member object, made when absent.
pub(crate) fn child<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let slot = &mut object[key];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object above"),
    }
}

/// The first hexadecimal digits of the SHA-256 of a JSON value, whose members are sorted.
#[must_use]
pub fn hash(value: &Value) -> String {
    Sha256::digest(value.to_string())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A short name for something long, for names of objects.
#[must_use]
pub fn short(text: &str) -> String {
    let mut hex = hash(&Value::String(text.to_owned()));
    hex.truncate(16);
    hex
}
