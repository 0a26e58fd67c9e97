//! The links that udev rules make under `/dev/disk/azure`.
//!
//! Two families exist: `scsi1/lunN` of the Azure agent and `data/by-lun/N` of azure-vm-utils. They
//! lag, are missing on many images and were wrong on some; so they are never believed against
//! sysfs.

use std::path::PathBuf;

use azcsi_types::lun::Lun;

use super::{Class, Disk, Transport, disk, nvme, scsi, transport_of};
use crate::roots::Roots;
use crate::sysfs;

/// A link, and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) path: PathBuf,
    pub(super) disk: Disk,
}

/// The links for a LUN that lead to a block device.
pub(super) fn at(roots: &Roots, lun: Lun) -> Vec<Link> {
    let azure = roots.dev.join("disk/azure");
    [
        azure.join(format!("scsi1/lun{lun}")),
        azure.join(format!("data/by-lun/{lun}")),
    ]
    .into_iter()
    .filter_map(|path| {
        let target = sysfs::real(&path)?;
        let name = target.file_name()?.to_str()?;
        let found = disk(roots, name, class_of(roots, name), transport_of(name))?;
        Some(Link { path, disk: found })
    })
    .collect()
}

/// The class of a device by its name.
fn class_of(roots: &Roots, name: &str) -> Class {
    let folder = roots.sys.join("class/block").join(name);
    match transport_of(name) {
        Transport::Nvme if nvme::is_remote(&folder) => Class::Data,
        Transport::Nvme => Class::System,
        Transport::Scsi => {
            sysfs::real(&folder).map_or(Class::Unknown, |real| scsi::class_of(&real))
        }
        Transport::Other => Class::Unknown,
    }
}
