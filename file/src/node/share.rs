//! Which share a volume is: from its id and its context. Pure.

use std::fmt;

use azcsi_rpc::{GuardKey, validate};
use azcsi_types::account::AccountName;
use azcsi_types::host_path::HostPath;
use azcsi_types::share::ShareName;
use azcsi_types::share_handle::{ShareHandle, ShareParts};
use sha2::{Digest, Sha256};

use super::error::NodeError;
use crate::model::protocol::{FsType, Protocol};
use crate::model::volume_context::VolumeContext;

/// One name for all spellings of a volume id. Ids that are no share's have one as well: a static
/// volume may have any id, and what was mounted under it has to come away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VolumeKey {
    id: String,
    key: String,
}

impl VolumeKey {
    /// The key of any id.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when it is missing.
    pub fn decode(id: String) -> Result<Self, NodeError> {
        let id = validate::required("volume_id", id)?;
        let key = id
            .parse::<ShareHandle>()
            .map_or_else(|_| id.clone(), |handle| handle.folded());
        Ok(Self { id, key })
    }

    /// The id as it was given, for messages.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// What no two operations may hold at once.
    #[must_use]
    pub fn guard(&self) -> GuardKey {
        GuardKey::new("volume on this node", &self.key)
    }

    /// The name of its record.
    #[must_use]
    pub fn record(&self) -> String {
        let digest = Sha256::digest(self.key.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What the id says of the share; nothing when it is not of this driver's form.
    #[must_use]
    pub fn parts(&self) -> Option<ShareParts> {
        let handle = self.id.parse::<ShareHandle>().ok()?;
        Some(handle.parts().clone())
    }
}

/// What no two operations may hold at once, whichever their volumes.
#[must_use]
pub fn path_guard(path: &HostPath) -> GuardKey {
    GuardKey::new("path on this node", &path.to_string())
}

/// A share, as far as it is known before its Secret is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The account; a Secret may name it.
    pub account: Option<AccountName>,
    /// Its subscription.
    pub subscription: Option<String>,
    /// Its resource group.
    pub resource_group: Option<String>,
    /// The host that the volume names.
    pub server: Option<String>,
    /// The suffix of the account's host.
    pub suffix: String,
    /// The share.
    pub name: String,
    /// The directory in it.
    pub folder: Option<String>,
    /// The protocol.
    pub protocol: Protocol,
    /// The file that holds a filesystem, and which.
    pub disk: Option<(String, &'static str)>,
    /// The namespace in the volume id.
    pub namespace: Option<String>,
}

/// Why a volume names no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoShare {
    /// Nothing names it.
    #[error("neither the volume id nor the attribute shareName names a share")]
    Unnamed,
    /// What names it is no name of a share.
    #[error("'{0}' cannot be the name of a share")]
    Name(String),
    /// The directory is no path.
    #[error("the folder '{0}' is not a path in a share")]
    Folder(String),
    /// The host is none.
    #[error("the server '{0}' is not a host name")]
    Server(String),
    /// The file is none.
    #[error("diskName '{0}' is not the name of a .vhd file")]
    Disk(String),
    /// NFS and a filesystem in a file exclude each other.
    #[error("a disk in a file needs the protocol smb")]
    DiskOnNfs,
}

impl Share {
    /// Finds it. Attributes count more than the id; names of the claim are put where placeholders
    /// stand.
    ///
    /// # Errors
    /// When nothing names a share, or something names it in a way that leads elsewhere.
    pub fn find(key: &VolumeKey, context: &VolumeContext, suffix: &str) -> Result<Self, NoShare> {
        let parts = key.parts();
        let part = |read: fn(&ShareParts) -> Option<String>| parts.as_ref().and_then(read);
        let place = &context.place;
        let name = match &place.share {
            Some(template) => context.claim.expand(template),
            None => part(|p| Some(p.share.to_string())).ok_or(NoShare::Unnamed)?,
        };
        let account = place.account.clone();
        let account = account.or_else(|| parts.as_ref().and_then(|p| p.account.clone()));
        let protocol = context.protocol.unwrap_or_default();
        let in_id = part(|p| p.suffix.clone());
        let own_suffix = place.suffix.clone().or(in_id);
        Ok(Self {
            name: checked_name(name, context.server.is_some())?,
            folder: folder(context, part(|p| p.directory.clone()))?,
            disk: disk(context, protocol, part(|p| p.disk.clone()))?,
            server: context.server.clone().map(checked_server).transpose()?,
            subscription: place
                .subscription
                .clone()
                .or(part(|p| p.subscription.clone())),
            resource_group: place
                .resource_group
                .clone()
                .or(part(|p| p.resource_group.clone())),
            namespace: part(|p| p.namespace.clone()),
            suffix: own_suffix.unwrap_or_else(|| suffix.to_owned()),
            account,
            protocol,
        })
    }

