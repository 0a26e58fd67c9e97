//! The new objects. Pure.

pub mod claim;
pub mod class;
pub mod volume;

use serde_json::{Map, Value};

use crate::value::child;

/// Members of `metadata` that only the server writes.
const SERVER: [&str; 9] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "finalizers",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
];

/// The annotation of `kubectl apply`, which would undo the conversion.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A copy without what only the server writes, ready to be created.
#[must_use]
pub fn bare(object: &Value) -> Value {
    let mut copy = object.clone();
    if let Some(members) = copy.as_object_mut() {
        members.remove("status");
    }
    let metadata = child(&mut copy, "metadata");
    for field in SERVER {
        metadata.remove(field);
    }
    drop_annotations(&mut copy, &[LAST_APPLIED]);
    copy
}

/// Removes annotations, and the member itself when none is left.
pub(crate) fn drop_annotations(object: &mut Value, keys: &[&str]) {
    let metadata = child(object, "metadata");
    let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    for key in keys {
        annotations.remove(*key);
    }
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

pub(crate) fn annotate(object: &mut Value, key: &str, value: &str) {
    let metadata = child(object, "metadata");
    let slot = metadata
        .entry("annotations")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(annotations) = slot.as_object_mut() {
        annotations.insert(key.to_owned(), value.into());
    }
}
