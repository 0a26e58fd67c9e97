//! Reading request bodies: what is there must have the right form.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::ArmError;

fn wrong(name: &str) -> ArmError {
    let message = format!("The value of parameter {name} is invalid.");
    ArmError::parameter(name, message)
}

/// An object below a body; nothing when it is left out or null.
pub(crate) fn object<'a>(
    body: &'a Value,
    name: &str,
) -> Result<Option<&'a Map<String, Value>>, ArmError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(_) => Err(wrong(name)),
    }
}

/// `properties` of a body, or nothing in it.
pub(crate) fn properties(body: &Value) -> Result<Map<String, Value>, ArmError> {
    Ok(object(body, "properties")?.cloned().unwrap_or_default())
}

pub(crate) fn text<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a str>, ArmError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(name)),
    }
}

pub(crate) fn number(fields: &Map<String, Value>, name: &str) -> Result<Option<u64>, ArmError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| wrong(name)),
    }
}

pub(crate) fn flag(fields: &Map<String, Value>, name: &str) -> Result<Option<bool>, ArmError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(wrong(name)),
    }
}

/// Tags of a body; `None` when it says nothing of tags.
pub(crate) fn tags(body: &Value) -> Result<Option<BTreeMap<String, String>>, ArmError> {
    let Some(fields) = object(body, "tags")? else {
        return Ok(None);
    };
    if fields.len() > 50 {
        return Err(ArmError::bad_request(
            "InvalidTags",
            "The number of tags must not be above 50.",
        ));
    }
    let mut tags = BTreeMap::new();
    for (name, value) in fields {
        match value {
            Value::String(value) if name.len() <= 512 && value.len() <= 256 => {
                tags.insert(name.clone(), value.clone());
            }
            Value::Null => {}
            _ => {
                let message = format!("The tag '{name}' is not valid.");
                return Err(ArmError::bad_request("InvalidTagNameOrValue", message));
            }
        }
    }
    Ok(Some(tags))
}

/// The one zone of a body.
pub(crate) fn zones(body: &Value) -> Result<Vec<String>, ArmError> {
    let Some(zones) = body.get("zones").filter(|zones| !zones.is_null()) else {
        return Ok(Vec::new());
    };
    let list = zones.as_array().ok_or_else(|| wrong("zones"))?;
    list.iter()
        .map(|zone| {
            zone.as_str()
                .map(str::to_owned)
                .ok_or_else(|| wrong("zones"))
        })
        .collect()
}
