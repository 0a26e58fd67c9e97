//! Disks on Azure's NVMe controllers.
//!
//! A data disk at LUN n is namespace n + 2 of an accelerator controller. The number in the device
//! name is not the namespace id (azure-vm-utils issue 92), and local disks hang on other
//! controllers.

use std::path::{Path, PathBuf};

use azcsi_types::lun::Lun;

use super::{Class, Disk, Transport, disk};
use crate::roots::Roots;
use crate::sysfs;

const MODEL: &str = "MSFT NVMe Accelerator";
const VENDOR: &str = "0x1414";

/// The namespaces at a LUN.
pub(super) fn at(roots: &Roots, lun: Lun) -> Vec<Disk> {
    let block = roots.sys.join("class/block");
    sysfs::names(&block)
        .iter()
        .filter(|name| name.starts_with("nvme"))
        .filter(|name| is_remote(&block.join(name)))
        .filter(|name| sysfs::number(&block.join(name).join("nsid")) == Some(u64::from(lun.nsid())))
        .filter_map(|name| disk(roots, name, Class::Data, Transport::Nvme))
        .collect()
}

/// Whether a namespace belongs to the accelerator. Partitions and the hidden paths of native
/// multipath are left out.
pub(super) fn is_remote(namespace: &Path) -> bool {
    let hidden = sysfs::text(&namespace.join("hidden")).is_some_and(|text| text == "1");
    let partition = namespace.join("partition").exists();
    !hidden && !partition && is_accelerator(&namespace.join("device"))
}

/// Whether a controller, or a subsystem of controllers, is the accelerator.
fn is_accelerator(device: &Path) -> bool {
    let model = sysfs::text(&device.join("model")).is_some_and(|text| text.starts_with(MODEL));
    model && (is_microsoft(device) || of_subsystem(device).iter().any(|c| is_microsoft(c)))
}

fn is_microsoft(controller: &Path) -> bool {
    sysfs::text(&controller.join("device/vendor"))
        .is_some_and(|text| text.eq_ignore_ascii_case(VENDOR))
}

fn of_subsystem(subsystem: &Path) -> Vec<PathBuf> {
    sysfs::names(subsystem)
        .iter()
        .filter(|name| name.starts_with("nvme"))
        .map(|name| subsystem.join(name))
        .collect()
}

/// The controllers that may carry data disks.
pub(crate) fn controllers(roots: &Roots) -> Vec<PathBuf> {
    let folder = roots.sys.join("class/nvme");
    sysfs::names(&folder)
        .iter()
        .map(|name| folder.join(name))
        .filter(|controller| is_accelerator(controller))
        .collect()
}
