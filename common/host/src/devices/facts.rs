//! Small facts about one device that the rest of a node service asks for.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use super::{Devices, Disk, Transport};
use crate::sysfs;

/// Azure's host repeats a command for up to two minutes, and longer while it is serviced. A guest that
/// gives up earlier turns that into I/O errors. These are the values that Azure's own udev rules set.
const SCSI_PATIENCE: Duration = Duration::from_secs(300);
const NVME_PATIENCE: Duration = Duration::from_secs(240);

/// A command timeout that is too short for Azure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impatient {
    /// What it is now.
    pub is: Duration,
    /// What it should be at least.
    pub should_be: Duration,
}

/// Where btrfs keeps its first superblock, in bytes, and what in it is looked at (kernel,
/// `fs/btrfs/fs.h`: `BTRFS_SUPER_INFO_OFFSET`, `struct btrfs_super_block`).
const BTRFS_AT: u64 = 64 * 1024;
const BTRFS_UUID: std::ops::Range<usize> = 0x20..0x30;
const BTRFS_MAGIC: (std::ops::Range<usize>, &[u8]) = (0x40..0x48, b"_BHRfS_M");

impl Devices {
    /// Whether the kernel refuses writes to the device.
    #[must_use]
    pub fn is_write_protected(&self, disk: &Disk) -> bool {
        sysfs::number(&self.folder(disk).join("ro")) == Some(1)
    }

    /// The command timeout of a device, if it is too short for Azure.
    #[must_use]
    pub fn impatient(&self, disk: &Disk) -> Option<Impatient> {
        let folder = self.folder(disk);
        let (is, should_be) = match disk.transport {
            Transport::Scsi => {
                let seconds = sysfs::number(&folder.join("device/timeout"))?;
                (Duration::from_secs(seconds), SCSI_PATIENCE)
            }
            Transport::Nvme => {
                let milliseconds = sysfs::number(&folder.join("queue/io_timeout"))?;
                (Duration::from_millis(milliseconds), NVME_PATIENCE)
            }
            Transport::Other => return None,
        };
        (is < should_be).then_some(Impatient { is, should_be })
    }

    /// Names of the other devices whose btrfs has this UUID: clones and restored snapshots of each
    /// other. Kernels before 6.7 confuse them. A device that cannot be read counts as none.
    #[must_use]
    pub fn btrfs_twins(&self, disk: &Disk, uuid: &str) -> Vec<String> {
        let names = sysfs::names(&self.roots.sys.join("class/block"));
        names
            .into_iter()
            .filter(|name| *name != disk.name && !is_hidden(&self.roots.sys, name))
            .filter(|name| btrfs_uuid(&self.roots.dev.join(name)).as_deref() == Some(uuid))
            .collect()
    }
}

/// Paths of a multipath NVMe device are no devices of their own.
fn is_hidden(sys: &Path, name: &str) -> bool {
    sysfs::number(&sys.join("class/block").join(name).join("hidden")) == Some(1)
}

/// The UUID in a btrfs superblock, in lower-case hexadecimal as the probe writes it.
fn btrfs_uuid(node: &Path) -> Option<String> {
    let mut block = [0_u8; 0x48];
    let file = File::open(node).ok()?;
    file.read_exact_at(&mut block, BTRFS_AT).ok()?;
    let (at, magic) = BTRFS_MAGIC;
    (block.get(at)? == magic).then(|| {
        let bytes = block[BTRFS_UUID].iter();
        bytes.map(|byte| format!("{byte:02x}")).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use super::{BTRFS_AT, BTRFS_MAGIC, BTRFS_UUID};
    use crate::Roots;
    use crate::devices::{Class, Devices, Disk, Transport};
    use crate::mountinfo::DevT;

    fn disk(name: &str, transport: Transport) -> Disk {
        Disk {
            name: name.to_owned(),
            device: DevT { major: 8, minor: 0 },
            node: Path::new("/dev").join(name),
            class: Class::Data,
            transport,
        }
    }

    fn write(tree: &Path, file: &str, text: &str) {
        let file = tree.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn devices(tree: &Path) -> Devices {
        Devices::new(Roots {
            sys: tree.join("sys"),
            dev: tree.join("dev"),
            ..Roots::default()
        })
    }

    #[test]
    fn a_short_timeout_is_found_on_either_transport() {
        let tree = tempfile::tempdir().unwrap();
        let seconds = Duration::from_secs;
        for (name, transport, file, text, is) in [
            ("sda", Transport::Scsi, "device/timeout", "180\n", Some(180)),
            ("sdb", Transport::Scsi, "device/timeout", "300\n", None),
            (
                "nvme0n2",
                Transport::Nvme,
                "queue/io_timeout",
                "30000\n",
                Some(30),
            ),
            (
                "nvme0n3",
                Transport::Nvme,
                "queue/io_timeout",
                "240000\n",
                None,
            ),
            ("loop0", Transport::Other, "queue/io_timeout", "1\n", None),
            ("sdc", Transport::Scsi, "nothing", "", None),
        ] {
            write(tree.path(), &format!("sys/class/block/{name}/{file}"), text);
            let found = devices(tree.path()).impatient(&disk(name, transport));
            assert_eq!(found.map(|found| found.is), is.map(seconds), "{name}");
        }
    }

    #[test]
    fn write_protection_is_seen() {
        let tree = tempfile::tempdir().unwrap();
        write(tree.path(), "sys/class/block/sda/ro", "1\n");
        write(tree.path(), "sys/class/block/sdb/ro", "0\n");
        let devices = devices(tree.path());
        assert!(devices.is_write_protected(&disk("sda", Transport::Scsi)));
        assert!(!devices.is_write_protected(&disk("sdb", Transport::Scsi)));
        assert!(!devices.is_write_protected(&disk("sdc", Transport::Scsi)));
    }

    fn image(tree: &Path, name: &str, uuid: u8) {
        write(tree, &format!("sys/class/block/{name}/dev"), "8:0");
        let mut bytes = vec![0; usize::try_from(BTRFS_AT).unwrap() + 4096];
        let (head, block) = bytes.split_at_mut(usize::try_from(BTRFS_AT).unwrap());
        head.fill(0);
        block[BTRFS_UUID].fill(uuid);
        block[BTRFS_MAGIC.0].copy_from_slice(BTRFS_MAGIC.1);
        fs::create_dir_all(tree.join("dev")).unwrap();
        fs::write(tree.join("dev").join(name), bytes).unwrap();
    }

    #[test]
    fn clones_of_a_btrfs_are_found_by_their_uuid() {
        let tree = tempfile::tempdir().unwrap();
        for (name, uuid) in [("sda", 0xab), ("sdb", 0xab), ("sdc", 0xcd), ("sdd", 0xab)] {
            image(tree.path(), name, uuid);
        }
        write(tree.path(), "sys/class/block/sdd/hidden", "1");
        write(tree.path(), "sys/class/block/sde/dev", "8:9");
        let twins =
            devices(tree.path()).btrfs_twins(&disk("sda", Transport::Scsi), &"ab".repeat(16));
        assert_eq!(twins, ["sdb"]);
    }
}
