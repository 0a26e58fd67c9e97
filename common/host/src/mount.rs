//! Mounting and unmounting.
//!
//! Every call runs in a bounded worker, because the kernel may not come back from a dead device. A
//! live device is never unmounted lazily: the disk could then be detached while its data is still
//! in memory.

mod api;
mod options;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::op::Op;
use nix::errno::Errno;
use nix::libc;
use nix::mount::{MntFlags, umount2};
use sys_mount::MountFlags;

pub use options::{BadOption, MountOptions};

use crate::error::HostError;
use crate::mountinfo::MountTable;
use crate::worker::Workers;

/// Most mounts that are removed from one path in one call. More is a loop of somebody else.
const STACK_LIMIT: usize = 64;

/// How often and how long a busy mount is waited for. Any program that this process starts holds
/// copies of its open files from the fork to the exec, so a mount can be busy for that moment although
/// nobody uses it.
const BUSY_PAUSES: u32 = 10;
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// Whether a bind may be written through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// As the source.
    Allowed,
    /// Not at all.
    Denied,
}

/// How to get rid of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmount {
    /// Wait until everything is written.
    Plain,
    /// The device is gone, so nothing can be written any more: take the mount out of sight.
    DeviceGone,
}

/// What to mount where.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The device node.
    pub source: PathBuf,
    /// The folder.
    pub target: PathBuf,
    /// The filesystem.
    pub fs_type: String,
    /// The options.
    pub options: MountOptions,
}

/// Mounts and unmounts. Clones share the set of paths where a call hangs.
#[derive(Clone, Debug)]
pub struct Mounter {
    clock: Arc<dyn Clock>,
    table: MountTable,
    workers: Workers,
}

impl Mounter {
    /// A mounter over the mount table of this process.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, table: MountTable) -> Self {
        Self {
            clock,
            table,
            workers: Workers::default(),
        }
    }

    /// Mounts a device.
    ///
    /// # Errors
    /// The kernel's reason, or that it has not answered in time.
    pub async fn mount(&self, op: &Op, wanted: Wanted) -> Result<(), HostError> {
        let wait = op.deadline().remaining(&*self.clock);
        let path = wanted.target.clone();
        self.workers
            .run("mount", &path, wait, move || mount_now(&wanted))
            .await
    }

    /// Binds a folder or a device node to another place.
    ///
    /// With [`Write::Denied`] the bind is never visible while it can be written through, or, on
    /// kernels before 5.12, is removed again when it cannot be made read-only.
    ///
    /// # Errors
    /// The kernel's reason, or that it has not answered in time.
    pub async fn bind(
        &self,
        op: &Op,
        source: &Path,
        target: &Path,
        write: Write,
    ) -> Result<(), HostError> {
        let wait = op.deadline().remaining(&*self.clock);
        let (from, to) = (source.to_owned(), target.to_owned());
        self.workers
            .run("bind", target, wait, move || {
                match write {
                    Write::Allowed => bind_now(&from, &to),
                    Write::Denied => bind_read_only_now(&from, &to),
                }
                .map_err(|source| HostError::io("bind", &to, source))
            })
            .await
    }

    /// Removes every mount at a path; none is fine.
    ///
    /// # Errors
    /// The kernel's reason (`EBUSY` while somebody uses it), or that it has not answered in time:
    /// then the call goes on, and the path is refused until it ends.
    pub async fn unmount_all(&self, op: &Op, path: &Path, how: Unmount) -> Result<(), HostError> {
        let mut pauses = 0;
        loop {
            let wait = op.deadline().remaining(&*self.clock);
            let (target, table) = (path.to_owned(), self.table.clone());
            let removed = self
                .workers
                .run("unmount", path, wait, move || remove(&table, &target, how))
                .await;
            match removed {
                Err(error) if is_busy(&error) && pauses < BUSY_PAUSES && wait > BUSY_PAUSE => {
                    pauses += 1;
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                other => return other,
            }
        }
    }
}

