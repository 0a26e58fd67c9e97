//! What listings and health need to know of a disk. A listing keeps this between its pages, of 50,000
//! disks in a large cluster; whole disks would take several times the memory.

use azcsi_cloud::{Disk, DiskState, ProvisioningState};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::resource_id::ResourceId;
use azcsi_types::size::GiB;

/// A disk, in brief.
#[derive(Clone, Debug, PartialEq)]
pub struct Brief {
    /// Its id.
    pub id: DiskUri,
    /// Its size.
    pub size: GiB,
    /// What holds it.
    pub holders: Box<[ResourceId]>,
    /// Whether and how it is in use.
    pub state: Option<DiskState>,
    /// Whether its last change failed.
    pub is_failed: bool,
    /// Percent of a background copy that are there.
    pub filled: Option<f64>,
}

impl From<Disk> for Brief {
    fn from(disk: Disk) -> Self {
        Self {
            size: disk.size().unwrap_or_default(),
            holders: disk.holders().into_iter().cloned().collect(),
            is_failed: disk.properties.provisioning_state == Some(ProvisioningState::Failed),
            filled: disk.properties.completion_percent,
            state: disk.properties.disk_state,
            id: disk.id,
        }
    }
}
