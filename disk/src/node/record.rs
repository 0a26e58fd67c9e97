//! What the node remembers of a volume, so that it survives a restart of the plugin.
//!
//! Nothing here is needed to work: without a record the checks only become stricter.

use azcsi_host::HostError;
use azcsi_host::state::StateStore;
use serde::{Deserialize, Serialize};

use super::volume::VolumeKey;

/// Version of the form.
const VERSION: u32 = 1;

/// What is being done to the disk right now. Written before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Intent {
    /// Nothing.
    #[default]
    None,
    /// A filesystem is being made.
    Formatting,
}

/// Which device it is, in every way that the kernel knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceMark {
    /// The slot.
    pub lun: u8,
    /// The world-wide name.
    pub hardware_id: Option<String>,
    /// `major:minor`.
    pub device: String,
    /// The kernel's sequence number of the device.
    pub sequence: Option<u64>,
    /// The boot in which the numbers above are true.
    pub boot_id: String,
    /// Size in bytes.
    pub size_bytes: u64,
}

impl DeviceMark {
    /// Whether it is certainly the same device, attached ever since.
    #[must_use]
    pub fn is_same_attachment(&self, other: &Self) -> bool {
        !self.boot_id.is_empty()
            && self.boot_id == other.boot_id
            && self.device == other.device
            && self.sequence.is_some()
            && self.sequence == other.sequence
    }
}

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// Version of the form.
    pub version: u32,
    /// The volume's key.
    pub volume_id: String,
    /// The device.
    pub mark: DeviceMark,
    /// The filesystem; `None` for a raw block volume.
    pub fs_type: Option<String>,
    /// Its UUID.
    pub fs_uuid: Option<String>,
    /// Where it is staged; empty until it is.
    pub staging_path: String,
    /// Whether it was staged read-only.
    pub read_only: bool,
    /// What is being done.
    pub intent: Intent,
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

    /// The record of a volume. One of another version or another volume counts as none.
    #[must_use]
    pub fn get(&self, volume: &VolumeKey) -> Option<Record> {
        self.store
            .load::<Record>(&volume.record())
            .filter(|record| record.version == VERSION && record.volume_id == volume.as_str())
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
        all.into_iter().map(|(_, record)| record).collect()
    }

    /// Another volume that is staged from this very device.
    #[must_use]
    pub fn other_owner(&self, volume: &VolumeKey, mark: &DeviceMark) -> Option<String> {
        let same_hardware = |record: &Record| {
            mark.hardware_id.is_some() && record.mark.hardware_id == mark.hardware_id
        };
        self.all()
            .into_iter()
            .filter(|record| record.volume_id != volume.as_str() && !record.staging_path.is_empty())
            .find(|record| record.mark.is_same_attachment(mark) || same_hardware(record))
            .map(|record| record.volume_id)
    }
}

#[cfg(test)]
mod tests {
    use azcsi_host::state::StateStore;

    use super::{DeviceMark, Record, Records};
    use crate::node::volume::VolumeKey;

    fn mark(sequence: Option<u64>) -> DeviceMark {
        DeviceMark {
            device: "8:32".to_owned(),
            sequence,
            boot_id: "b".to_owned(),
            ..DeviceMark::default()
        }
    }

    #[test]
    fn only_a_proven_match_is_the_same_attachment() {
        assert!(mark(Some(7)).is_same_attachment(&mark(Some(7))));
        assert!(!mark(Some(7)).is_same_attachment(&mark(Some(8))));
        assert!(!mark(None).is_same_attachment(&mark(None)));
        let other_boot = DeviceMark {
            boot_id: "c".to_owned(),
            ..mark(Some(7))
        };
        assert!(!mark(Some(7)).is_same_attachment(&other_boot));
    }

    #[test]
    fn a_device_has_one_owner() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::new(StateStore::open(folder.path()).unwrap());
        let [one, two] = ["one", "two"].map(|id| VolumeKey::decode(id.to_owned()).unwrap());
        let record = Record {
            mark: mark(Some(7)),
            staging_path: "/s".to_owned(),
            ..Record::default()
        };
        records.put(&one, record).unwrap();
        assert_eq!(
            records.other_owner(&two, &mark(Some(7))).as_deref(),
            Some("one")
        );
        assert_eq!(records.other_owner(&two, &mark(Some(8))), None);
        assert_eq!(records.other_owner(&one, &mark(Some(7))), None);
        records.forget(&one).unwrap();
        assert_eq!(records.get(&one), None);
    }
}
