//! A StorageClass of the in-tree disk plugin in CSI's terms.

use serde_json::{Value, json};

use super::ZONE_KEY;
use crate::error::TranslateError;
use crate::fields::{Node, Object, lowered};
use crate::mode::Mode;
use crate::topology;

pub(crate) fn class(mode: Mode, class: &Value) -> Result<Value, TranslateError> {
    let document = Node::document(class, "class")?;
    let Split { zones, rest } = Split::of(mode, document.child("parameters")?)?;
    let terms = document.list("allowedTopologies")?;
    let terms = match zones {
        Some(_) if !terms.is_empty() => return Err(TranslateError::ZonesAndTopologies),
        Some(zones) => vec![json!({
            "matchLabelExpressions": [{"key": ZONE_KEY, "values": zones}],
        })],
        None => topology::allowed::renamed(ZONE_KEY, terms)?,
    };
    let terms = topology::allowed::unzoned(ZONE_KEY, terms)?;
    let mut copy = class.clone();
    if let Value::Object(object) = &mut copy {
        // Parameters that held nothing but zones stay as an empty map.
        if object.get("parameters").is_some_and(Value::is_object) {
            object.insert("parameters".to_owned(), Value::Object(rest));
        } else {
            replace(object, "parameters", Value::Object(rest));
        }
        replace(object, "allowedTopologies", Value::Array(terms));
    }
    Ok(copy)
}

/// Sets a member, or removes it when there is nothing to say.
fn replace(object: &mut Object, key: &str, value: Value) {
    let empty = match &value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    if empty {
        object.remove(key);
    } else {
        object.insert(key.to_owned(), value);
    }
}

/// The parameters, zones apart.
struct Split {
    zones: Option<Vec<String>>,
    rest: Object,
}

impl Split {
    fn of(mode: Mode, parameters: Node<'_>) -> Result<Self, TranslateError> {
        let (mut zone, mut zones, mut rest) = (None, None, Object::new());
        for (key, value) in parameters.strings()? {
            match lowered(key).as_str() {
                "zone" => note(mode, &mut zone, "zone", vec![value.to_owned()])?,
                "zones" => {
                    let list = value.split(',').map(str::to_owned).collect();
                    note(mode, &mut zones, "zones", list)?;
                }
                "kind" if mode == Mode::Strict && !value.eq_ignore_ascii_case("managed") => {
                    return Err(TranslateError::UnsupportedKind(value.to_owned()));
                }
                _ => {
                    rest.insert(key.to_owned(), json!(value));
                }
            }
        }
        // With both, upstream keeps whichever its map yields last.
        if mode == Mode::Strict && zone.is_some() && zones.is_some() {
            return Err(TranslateError::ZoneAndZones);
        }
        let found = zones.or(zone);
        let zones = match mode {
            Mode::Compat => found,
            Mode::Strict => found.map(tidy),
        };
        Ok(Self { zones, rest })
    }
}

fn note(
    mode: Mode,
    slot: &mut Option<Vec<String>>,
    key: &str,
    value: Vec<String>,
) -> Result<(), TranslateError> {
    let other = slot.as_ref().is_some_and(|before| *before != value);
    if mode == Mode::Strict && other {
        return Err(TranslateError::CaseDuplicate(key.to_owned()));
    }
    *slot = Some(value);
    Ok(())
}

/// Trimmed, each once, and nothing empty unless nothing else is there.
fn tidy(zones: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for zone in &zones {
        // Numbers are fault domains of a region without zones; they all become the same.
        let zone = match zone.trim() {
            number if topology::is_number(number) => "0",
            name => name,
        };
        if !zone.is_empty() && !out.iter().any(|known| known == zone) {
            out.push(zone.to_owned());
        }
    }
    if out.is_empty() {
        vec![String::new()]
    } else {
        out
    }
}
