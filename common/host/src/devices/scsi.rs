//! Disks on Hyper-V's SCSI controllers.
//!
//! The class of a disk is the VMBus device that it hangs on; host numbers and letters change from
//! boot to boot (facts: WALinuxAgent and azure-vm-utils udev rules).

use std::path::{Path, PathBuf};

use azcsi_types::lun::Lun;

use super::{Class, Disk, Transport, disk};
use crate::roots::Roots;
use crate::sysfs;

/// Ends of the ids of the controllers that carry data disks and system disks.
const CONTROLLER: &str = "-1e82-4818-a1c3-63d806ec15bb";
const DATA: [&str; 3] = ["f8b3781b", "f8b3781c", "f8b3781d"];
const SYSTEM: &str = "f8b3781a";
/// Beginnings of the ids of Gen1 system disk, resource disk, and the disk with encryption keys.
const GEN1: [&str; 3] = ["00000000-0000-", "00000000-0001-", "00000001-0001-"];

/// Every disk at a LUN, of whatever class.
pub(super) fn at(roots: &Roots, lun: Lun) -> Vec<Disk> {
    let folder = roots.sys.join("bus/scsi/devices");
    sysfs::names(&folder)
        .iter()
        .filter(|name| lun_of(name) == Some(u64::from(lun.get())))
        .filter_map(|name| candidate(roots, &folder.join(name)))
        .collect()
}

fn lun_of(address: &str) -> Option<u64> {
    let parts: Vec<&str> = address.split(':').collect();
    match parts.as_slice() {
        [_, _, _, lun] => lun.parse().ok(),
        _ => None,
    }
}

fn candidate(roots: &Roots, folder: &Path) -> Option<Disk> {
    let is = |file: &str, wanted: &str| {
        sysfs::text(&folder.join(file)).is_some_and(|text| text.eq_ignore_ascii_case(wanted))
    };
    if !(is("type", "0") && is("vendor", "Msft") && is("model", "Virtual Disk")) {
        return None;
    }
    // The folder is empty while the disk is being set up or torn down.
    let name = sysfs::names(&folder.join("block")).into_iter().next()?;
    disk(
        roots,
        &name,
        class_of(&sysfs::real(folder)?),
        Transport::Scsi,
    )
}

/// The class of whatever hangs at this place of the device tree.
pub(super) fn class_of(real: &Path) -> Class {
    real.iter()
        .filter_map(|part| part.to_str())
        .find_map(class_of_bus)
        .unwrap_or(Class::Unknown)
}

fn class_of_bus(id: &str) -> Option<Class> {
    let id = id.to_ascii_lowercase();
    if id.len() != 36 {
        return None;
    }
    if let Some(first) = id.strip_suffix(CONTROLLER) {
        if DATA.contains(&first) {
            return Some(Class::Data);
        }
        return (first == SYSTEM).then_some(Class::System);
    }
    GEN1.iter()
        .any(|start| id.starts_with(start))
        .then_some(Class::System)
}

/// The hosts that carry data disks.
pub(crate) fn data_hosts(roots: &Roots) -> Vec<PathBuf> {
    let folder = roots.sys.join("class/scsi_host");
    sysfs::names(&folder)
        .iter()
        .map(|name| folder.join(name))
        .filter(|host| sysfs::real(host).is_some_and(|real| class_of(&real) == Class::Data))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Class, class_of_bus, lun_of};

    #[test]
    fn a_controller_tells_the_class() {
        for (id, class) in [
            ("f8b3781b-1e82-4818-a1c3-63d806ec15bb", Some(Class::Data)),
            ("F8B3781C-1E82-4818-A1C3-63D806EC15BB", Some(Class::Data)),
            ("f8b3781a-1e82-4818-a1c3-63d806ec15bb", Some(Class::System)),
            ("f8b3781e-1e82-4818-a1c3-63d806ec15bb", None),
            ("00000000-0001-8899-0000-000000000000", Some(Class::System)),
            ("00000001-0001-8899-0000-000000000000", Some(Class::System)),
            ("f8b3781b-1e82-4818-a1c3-000000000000", None),
            ("host1", None),
        ] {
            assert_eq!(class_of_bus(id), class, "{id}");
        }
    }

    #[test]
    fn only_whole_addresses_have_a_lun() {
        assert_eq!(lun_of("1:0:0:12"), Some(12));
        assert_eq!(lun_of("host1"), None);
        assert_eq!(lun_of("1:0:0"), None);
    }
}
