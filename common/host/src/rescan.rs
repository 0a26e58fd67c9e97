//! Asking the kernel to look for a disk, at its size, or to forget it.
//!
//! Only controllers that carry data disks are asked: a scan of all hosts is slow, and the kernel
//! does them one after another. A write may hang (driver issue 2979), so the wait is bounded.

use std::path::PathBuf;
use std::time::Duration;

use azcsi_types::lun::Lun;
use azcsi_types::op::Op;

use crate::devices::{Disk, Transport, nvme_controllers, scsi_data_hosts};
use crate::error::HostError;
use crate::roots::Roots;
use crate::sysfs;
use crate::worker::Workers;

/// Longest wait for one write.
const WAIT: Duration = Duration::from_secs(10);

/// Asks the kernel to rescan.
#[derive(Clone, Debug)]
pub struct Rescan {
    roots: Roots,
    workers: Workers,
}

impl Rescan {
    /// Under these roots.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self {
            roots,
            workers: Workers::default(),
        }
    }

    /// Asks for the disk at a LUN. What cannot be asked is logged: the disk may come by itself.
    /// `false` when a controller was still busy with an earlier request, which was for another
    /// disk: then ask again.
    #[must_use]
    pub async fn for_lun(&self, _op: &Op, lun: Lun) -> bool {
        let scans = scsi_data_hosts(&self.roots)
            .into_iter()
            .map(|host| (host.join("scan"), format!("0 0 {lun}")));
        let controllers = nvme_controllers(&self.roots)
            .into_iter()
            .map(|controller| (controller.join("rescan_controller"), "1".to_owned()));
        let mut is_asked = true;
        for (file, value) in scans.chain(controllers).collect::<Vec<_>>() {
            match self.write(file, value).await {
                Ok(()) => {}
                Err(HostError::Hanging { path }) => {
                    tracing::debug!(path = %path.display(), "a rescan is under way");
                    is_asked = false;
                }
                Err(error) => tracing::warn!(%error, "a controller could not be rescanned"),
            }
        }
        is_asked
    }

    /// Asks the kernel to look at the size of a disk.
    ///
    /// # Errors
    /// When the kernel does not take the request. NVMe disks report their size by themselves, and
    /// then there may be nothing to write.
    pub async fn size(&self, _op: &Op, disk: &Disk) -> Result<(), HostError> {
        let device = self
            .roots
            .sys
            .join("class/block")
            .join(&disk.name)
            .join("device");
        let files = match disk.transport {
            Transport::Scsi => vec![device.join("rescan")],
            Transport::Nvme => nvme_controllers(&self.roots)
                .into_iter()
                .map(|controller| controller.join("rescan_controller"))
                .collect(),
            Transport::Other => Vec::new(),
        };
        for file in files {
            self.write(file, "1".to_owned()).await?;
        }
        Ok(())
    }

    /// Makes the kernel forget a SCSI disk. The next disk in its slot then gets a device of its own,
    /// and never the old one with its size and its cache. A rescan brings the device back.
    ///
    /// # Errors
    /// When the kernel does not take the request.
    pub async fn forget(&self, _op: &Op, disk: &Disk) -> Result<(), HostError> {
        let folder = self.roots.sys.join("class/block").join(&disk.name);
        self.write(folder.join("device/delete"), "1".to_owned())
            .await
    }

    async fn write(&self, file: PathBuf, value: String) -> Result<(), HostError> {
        let path = file.clone();
        self.workers
            .run("write", &path, WAIT, move || sysfs::write(&file, &value))
            .await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use azcsi_types::clock::Deadline;
    use azcsi_types::lun::Lun;
    use azcsi_types::op::Op;

    use super::Rescan;
    use crate::Roots;
    use crate::devices::{Class, Disk, Transport};
    use crate::mountinfo::DevT;

    #[tokio::test]
    async fn a_disk_is_forgotten_by_its_own_file() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("class/block/sdc/device");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("delete"), "").unwrap();
        let roots = Roots {
            sys: tree.path().to_owned(),
            ..Roots::default()
        };
        let disk = |name: &str| Disk {
            name: name.to_owned(),
            device: DevT { major: 8, minor: 0 },
            node: "/dev/sdc".into(),
            class: Class::Data,
            transport: Transport::Scsi,
        };
        let op = Op::start("test", Deadline::NEVER);
        let rescan = Rescan::new(roots);
        rescan.forget(&op, &disk("sdc")).await.unwrap();
        assert_eq!(fs::read_to_string(folder.join("delete")).unwrap(), "1");
        assert!(rescan.forget(&op, &disk("sdd")).await.is_err());
    }

    #[tokio::test]
    async fn only_data_controllers_are_asked_nd_25() {
        let tree = tempfile::tempdir().unwrap();
        let class = tree.path().join("class/scsi_host");
        fs::create_dir_all(&class).unwrap();
        let mut scans = Vec::new();
        for (host, letter) in [("host0", 'a'), ("host1", 'b')] {
            let bus = format!("devices/f8b3781{letter}-1e82-4818-a1c3-63d806ec15bb/{host}");
            let folder = tree.path().join(bus);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("scan"), "").unwrap();
            symlink(&folder, class.join(host)).unwrap();
            scans.push(folder.join("scan"));
        }
        let roots = Roots {
            sys: tree.path().to_owned(),
            ..Roots::default()
        };
        let op = Op::start("test", Deadline::NEVER);
        let rescan = Rescan::new(roots);
        assert!(rescan.for_lun(&op, Lun::try_from(5).unwrap()).await);
        assert_eq!(fs::read_to_string(&scans[0]).unwrap(), "");
        assert_eq!(fs::read_to_string(&scans[1]).unwrap(), "0 0 5");
    }

    #[tokio::test]
    async fn a_request_that_a_busy_controller_did_not_take_is_reported() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree
            .path()
            .join("devices/f8b3781b-1e82-4818-a1c3-63d806ec15bb/host1");
        let class = tree.path().join("class/scsi_host");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&class).unwrap();
        symlink(&folder, class.join("host1")).unwrap();
        // The kernel takes its time with a scan: opening this ends only when somebody reads.
        let scan = folder.join("scan");
        nix::unistd::mkfifo(&scan, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let rescan = Rescan::new(Roots {
            sys: tree.path().to_owned(),
            ..Roots::default()
        });
        let op = Op::start("test", Deadline::NEVER);
        let other = async {
            let is_asked = rescan.for_lun(&op, Lun::try_from(6).unwrap()).await;
            let read = tokio::task::spawn_blocking(move || fs::read_to_string(scan));
            (is_asked, read.await.unwrap().unwrap())
        };
        let first = rescan.for_lun(&op, Lun::try_from(5).unwrap());
        let (is_first_asked, (is_other_asked, read)) = tokio::join!(first, other);
        assert!(is_first_asked && !is_other_asked);
        assert_eq!(read, "0 0 5");
    }
}
