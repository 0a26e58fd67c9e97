//! Field rules that both drivers share, as pure functions.
//!
//! Each answers for one field, in words that name the field. The rules are those of CSI 1.13
//! ("Size Limits" and the comments of the messages); where CSI asks plugins to accept more than its
//! limit, the limit here only keeps memory bounded.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use azcsi_proto::csi::v1;
use azcsi_types::access::{Access, AccessMode, VolumeMode};
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::host_path::{BadPath, HostPath};
use azcsi_types::size::{BadRange, CapacityRange};

/// Longest name of a volume or snapshot, in bytes.
pub const NAME_LIMIT: usize = 128;

/// Longest id or token, in bytes. CSI says 128; ids of Azure are longer.
pub const TEXT_LIMIT: usize = 4096;

/// Largest map, in bytes of its keys and values. CSI says 4 KiB; service account tokens alone exceed
/// that.
pub const MAP_LIMIT: usize = 64 * 1024;

/// Most mount flags, in bytes: the kernel takes one page.
pub const FLAGS_LIMIT: usize = 4096;

/// Why a field was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is required.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// It is longer than allowed.
    #[error("{field} is {length} bytes long: at most {limit} are allowed")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// It holds a control character.
    #[error("{field} holds the control character U+{character:04X}")]
    ControlCharacter {
        /// The field.
        field: &'static str,
        /// The character.
        character: u32,
    },
    /// It is negative.
    #[error("{field} is {value}: expected 0 or more")]
    Negative {
        /// The field.
        field: &'static str,
        /// Its value.
        value: i64,
    },
    /// It is no usable path.
    #[error("{field} is not usable")]
    Path {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        source: BadPath,
    },
    /// The capacity range makes no sense.
    #[error(transparent)]
    Range(#[from] BadRange),
    /// A capability is neither block nor mount.
    #[error("{0}.access_type is missing: expected block or mount")]
    AccessType(&'static str),
    /// A capability has an access mode that this version of CSI does not know.
    #[error("{field}.access_mode {mode} is unknown")]
    AccessMode {
        /// The field.
        field: &'static str,
        /// The number on the wire.
        mode: i32,
    },
}

impl Faulty for Invalid {
    fn fault(&self) -> Fault {
        Fault::Invalid
    }
}

/// A text that has to be there and is not absurdly long: ids and tokens.
///
/// # Errors
/// It is empty or too long.
pub fn required(field: &'static str, text: String) -> Result<String, Invalid> {
    if text.is_empty() {
        return Err(Invalid::Missing(field));
    }
    within(field, text.len(), TEXT_LIMIT)?;
    Ok(text)
}

/// The name of a volume, snapshot or group, which is its idempotency key. Tab, line feed and
/// carriage return are allowed, other control characters are not (CSI, `CreateVolumeRequest.name`).
///
/// # Errors
/// It is empty, too long, or holds a control character.
pub fn name(field: &'static str, text: String) -> Result<String, Invalid> {
    let text = required(field, text)?;
    within(field, text.len(), NAME_LIMIT)?;
    match text
        .chars()
        .find(|&c| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
    {
        Some(c) => Err(Invalid::ControlCharacter {
            field,
            character: c.into(),
        }),
        None => Ok(text),
    }
}

/// A map of texts.
///
/// # Errors
/// It is too large.
pub fn map(
    field: &'static str,
    map: HashMap<String, String>,
) -> Result<HashMap<String, String>, Invalid> {
    let size = map.iter().map(|(key, value)| key.len() + value.len()).sum();
    within(field, size, MAP_LIMIT)?;
    Ok(map)
}

/// A path on the node.
///
/// # Errors
/// It is empty, relative, or otherwise unusable.
pub fn path(field: &'static str, text: &str) -> Result<HostPath, Invalid> {
    if text.is_empty() {
        return Err(Invalid::Missing(field));
    }
    text.parse()
        .map_err(|source| Invalid::Path { field, source })
}

/// A path on the node that may be left out.
///
/// # Errors
/// It is there and unusable.
pub fn optional_path(field: &'static str, text: &str) -> Result<Option<HostPath>, Invalid> {
    if text.is_empty() {
        Ok(None)
    } else {
        path(field, text).map(Some)
    }
}

/// A capacity range that may be left out.
///
/// # Errors
/// A bound is negative, both are unset, or they exclude each other.
pub fn capacity_range(range: Option<v1::CapacityRange>) -> Result<CapacityRange, Invalid> {
    match range {
        None => Ok(CapacityRange::ANY),
        Some(range) => Ok(CapacityRange::from_wire(
            range.required_bytes,
            range.limit_bytes,
        )?),
    }
}

/// The page size of a listing; `None` for no limit.
///
/// # Errors
/// It is negative.
pub fn max_entries(count: i32) -> Result<Option<NonZeroUsize>, Invalid> {
    let negative = |_| Invalid::Negative {
        field: "max_entries",
        value: count.into(),
    };
    usize::try_from(count)
        .map(NonZeroUsize::new)
        .map_err(negative)
}

/// The capabilities of a request: at least one.
///
/// # Errors
/// There is none, or one is incomplete.
pub fn capabilities(capabilities: Vec<v1::VolumeCapability>) -> Result<Vec<Access>, Invalid> {
    if capabilities.is_empty() {
        return Err(Invalid::Missing("volume_capabilities"));
    }
    capabilities
        .into_iter()
        .map(|one| access("volume_capabilities", one))
        .collect()
}

/// The capability of a request that needs one.
///
/// # Errors
/// It is missing or incomplete.
pub fn capability(capability: Option<v1::VolumeCapability>) -> Result<Access, Invalid> {
    optional_capability(capability)?.ok_or(Invalid::Missing("volume_capability"))
}

/// The capability of a request that may leave it out.
///
/// # Errors
/// It is there and incomplete.
pub fn optional_capability(
    capability: Option<v1::VolumeCapability>,
) -> Result<Option<Access>, Invalid> {
    capability
        .map(|capability| access("volume_capability", capability))
        .transpose()
}

fn access(field: &'static str, capability: v1::VolumeCapability) -> Result<Access, Invalid> {
    use v1::volume_capability::AccessType;
    let volume = match capability.access_type {
        None => return Err(Invalid::AccessType(field)),
        Some(AccessType::Block(_)) => VolumeMode::Block,
        Some(AccessType::Mount(mount)) => {
            let size = mount.mount_flags.iter().map(String::len).sum();
            within("mount_flags", size, FLAGS_LIMIT)?;
            within("fs_type", mount.fs_type.len(), NAME_LIMIT)?;
            VolumeMode::Filesystem {
                fs_type: mount.fs_type,
                mount_flags: mount.mount_flags,
            }
        }
    };
    let mode = capability.access_mode.unwrap_or_default().mode;
    let unknown = Invalid::AccessMode { field, mode };
    let mode = AccessMode::from_wire(mode).ok_or(unknown)?;
    Ok(Access { mode, volume })
}

fn within(field: &'static str, length: usize, limit: usize) -> Result<(), Invalid> {
    if length > limit {
        Err(Invalid::TooLong {
            field,
            length,
            limit,
        })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
