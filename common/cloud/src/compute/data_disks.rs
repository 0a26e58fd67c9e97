//! The data disks of a machine: how they are read, and the two ways to change them.
//!
//! The list in a machine's model is the complete wish: a disk that is left out of an update is
//! detached, and an empty list detaches everything. So a [`DataDiskList`] comes only from a machine
//! that was read, keeps every entry with members this suite does not know, and refuses to be sent
//! when it is empty by accident.

use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::{Lun, LunSet};
use azcsi_types::resource_id::ResourceId;
use azcsi_types::sku::Caching;
use serde::{Deserialize, Serialize};

use super::types::{Extra, SubResource};
use crate::wire;

/// One entry of a machine's data disks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataDisk {
    /// The slot.
    #[serde(deserialize_with = "wire::lun", serialize_with = "wire::lun_number")]
    pub lun: Lun,
    /// The name of the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How it came to the machine: `Attach`, `Empty`, `FromImage`, …; sent back as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_option: Option<String>,
    /// Host caching.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caching: Option<String>,
    /// The managed disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_disk: Option<ManagedDisk>,
    /// Whether it is on its way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_be_detached: Option<bool>,
    /// `ForceDetach`, if the detach does not wait for the guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detach_option: Option<String>,
    /// Everything else, unchanged.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The managed disk of an entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedDisk {
    /// Its id; the case may differ from the disk's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(
        deserialize_with = "wire::parsed_option",
        serialize_with = "wire::shown_option"
    )]
    pub id: Option<ResourceId>,
    /// Its SKU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_account_type: Option<String>,
    /// Its disk encryption set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_encryption_set: Option<SubResource>,
    /// Everything else, unchanged.
    #[serde(flatten)]
    pub extra: Extra,
}

impl DataDisk {
    /// The managed disk's id.
    #[must_use]
    pub fn disk_id(&self) -> Option<&ResourceId> {
        self.managed_disk.as_ref()?.id.as_ref()
    }

    /// Whether it is this disk.
    #[must_use]
    pub fn is(&self, disk: &DiskUri) -> bool {
        self.disk_id() == Some(disk.id())
    }

    /// Whether it is on its way out.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.to_be_detached == Some(true)
    }
}

/// A machine's data disks, as read, with the changes that are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataDiskList {
    disks: Vec<DataDisk>,
    dropped: usize,
}

/// The list must not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an empty list of data disks would detach every disk of the machine; it is not sent")]
pub struct EmptyList;

impl DataDiskList {
    /// The entries.
    #[must_use]
    pub fn entries(&self) -> &[DataDisk] {
        &self.disks
    }

    /// The entry of a disk.
    #[must_use]
    pub fn find(&self, disk: &DiskUri) -> Option<&DataDisk> {
        self.disks.iter().find(|entry| entry.is(disk))
    }

    /// The slots in use, including those of disks on their way out.
    #[must_use]
    pub fn luns(&self) -> LunSet {
        self.disks.iter().map(|entry| entry.lun).collect()
    }

    /// Adds a disk. An entry that already is this disk keeps its slot and is left alone.
    pub fn attach(&mut self, disk: &AttachDisk, lun: Lun) {
        if self.find(&disk.disk_id).is_some() {
            return;
        }
        let mut extra = Extra::new();
        if let Some(accelerated) = disk.write_accelerator_enabled {
            extra.insert("writeAcceleratorEnabled".to_owned(), accelerated.into());
        }
        self.disks.push(DataDisk {
            lun,
            name: Some(disk.disk_id.name().to_owned()),
            create_option: Some("Attach".to_owned()),
            caching: disk.caching.map(|caching| caching.as_str().to_owned()),
            managed_disk: Some(ManagedDisk {
                id: Some(disk.disk_id.id().clone()),
                storage_account_type: None,
                disk_encryption_set: disk.disk_encryption_set.clone(),
                extra: Extra::new(),
            }),
            to_be_detached: None,
            detach_option: None,
            extra,
        });
    }

    /// Marks a disk as leaving; tells whether it was there.
    pub fn detach(&mut self, detach: &DetachDisk) -> bool {
        let Some(entry) = self.disks.iter_mut().find(|e| e.is(&detach.disk_id)) else {
            return false;
        };
        entry.to_be_detached = Some(true);
        if let Some(option) = detach.detach_option {
            entry.detach_option = Some(option.as_str().to_owned());
        }
        true
    }

    /// Leaves a disk out. Only for API versions without `toBeDetached` (Azure Stack Hub).
    pub fn leave_out(&mut self, disk: &DiskUri) -> bool {
        let before = self.disks.len();
        self.disks.retain(|entry| !entry.is(disk));
        self.dropped += before - self.disks.len();
        self.disks.len() != before
    }

    /// The entries to send.
    ///
    /// # Errors
    /// If there are none and none was left out on purpose.
    pub(crate) fn to_send(&self) -> Result<&[DataDisk], EmptyList> {
        if self.disks.is_empty() && self.dropped == 0 {
            return Err(EmptyList);
        }
        Ok(&self.disks)
    }
}

impl<'de> Deserialize<'de> for DataDiskList {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let disks = wire::or_default(deserializer)?;
        Ok(Self { disks, dropped: 0 })
    }
}

/// Changes for the `attachDetachDataDisks` action. Other disks of the machine are not touched.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DataDiskChanges {
    /// Disks to attach.
    #[serde(rename = "dataDisksToAttach", skip_serializing_if = "Vec::is_empty")]
    pub attach: Vec<AttachDisk>,
    /// Disks to detach.
    #[serde(rename = "dataDisksToDetach", skip_serializing_if = "Vec::is_empty")]
    pub detach: Vec<DetachDisk>,
}

impl DataDiskChanges {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.attach.is_empty() && self.detach.is_empty()
    }
}

/// A disk to attach (REST reference, `DataDisksToAttach`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachDisk {
    /// The disk.
    #[serde(serialize_with = "wire::shown")]
    pub disk_id: DiskUri,
    /// The slot; Azure chooses when absent.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "wire::lun_option"
    )]
    pub lun: Option<Lun>,
    /// Host caching; the default of the SKU when absent.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "wire::shown_option"
    )]
    pub caching: Option<Caching>,
    /// What happens to the disk when the machine is deleted; `Detach` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_option: Option<String>,
    /// A disk encryption set for a disk that has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_encryption_set: Option<SubResource>,
    /// Write accelerator; M-series with Premium only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_accelerator_enabled: Option<bool>,
}

impl AttachDisk {
    /// Attaches a disk with the defaults.
    #[must_use]
    pub const fn new(disk_id: DiskUri) -> Self {
        Self {
            disk_id,
            lun: None,
            caching: None,
            delete_option: None,
            disk_encryption_set: None,
            write_accelerator_enabled: None,
        }
    }
}

/// A disk to detach (REST reference, `DataDisksToDetach`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DetachDisk {
    /// The disk.
    #[serde(serialize_with = "wire::shown")]
    pub disk_id: DiskUri,
    /// How; absent means the ordinary way.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "wire::shown_option"
    )]
    pub detach_option: Option<DetachOption>,
}

/// How a disk is detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachOption {
    /// Without waiting for the guest; writes may be lost.
    ForceDetach,
}

impl DetachOption {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ForceDetach => "ForceDetach",
        }
    }
}

impl std::fmt::Display for DetachOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
