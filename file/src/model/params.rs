//! The parameters of a StorageClass, as CreateVolume understands them.
//!
//! Each key is taken once and checked; what is left over is refused with the nearest known key, and
//! what belongs together is checked together. Nothing behind this sees a map of strings.

mod account;
mod network;
mod secret;
mod share;

use std::collections::BTreeMap;

use azcsi_types::params::{BadParam, ParamMap};

pub use account::{AccountParams, Pick};
pub use network::{DnsMode, NetworkParams, Reach};
pub use secret::SecretParams;
pub(super) use share::number;
pub use share::{FolderParams, OnDelete, ShareParams};

use super::claim::Claim;
use super::protocol::{FsType, IdentityMount, Protocol, text, word};
use super::volume_context::{GroupChange, mount_permissions};

/// What a StorageClass asks of a new volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileParams {
    /// The account.
    pub account: AccountParams,
    /// Who reaches the account over the network.
    pub network: NetworkParams,
    /// The share.
    pub share: ShareParams,
    /// The directory in it.
    pub folder: FolderParams,
    /// The Secret with the account's key.
    pub secret: SecretParams,
    /// The way in which the share is made; `None` for Azure Resource Manager.
    pub data_plane: Option<DataPlane>,
    /// The claim.
    pub claim: Claim,
}

/// A way past Azure Resource Manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataPlane {
    /// With the account's key.
    Key,
    /// With the driver's identity.
    Oauth,
}

const DATA_PLANE: [(&str, Option<DataPlane>); 3] = [
    ("false", None),
    ("true", Some(DataPlane::Key)),
    ("oauth", Some(DataPlane::Oauth)),
];

/// Takes `useDataPlaneAPI`, which classes of volumes and of snapshots have.
///
/// # Errors
/// For any other word.
pub fn data_plane(map: &mut ParamMap) -> Result<Option<DataPlane>, BadParam> {
    Ok(word(map, &["useDataPlaneAPI"], &DATA_PLANE)?.flatten())
}

/// What the parts have in common.
#[derive(Clone, Copy, Debug)]
struct Shape {
    protocol: Protocol,
    vhd: bool,
    encrypted: bool,
    identity: Option<IdentityMount>,
}

impl FileParams {
    /// Reads the parameters of a StorageClass, and over them those of a VolumeAttributesClass.
    ///
    /// # Errors
    /// The first that is wrong: unknown, twice, a value it cannot have, or in conflict with another.
    pub fn parse(
        class: BTreeMap<String, String>,
        mutable: BTreeMap<String, String>,
    ) -> Result<Self, BadParam> {
        super::mutable::check(mutable.clone())?;
        let mut map = ParamMap::new(class)?.overlay(ParamMap::new(mutable)?);
        let shape = shape(&mut map)?;
        let params = Self {
            network: network::take(&mut map)?,
            share: share::take(&mut map, &shape)?,
            folder: share::take_folder(&mut map)?,
            secret: secret::take(&mut map, &shape)?,
            account: account::take(&mut map, &shape)?,
            data_plane: data_plane(&mut map)?,
            claim: Claim::take(&mut map),
        };
        node_only(&mut map)?;
        map.finish()?;
        params.check()?;
        Ok(params)
    }

    /// What belongs together.
    fn check(&self) -> Result<(), BadParam> {
        let conflict = |key, problem: &str| {
            let problem = problem.to_owned();
            Err(BadParam::Conflict { key, problem })
        };
        if self.secret.store && self.account.shared_key == Some(false) {
            return conflict(
                "allowSharedKeyAccess",
                "is false, so there is no key to store: set storeAccountKey to false as well",
            );
        }
        if self.data_plane == Some(DataPlane::Key) && self.account.shared_key == Some(false) {
            return conflict(
                "useDataPlaneAPI",
                "is true, which needs the account's key: use oauth with allowSharedKeyAccess false",
            );
        }
        if self.folder.per_volume && self.share.name.is_none() {
            return conflict(
                "folderPerVolume",
                "needs shareName: it names the share in which each volume gets its directory",
            );
        }
        if self.folder.per_volume
            && self.account.shared_key == Some(false)
            && self.data_plane != Some(DataPlane::Oauth)
        {
            return conflict(
                "folderPerVolume",
                "needs the account's key, or useDataPlaneAPI oauth where allowSharedKeyAccess is false",
            );
        }
        Ok(())
    }
}

fn shape(map: &mut ParamMap) -> Result<Shape, BadParam> {
    let fs = word(map, &["fsType"], &FsType::WORDS)?;
    let said = word(map, &["protocol"], &Protocol::WORDS)?;
    let vhd = matches!(fs, Some(FsType::Vhd(_)));
    let protocol = match (said, fs) {
        (Some(Protocol::Nfs), Some(FsType::Smb | FsType::Vhd(_)))
        | (Some(Protocol::Smb), Some(FsType::Nfs)) => {
            let problem = "and fsType name different protocols: give only one of them".to_owned();
            return Err(BadParam::Conflict {
                key: "protocol",
                problem,
            });
        }
        (Some(protocol), _) => protocol,
        (None, Some(FsType::Nfs)) => Protocol::Nfs,
        (None, _) => Protocol::Smb,
    };
    let identity = IdentityMount::take(map)?;
    if identity.is_some() && protocol == Protocol::Nfs {
        let problem = "is nfs, which knows no mounts by identity".to_owned();
        return Err(BadParam::Conflict {
            key: "protocol",
            problem,
        });
    }
    if vhd {
        let problem = "asks for a disk file on a share, which this driver mounts but does not make: use an SMB or NFS share, or a disk".to_owned();
        return Err(BadParam::Conflict {
            key: "fsType",
            problem,
        });
    }
    let encrypted = super::protocol::flag(map, "encryptInTransit")?.unwrap_or_default();
    Ok(Shape {
        protocol,
        vhd,
        encrypted,
        identity,
    })
}

/// Keys that only the node acts on; wrong values are found before there is a share.
fn node_only(map: &mut ParamMap) -> Result<(), BadParam> {
    for key in [
        "clientID",
        "tenantID",
        "confidentialContainerLabel",
        "runtimeClassHandler",
        "server",
    ] {
        text(map, key);
    }
    mount_permissions(map)?;
    word(map, &["fsGroupChangePolicy"], &GroupChange::WORDS)?;
    Ok(())
}

#[cfg(test)]
mod tests;
