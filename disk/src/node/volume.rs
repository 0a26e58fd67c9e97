//! Volume ids on the node.

use azcsi_rpc::{GuardKey, validate};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::host_path::HostPath;
use sha2::{Digest, Sha256};

use super::error::NodeError;

/// A volume that this driver may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its id.
    pub uri: DiskUri,
}

impl Volume {
    /// Reads a volume id.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when it is missing, NOT_FOUND when it is the id of no disk.
    pub fn decode(id: String) -> Result<Self, NodeError> {
        let id = validate::required("volume_id", id)?;
        id.parse()
            .map(|uri| Self { uri })
            .map_err(|source| NodeError::NoVolume { id, source })
    }

    /// For messages.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.uri.as_str()
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> VolumeKey {
        VolumeKey(self.uri.folded())
    }
}

/// One spelling for all spellings of a volume id. Ids that are no disk's have a key as well, so that
/// what was mounted under such an id can be taken away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VolumeKey(String);

impl VolumeKey {
    /// The key of any id.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when it is missing.
    pub fn decode(id: String) -> Result<Self, NodeError> {
        let id = validate::required("volume_id", id)?;
        Ok(match id.parse::<DiskUri>() {
            Ok(uri) => Self(uri.folded()),
            Err(_) => Self(id.trim_end_matches('/').to_ascii_lowercase()),
        })
    }

    /// The key itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What no two operations may hold at once.
    #[must_use]
    pub fn guard(&self) -> GuardKey {
        GuardKey::new("volume on this node", &self.0)
    }

    /// The name of its record.
    #[must_use]
    pub fn record(&self) -> String {
        let digest = Sha256::digest(self.0.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A number that differs from volume to volume.
    #[must_use]
    pub fn seed(&self) -> u64 {
        let digest = Sha256::digest(self.0.as_bytes());
        let mut seed = [0; 8];
        seed.copy_from_slice(&digest[..8]);
        u64::from_le_bytes(seed)
    }
}

/// What no two operations may hold at once, whichever their volumes: two of them would both find the
/// path free, and mount over each other.
#[must_use]
pub fn path_guard(path: &HostPath) -> GuardKey {
    GuardKey::new("path on this node", &path.to_string())
}

#[cfg(test)]
mod tests {
    use azcsi_types::fault::{Fault, Faulty};

    use super::{Volume, VolumeKey};

    const ID: &str = "/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/disks/D";

    #[test]
    fn every_spelling_of_an_id_has_one_key() {
        let keys = [ID.to_owned(), ID.to_uppercase(), ID.to_lowercase()]
            .map(|id| VolumeKey::decode(id).unwrap());
        assert_eq!(keys[0], keys[1]);
        assert_eq!(keys[1], keys[2]);
        assert_eq!(keys[0], Volume::decode(ID.to_owned()).unwrap().key());
        assert_eq!(keys[0].record().len(), 64);
    }

    #[test]
    fn an_id_of_nothing_is_not_found_but_has_a_key() {
        let id = || "some-id".to_owned();
        assert_eq!(Volume::decode(id()).unwrap_err().fault(), Fault::NotFound);
        assert!(VolumeKey::decode(id()).is_ok());
        for decoded in [
            Volume::decode(String::new()).map(drop),
            VolumeKey::decode(String::new()).map(drop),
        ] {
            assert_eq!(decoded.unwrap_err().fault(), Fault::Invalid);
        }
    }
}
