//! What the node remembers of a volume, so that it survives a restart of the plugin. No secret is in
//! it.

use azcsi_host::HostError;
use azcsi_host::state::StateStore;
use serde::{Deserialize, Serialize};

use super::share::VolumeKey;

/// Version of the form.
const VERSION: u32 = 1;

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// Version of the form.
    pub version: u32,
    /// The volume's id, for people.
    pub volume_id: String,
    /// Where it is staged; empty for a volume that is mounted at its targets.
    pub staging_path: String,
    /// Where it is mounted directly.
    pub targets: Vec<String>,
    /// What is mounted.
    pub source: String,
    /// `nfs` or `cifs`.
    pub kind: String,
    /// The owner of its ticket cache.
    pub ticket_owner: Option<u32>,
    /// Seconds since 1970 at which the ticket ends.
    pub ticket_ends: Option<u64>,
    /// SHA-256 of the token that the ticket was had with.
    pub ticket_token: Option<String>,
    /// Seconds since 1970.
    pub time: u64,
}

/// The records of all volumes on this node.
#[derive(Clone, Debug)]
pub struct Records {
    store: StateStore,
}

impl Records {
    /// Over a store.
    #[must_use]
    pub const fn new(store: StateStore) -> Self {
        Self { store }
    }

    /// The record of a volume. One of another version counts as none.
    #[must_use]
    pub fn get(&self, volume: &VolumeKey) -> Option<Record> {
        self.store
            .load::<Record>(&volume.record())
            .filter(|record| record.version == VERSION)
    }

    /// Writes it.
    ///
    /// # Errors
    /// When it is not certain to be on the disk.
    pub fn put(&self, volume: &VolumeKey, mut record: Record) -> Result<(), HostError> {
        record.version = VERSION;
        volume.as_str().clone_into(&mut record.volume_id);
        self.store.save(&volume.record(), &record)
    }

    /// Forgets it.
    ///
    /// # Errors
    /// When it is there and cannot be removed.
    pub fn forget(&self, volume: &VolumeKey) -> Result<(), HostError> {
        self.store.remove(&volume.record())
    }

    /// All records, none when they cannot be read.
    #[must_use]
    pub fn all(&self) -> Vec<Record> {
        let all = self.store.all::<Record>().unwrap_or_default();
        let current = all.into_iter().map(|(_, record)| record);
        current.filter(|record| record.version == VERSION).collect()
    }
}

#[cfg(test)]
mod tests {
    use azcsi_host::state::StateStore;

    use super::{Record, Records};
    use crate::node::share::VolumeKey;

    #[test]
    fn a_record_is_found_by_any_spelling_of_its_volume() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::new(StateStore::open(folder.path()).unwrap());
        let key = |id: &str| VolumeKey::decode(id.to_owned()).unwrap();
        let record = Record {
            staging_path: "/s".to_owned(),
            ..Record::default()
        };
        records.put(&key("rg#acct1#share1#"), record).unwrap();
        assert_eq!(records.all().len(), 1);
        assert!(records.get(&key("RG#acct1#share1#")).is_some());
        records.forget(&key("rg#acct1#share1#")).unwrap();
        assert_eq!(records.get(&key("rg#acct1#share1#")), None);
    }
}
