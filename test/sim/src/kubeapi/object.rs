//! What the API server does to the metadata of every object.

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::error::ApiError;
use super::resources::{Part, Target};

/// Checks that a body is an object of the target's kind and place, and fills in what may be left
/// out.
///
/// # Errors
/// For another kind, another name or namespace, or something that is no object.
pub fn admit(target: &Target, mut body: Value) -> Result<Value, ApiError> {
    let resource = target.resource;
    let fields = body
        .as_object_mut()
        .ok_or_else(|| ApiError::BadRequest("the body is not an object".to_owned()))?;
    let version = resource.api_version();
    for (field, expected) in [("kind", resource.kind), ("apiVersion", version.as_str())] {
        let found = fields.entry(field).or_insert_with(|| json!(expected));
        if found != expected {
            return Err(ApiError::BadRequest(format!(
                "{field} {found} does not match the URL: expected {expected:?}"
            )));
        }
    }
    let metadata = metadata_of(fields)?;
    if resource.namespaced && target.namespace.is_none() {
        return Err(ApiError::BadRequest(
            "the URL names no namespace".to_owned(),
        ));
    }
    for (field, expected) in [("namespace", &target.namespace), ("name", &target.name)] {
        let Some(expected) = expected else { continue };
        let found = metadata.entry(field).or_insert_with(|| json!(expected));
        if found != expected {
            return Err(ApiError::BadRequest(format!(
                "metadata.{field} {found} does not match the URL: expected {expected:?}"
            )));
        }
    }
    if resource.kind == "Secret" {
        encode_string_data(fields);
    }
    Ok(body)
}

fn metadata_of(fields: &mut Map<String, Value>) -> Result<&mut Map<String, Value>, ApiError> {
    fields
        .entry("metadata")
        .or_insert_with(|| json!({}))
        .as_object_mut()
        .ok_or_else(|| ApiError::BadRequest("metadata is not an object".to_owned()))
}

/// `stringData` is write-only sugar for `data`.
fn encode_string_data(fields: &mut Map<String, Value>) {
    let Some(Value::Object(plain)) = fields.remove("stringData") else {
        return;
    };
    let data = fields.entry("data").or_insert_with(|| json!({}));
    for (key, value) in plain {
        if let (Some(data), Some(text)) = (data.as_object_mut(), value.as_str()) {
            data.insert(key, json!(STANDARD.encode(text)));
        }
    }
}

/// The name of a new object, made from `generateName` when there is none.
///
/// # Errors
/// When there is neither, or the name is not one.
pub fn name_for_create(body: &mut Value) -> Result<String, ApiError> {
    if let Some(prefix) = string(body, "generateName").filter(|_| name(body).is_empty()) {
        let tail: String = uuid::Uuid::new_v4()
            .simple()
            .to_string()
            .chars()
            .take(5)
            .collect();
        set(body, "name", json!(format!("{prefix}{tail}")));
    }
    let name = name(body);
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    if name.is_empty() || name.len() > 253 || !name.chars().all(valid) {
        return Err(ApiError::Invalid(format!(
            "metadata.name: Invalid value: {name:?}: a lowercase RFC 1123 subdomain is required"
        )));
    }
    Ok(name.to_owned())
}

/// What only the server sets on a new object.
pub fn stamp_new(body: &mut Value, wall: SystemTime) {
    set(body, "uid", json!(uuid::Uuid::new_v4().to_string()));
    set(body, "creationTimestamp", json!(timestamp(wall)));
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("deletionTimestamp");
        metadata.remove("resourceVersion");
    }
}

/// What no writer can change.
pub fn keep_identity(next: &mut Value, current: &Value) {
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
    ] {
        match current.pointer(&format!("/metadata/{field}")) {
            Some(kept) => set(next, field, kept.clone()),
            None => {
                if let Some(metadata) = next.get_mut("metadata").and_then(Value::as_object_mut) {
                    metadata.remove(field);
                }
            }
        }
    }
}

/// The part of `next` that this request may write, over `current`. The status can only be written
/// through its subresource by name; the other way round the stub lets a whole write set it, since
/// the drivers' peers expect either.
#[must_use]
pub fn only(part: Part, current: &Value, next: Value) -> Value {
    if part == Part::Whole {
        return next;
    }
    let mut result = current.clone();
    set(&mut result, "resourceVersion", json!(version(&next)));
    if let (Some(fields), Some(status)) = (result.as_object_mut(), next.get("status")) {
        fields.insert("status".to_owned(), status.clone());
    }
    result
}

/// Marks an object that its finalizers keep alive.
pub fn mark_deleted(body: &mut Value, wall: SystemTime) {
    set(body, "deletionTimestamp", json!(timestamp(wall)));
    set(body, "deletionGracePeriodSeconds", json!(0));
}

/// Whether a deletion's preconditions hold.
#[must_use]
pub fn meets(current: &Value, preconditions: Option<&Value>) -> bool {
    let Some(wanted) = preconditions else {
        return true;
    };
    ["uid", "resourceVersion"]
        .iter()
        .all(|field| match wanted.get(field) {
            Some(Value::String(value)) => string(current, field).is_some_and(|is| is == *value),
            _ => true,
        })
}

/// How many finalizers there are.
#[must_use]
pub fn finalizers(body: &Value) -> usize {
    body.pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
}

/// Whether a deletion waits for finalizers.
#[must_use]
pub fn is_being_deleted(body: &Value) -> bool {
    body.pointer("/metadata/deletionTimestamp").is_some()
}

/// `metadata.name`, or nothing.
#[must_use]
pub fn name(body: &Value) -> &str {
    body.pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// `metadata.namespace`, or nothing.
#[must_use]
pub fn namespace(body: &Value) -> &str {
    body.pointer("/metadata/namespace")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// `metadata.resourceVersion`, or nothing.
#[must_use]
pub fn version(body: &Value) -> &str {
    body.pointer("/metadata/resourceVersion")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Sets the version.
pub fn set_version_text(body: &mut Value, version: &str) {
    set(body, "resourceVersion", json!(version));
}

fn string(body: &Value, field: &str) -> Option<String> {
    body.pointer(&format!("/metadata/{field}"))
        .and_then(Value::as_str)
        .map(str::to_owned)
}

fn set(body: &mut Value, field: &str, value: Value) {
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(field.to_owned(), value);
    }
}

/// Kubernetes times have whole seconds.
fn timestamp(wall: SystemTime) -> String {
    let now = OffsetDateTime::from(wall);
    now.replace_nanosecond(0)
        .unwrap_or(now)
        .format(&Rfc3339)
        .unwrap_or_default()
}