fn is_busy(error: &HostError) -> bool {
    matches!(error, HostError::Io { source, .. } if source.raw_os_error() == Some(libc::EBUSY))
}

fn remove(table: &MountTable, target: &Path, how: Unmount) -> Result<(), HostError> {
    let flags = match how {
        Unmount::Plain => MntFlags::UMOUNT_NOFOLLOW,
        Unmount::DeviceGone => MntFlags::UMOUNT_NOFOLLOW | MntFlags::MNT_DETACH,
    };
    for _ in 0..STACK_LIMIT {
        if table.read()?.top(target).is_none() {
            return Ok(());
        }
        // Not by sys-mount: its NOFOLLOW is a flag of open(2), which the kernel refuses.
        match umount2(target, flags) {
            // Somebody else removed it between the look and the call.
            Ok(()) | Err(Errno::EINVAL) => {}
            Err(errno) => return Err(HostError::io("unmount", target, errno.into())),
        }
    }
    let more = io::Error::other("more mounts keep appearing there");
    Err(HostError::io("unmount", target, more))
}

fn mount_now(wanted: &Wanted) -> Result<(), HostError> {
    let (flags, data) = wanted.options.for_kernel();
    sys_mount::Mount::builder()
        .fstype(wanted.fs_type.as_str())
        .flags(flags)
        .data(&data)
        .mount(&wanted.source, &wanted.target)
        .map(drop)
        .map_err(|source| HostError::io("mount", &wanted.target, source))
}

fn bind_now(source: &Path, target: &Path) -> io::Result<()> {
    sys_mount::Mount::builder()
        .fstype("none")
        .flags(MountFlags::BIND)
        .mount(source, target)
        .map(drop)
}

fn bind_read_only_now(source: &Path, target: &Path) -> io::Result<()> {
    match api::bind_read_only(source, target) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            bind_then_remount(source, target)
        }
        other => other,
    }
}

/// The way of kernels before 5.12. A bind that stays writable is removed again.
fn bind_then_remount(source: &Path, target: &Path) -> io::Result<()> {
    bind_now(source, target)?;
    let inherited = inherited_flags(target).unwrap_or_else(|_| MountFlags::empty());
    let flags = MountFlags::BIND | MountFlags::REMOUNT | MountFlags::RDONLY | inherited;
    let remounted = sys_mount::Mount::builder()
        .fstype("none")
        .flags(flags)
        .mount(source, target);
    if let Err(error) = remounted {
        umount2(target, MntFlags::UMOUNT_NOFOLLOW)?;
        return Err(error);
    }
    Ok(())
}

/// A remount drops the flags that it does not repeat, and may not drop locked ones.
fn inherited_flags(path: &Path) -> nix::Result<MountFlags> {
    use nix::sys::statvfs::{FsFlags, statvfs};
    let has = statvfs(path)?.flags();
    let pairs = [
        (FsFlags::ST_NODEV, MountFlags::NODEV),
        (FsFlags::ST_NOEXEC, MountFlags::NOEXEC),
        (FsFlags::ST_NOSUID, MountFlags::NOSUID),
        (FsFlags::ST_NOATIME, MountFlags::NOATIME),
        (FsFlags::ST_NODIRATIME, MountFlags::NODIRATIME),
        (FsFlags::ST_RELATIME, MountFlags::RELATIME),
    ];
    Ok(pairs
        .into_iter()
        .filter(|(theirs, _)| has.contains(*theirs))
        .map(|(_, ours)| ours)
        .collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_old_way_leaves_no_mount_when_it_cannot_make_it_read_only() {
        let missing = Path::new("/no/such/source");
        let folder = tempfile::tempdir().unwrap();
        assert!(super::bind_then_remount(missing, folder.path()).is_err());
        let table = crate::mountinfo::MountTable::new(&crate::Roots::default());
        assert!(table.read().unwrap().top(folder.path()).is_none());
    }
}
