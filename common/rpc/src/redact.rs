//! What a logged request may show.
//!
//! A message is rendered from its bytes with the names of the compiled `csi.proto`, so nothing can
//! slip through a derived `Debug`. Left out are the fields marked secret by CSI, mount flags (which
//! may hold passwords), and the values of map keys that sound like a credential, among them the
//! service account tokens that Kubernetes puts into the volume context. Fields that the compiled
//! interface does not know are not shown at all.

mod schema;

use std::fmt::Write as _;

use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};

use schema::{Field, Kind, SCHEMA};

/// Longest rendered message, in bytes.
const LIMIT: usize = 4096;

/// What stands in the place of a hidden value.
const HIDDEN: &str = "***";

/// The fields that CSI marks as secret (`csi_secret`): message and field.
const SECRET_FIELDS: [(&str, &str); 22] = [
    ("CreateVolumeRequest", "secrets"),
    ("DeleteVolumeRequest", "secrets"),
    ("ControllerPublishVolumeRequest", "secrets"),
    ("ControllerUnpublishVolumeRequest", "secrets"),
    ("ValidateVolumeCapabilitiesRequest", "secrets"),
    ("ControllerListVolumeHealthRequest", "secrets"),
    ("ControllerGetVolumeHealthRequest", "secrets"),
    ("ControllerModifyVolumeRequest", "secrets"),
    ("CreateSnapshotRequest", "secrets"),
    ("DeleteSnapshotRequest", "secrets"),
    ("ListSnapshotsRequest", "secrets"),
    ("GetSnapshotRequest", "secrets"),
    ("ControllerExpandVolumeRequest", "secrets"),
    ("NodeStageVolumeRequest", "secrets"),
    ("NodePublishVolumeRequest", "secrets"),
    ("NodeGetStorageHealthRequest", "secrets"),
    ("NodeExpandVolumeRequest", "secrets"),
    ("CreateVolumeGroupSnapshotRequest", "secrets"),
    ("DeleteVolumeGroupSnapshotRequest", "secrets"),
    ("GetVolumeGroupSnapshotRequest", "secrets"),
    ("GetMetadataAllocatedRequest", "secrets"),
    ("GetMetadataDeltaRequest", "secrets"),
];

/// Not marked by CSI, but warned of.
const SENSITIVE_FIELDS: [(&str, &str); 1] = [("VolumeCapability.MountVolume", "mount_flags")];

/// Parts of map keys whose values are hidden, in lower case.
const SENSITIVE_KEYS: [&str; 5] = ["token", "password", "secret", "accountkey", "credential"];

fn is_hidden(message: &str, field: &str) -> bool {
    let mut hidden = SECRET_FIELDS.iter().chain(&SENSITIVE_FIELDS);
    hidden.any(|&(owner, name)| owner == message && name == field)
}

/// Renders `message`, whose name in `csi.proto` is `name`, for the log.
#[must_use]
pub fn render(name: &str, message: &impl Message) -> String {
    render_bytes(name, &message.encode_to_vec())
}

fn render_bytes(name: &str, bytes: &[u8]) -> String {
    let mut text = String::new();
    if message(&mut text, name, bytes).is_none() {
        // Our own encoding always parses; if it did not, nothing of it may be shown.
        return String::from("{unreadable}");
    }
    if text.len() > LIMIT {
        let mut end = LIMIT;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}

fn message(text: &mut String, name: &str, mut bytes: &[u8]) -> Option<()> {
    let fields = SCHEMA.message(name)?;
    text.push('{');
    let mut first = true;
    let mut hidden: Vec<u32> = Vec::new();
    while !bytes.is_empty() {
        let (number, wire) = decode_key(&mut bytes).ok()?;
        let value = value(&mut bytes, wire)?;
        let Some(field) = fields.get(&number) else {
            continue;
        };
        if field.hidden && hidden.contains(&number) {
            continue;
        }
        if !first {
            text.push_str(", ");
        }
        first = false;
        text.push_str(&field.name);
        text.push_str(": ");
        if field.hidden {
            hidden.push(number);
            text.push_str(HIDDEN);
        } else {
            show(text, field, &value)?;
        }
    }
    text.push('}');
    Some(())
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn value<'a>(bytes: &mut &'a [u8], wire: WireType) -> Option<Value<'a>> {
    Some(match wire {
        WireType::Varint => Value::Number(decode_varint(bytes).ok()?),
        WireType::LengthDelimited => {
            let length = usize::try_from(decode_varint(bytes).ok()?).ok()?;
            Value::Bytes(bytes.split_off(..length)?)
        }
        WireType::SixtyFourBit => Value::Bytes(bytes.split_off(..8)?),
        WireType::ThirtyTwoBit => Value::Bytes(bytes.split_off(..4)?),
        WireType::StartGroup | WireType::EndGroup => return None,
    })
}

fn show(text: &mut String, field: &Field, value: &Value<'_>) -> Option<()> {
    match (&field.kind, value) {
        (Kind::Text, Value::Bytes(bytes)) => {
            // `{:?}` escapes line breaks, so a value cannot forge a line of the log.
            let _ = write!(text, "{:?}", std::str::from_utf8(bytes).ok()?);
        }
        (Kind::Map, Value::Bytes(bytes)) => entry(text, bytes)?,
        (Kind::Message(name), Value::Bytes(bytes)) => message(text, name, bytes)?,
        (Kind::Bool, Value::Number(number)) => {
            let _ = write!(text, "{}", *number != 0);
        }
        (Kind::Integer, Value::Number(number)) => {
            let _ = write!(text, "{}", number.cast_signed());
        }
        (Kind::Enum(name), Value::Number(number)) => {
            match SCHEMA.value(name, number.cast_signed()) {
                Some(name) => text.push_str(name),
                None => {
                    let _ = write!(text, "{}", number.cast_signed());
                }
            }
        }
        (Kind::Other, _) => text.push('?'),
        _ => return None,
    }
    Some(())
}

fn entry(text: &mut String, mut bytes: &[u8]) -> Option<()> {
    let (mut key, mut content) = ("", "");
    while !bytes.is_empty() {
        let (number, wire) = decode_key(&mut bytes).ok()?;
        let Value::Bytes(part) = value(&mut bytes, wire)? else {
            return None;
        };
        let part = std::str::from_utf8(part).ok()?;
        match number {
            1 => key = part,
            2 => content = part,
            _ => {}
        }
    }
    if is_sensitive(key) {
        let _ = write!(text, "{key:?}={HIDDEN}");
    } else {
        let _ = write!(text, "{key:?}={content:?}");
    }
    Some(())
}

/// Whether the value of this map key is hidden. The name of a Secret object is no secret.
fn is_sensitive(key: &str) -> bool {
    let key = key.to_lowercase();
    let names = key.ends_with("name") || key.ends_with("namespace");
    !names && SENSITIVE_KEYS.iter().any(|part| key.contains(part))
}

#[cfg(test)]
mod tests;
