//! What a StorageClass says of the share, and of the directory in it.

use azcsi_types::params::{BadParam, ParamMap};

use super::Shape;
use crate::model::folder::Folder;
use crate::model::protocol::{Protocol, flag, text, word};
use crate::model::volume_context::folder;

/// The share. `None` means that nothing was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareParams {
    /// SMB or NFS.
    pub protocol: Protocol,
    /// Exactly this share; may hold placeholders.
    pub name: Option<String>,
    /// What goes before the name that the driver makes up.
    pub prefix: Option<String>,
    /// Its tier.
    pub tier: Option<&'static str>,
    /// Whose root is nobody; NFS.
    pub squash: Option<&'static str>,
    /// The filesystem in a file on it.
    pub vhd: Option<String>,
    /// Provisioned IOPS.
    pub iops: Option<u64>,
    /// Provisioned bandwidth in MiB/s.
    pub bandwidth: Option<u64>,
}

/// The directory in the share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderParams {
    /// The path; may hold placeholders.
    pub path: Option<Folder>,
    /// Each volume is a directory of its own.
    pub per_volume: bool,
    /// What becomes of that directory with its volume.
    pub on_delete: OnDelete,
}

/// What becomes of the directory of a volume that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDelete {
    /// It goes, with all that is in it.
    #[default]
    Delete,
    /// It stays.
    Retain,
}

impl OnDelete {
    /// The words.
    pub const WORDS: [(&'static str, Self); 2] =
        [("delete", Self::Delete), ("retain", Self::Retain)];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Retain => "retain",
        }
    }
}

const TIERS: [(&str, &str); 4] = [
    ("TransactionOptimized", "TransactionOptimized"),
    ("Hot", "Hot"),
    ("Cool", "Cool"),
    ("Premium", "Premium"),
];
const SQUASH: [(&str, &str); 3] = [
    ("AllSquash", "AllSquash"),
    ("NoRootSquash", "NoRootSquash"),
    ("RootSquash", "RootSquash"),
];

pub(super) fn take(map: &mut ParamMap, shape: &Shape) -> Result<ShareParams, BadParam> {
    let squash = word(map, &["rootSquashType"], &SQUASH)?;
    if squash.is_some() && shape.protocol == Protocol::Smb {
        let problem = "is for protocol nfs".to_owned();
        return Err(BadParam::Conflict {
            key: "rootSquashType",
            problem,
        });
    }
    let disk = text(map, "diskName");
    let name = text(map, "shareName");
    let prefix = prefix(map)?;
    if name.is_some() && prefix.is_some() {
        let problem = "is for names that the driver makes up, but shareName gives one".to_owned();
        return Err(BadParam::Conflict {
            key: "shareNamePrefix",
            problem,
        });
    }
    Ok(ShareParams {
        protocol: shape.protocol,
        name,
        prefix,
        tier: word(map, &["shareAccessTier", "accessTier"], &TIERS)?,
        squash,
        vhd: disk.filter(|_| shape.vhd),
        iops: number(map, "provisionedIOPS")?,
        bandwidth: number(map, "provisionedBandwidth")?,
    })
}

/// Takes a number that is not negative; blank and 0 are absent, because 0 is what nobody provisions.
pub(in crate::model) fn number(
    map: &mut ParamMap,
    key: &'static str,
) -> Result<Option<u64>, BadParam> {
    let Some(param) = map.take(key) else {
        return Ok(None);
    };
    if param.value.trim().is_empty() {
        return Ok(None);
    }
    let allowed = "a whole number from 0 to 2147483647";
    match param.parse::<u64>(allowed)? {
        0 => Ok(None),
        number if number <= 2_147_483_647 => Ok(Some(number)),
        _ => Err(param.refuse(allowed)),
    }
}

fn prefix(map: &mut ParamMap) -> Result<Option<String>, BadParam> {
    let Some(param) = map.take("shareNamePrefix") else {
        return Ok(None);
    };
    let value = param.value.trim();
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if value.is_empty() {
        return Ok(None);
    }
    if value.len() > 20 || value.starts_with('-') || !value.bytes().all(word) {
        return Err(param.refuse("at most 20 lower-case letters, digits and '-', not '-' first"));
    }
    Ok(Some(value.to_owned()))
}

pub(super) fn take_folder(map: &mut ParamMap) -> Result<FolderParams, BadParam> {
    // The node makes it.
    flag(map, "createFolderIfNotExist")?;
    let per_volume = flag(map, "folderPerVolume")?.unwrap_or_default();
    let on_delete = word(map, &["onDelete"], &OnDelete::WORDS)?;
    if on_delete.is_some() && !per_volume {
        let problem = "is about the directory of a volume: it needs folderPerVolume".to_owned();
        return Err(BadParam::Conflict {
            key: "onDelete",
            problem,
        });
    }
    Ok(FolderParams {
        path: folder(map)?,
        per_volume,
        on_delete: on_delete.unwrap_or_default(),
    })
}