    /// The account's own name for its file service: Kerberos knows no other.
    #[must_use]
    pub fn canonical_host(&self, account: &AccountName) -> String {
        format!("{account}.file.{}", self.suffix)
    }

    /// The host to mount from. A ticket is only good for the canonical name (known problem SMB-11),
    /// which resolves to the private address where the zone is linked.
    #[must_use]
    pub fn host(&self, account: Option<&AccountName>, who: Names) -> Option<String> {
        let canonical = || account.map(|account| self.canonical_host(account));
        match (&self.server, who) {
            (Some(server), Names::Canonical) => {
                let plain = server.replacen(".privatelink.file.", ".file.", 1);
                Some(plain)
            }
            (Some(server), Names::AsGiven) => Some(server.clone()),
            (None, _) => canonical(),
        }
    }

    /// What is mounted, for the kernel. `account` is part of the path of an NFS export.
    #[must_use]
    pub fn source(&self, host: &str, account: Option<&AccountName>) -> String {
        let folder = match &self.folder {
            Some(folder) => format!("/{folder}"),
            None => String::new(),
        };
        match self.protocol {
            Protocol::Smb => format!("//{host}/{}{folder}", self.name),
            Protocol::Nfs => {
                let account = account.map_or("", AccountName::as_str);
                let account = if account.is_empty() {
                    String::new()
                } else {
                    format!("/{account}")
                };
                format!("{host}:{account}/{}{folder}", self.name)
            }
        }
    }
}

/// Which of a host's names are usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Any.
    AsGiven,
    /// Only the account's own.
    Canonical,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Azure's rule for Azure's shares; for another server anything that stays one name.
fn checked_name(name: String, is_foreign: bool) -> Result<String, NoShare> {
    let bad = |c: char| c.is_control() || "/\\:*?\"<>|,".contains(c);
    let is_plain = !name.is_empty()
        && name.len() <= 255
        && name != "."
        && name != ".."
        && !name.chars().any(bad);
    if name.parse::<ShareName>().is_ok() || (is_foreign && is_plain) {
        Ok(name)
    } else {
        Err(NoShare::Name(shown(&name)))
    }
}

/// A host name or an address.
fn checked_server(server: String) -> Result<String, NoShare> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_name = !server.is_empty() && server.len() <= 253 && server.chars().all(plain);
    if (is_name && !server.starts_with(['.', '-'])) || server.parse::<std::net::IpAddr>().is_ok() {
        Ok(server)
    } else {
        Err(NoShare::Server(shown(&server)))
    }
}

fn folder(context: &VolumeContext, in_id: Option<String>) -> Result<Option<String>, NoShare> {
    let text = match &context.folder {
        Some(template) => context.claim.expand(template.as_str()),
        None => in_id.unwrap_or_default(),
    };
    let path = text.trim_matches('/');
    if path.is_empty() {
        return Ok(None);
    }
    path.parse::<crate::model::folder::Folder>()
        .map(|folder| Some(folder.as_str().to_owned()))
        .map_err(|_| NoShare::Folder(shown(path)))
}

fn disk(
    context: &VolumeContext,
    protocol: Protocol,
    in_id: Option<String>,
) -> Result<Option<(String, &'static str)>, NoShare> {
    let kind = match context.fs_type {
        Some(FsType::Vhd(kind)) => Some(kind),
        _ => None,
    };
    let name = context.disk_name.clone().or(in_id);
    let (name, kind) = match (name, kind) {
        (None, None) => return Ok(None),
        (Some(name), kind) => (name, kind.unwrap_or("ext4")),
        (None, Some(_)) => return Err(NoShare::Disk(String::new())),
    };
    if protocol == Protocol::Nfs {
        return Err(NoShare::DiskOnNfs);
    }
    let is_file = name.to_ascii_lowercase().ends_with(".vhd")
        && !name.contains(['/', '\\', '\0'])
        && !name.contains("..");
    if is_file {
        Ok(Some((name, kind)))
    } else {
        Err(NoShare::Disk(shown(&name)))
    }
}

fn shown(text: &str) -> String {
    text.chars()
        .take(100)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

#[cfg(test)]
mod tests;
