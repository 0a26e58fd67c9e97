//! When the simulated Azure attaches a disk, a device appears; when it detaches, the device goes.
//!
//! | file | holds |
//! |---|---|
//! | [`disks`] | contents: one sparse file per disk and snapshot |
//! | [`loopdev`] | loop devices over the kernel's ioctls |
//! | [`farm`] | each node's device root and its links |
//! | [`mounts`] | who has a device mounted |
//! | [`qmp`] | disks of QEMU virtual machines |
//! | [`sync`] | brings all of it in line with the world |
//!
//! A disk that is shared by several nodes is one loop device with a name under each of them. Two
//! loop devices over one file would be two page caches over one disk: a write through one would not
//! be seen through the other.

pub mod disks;
pub mod farm;
pub mod loopdev;
pub mod mounts;
pub mod qmp;
pub mod sync;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use disks::Backing;
use farm::Farm;
use loopdev::LoopDevice;
use nix::errno::Errno;

/// Why a device could not be given or taken.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Not enough rights.
    #[error("loop devices need root: start as root, or use --host-link none")]
    NotRoot,
    /// The kernel has no loop driver, or this container does not see it.
    #[error(
        "/dev/loop-control is missing: load the loop module (modprobe loop), or give the container access to it, or use --host-link none"
    )]
    NoLoopControl,
    /// The kernel said no to a loop device.
    #[error("the kernel refused to {act} loop device {number}")]
    Ioctl {
        /// What was asked.
        act: &'static str,
        /// The device.
        number: u32,
        /// The kernel's reason.
        source: Errno,
    },
    /// The world has a disk whose file is not there.
    #[error(
        "{0} is missing: the saved world has this disk; restore the file, or start over with an empty --dir"
    )]
    NoContents(String),
    /// The socket of a machine's monitor has a path that no socket can have.
    #[error("{0}: the path is too long for a socket: choose a shorter --dir")]
    LongPath(String),
    /// A virtual machine does not take or give a disk.
    #[error("the virtual machine of {node} does not do what Azure says")]
    Machine {
        /// Name of the node.
        node: String,
        /// Why.
        source: qmp::monitor::MonitorError,
    },
    /// A file or folder of the state directory.
    #[error("cannot {act} {path}")]
    Io {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: String,
        /// The reason.
        source: io::Error,
    },
}

impl LinkError {
    pub(crate) fn io(act: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            act,
            path: path.display().to_string(),
            source,
        }
    }
}

/// A disk that a node should see.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attachment {
    /// Name of the node.
    pub node: String,
    /// Slot on the node.
    pub lun: u32,
    /// Unique id of the disk, the key of its contents.
    pub disk: String,
    /// Logical sector size, 512 or 4096.
    pub sector: u32,
}

/// What taking a device away found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nobody used it.
    Clean,
    /// Somebody had it mounted or open: what they do with it now fails.
    InUse {
        /// Mount points, empty when it was merely open.
        mounts: Vec<PathBuf>,
    },
}

#[derive(Debug)]
struct Held {
    device: LoopDevice,
    users: BTreeSet<(String, u32)>,
}

/// Gives devices to nodes and takes them away.
#[derive(Debug)]
pub struct LoopLink {
    backing: Backing,
    farm: Farm,
    scratch: PathBuf,
    held: Mutex<BTreeMap<String, Held>>,
}

impl LoopLink {
    /// Opens the link over a state directory and brings devices in line with `wanted`: what an
    /// earlier process left and is still attached is taken over with its mounts, everything else
    /// that it left is let go.
    ///
    /// # Errors
    /// Without root or loop devices, or when a device cannot be made.
    pub fn start(dir: &Path, nodes: &[String], wanted: &[Attachment]) -> Result<Self, LinkError> {
        loopdev::preflight()?;
        let backing = Backing::open(&dir.join("disks"))?;
        let farm = Farm::open(&dir.join("nodes"))?;
        let scratch = dir.join("loop");
        fs::create_dir_all(&scratch).map_err(|e| LinkError::io("make the folder", &scratch, e))?;
        let link = Self {
            backing,
            farm,
            scratch,
            held: Mutex::new(BTreeMap::new()),
        };
        link.adopt(wanted)?;
        for node in nodes {
            link.farm.reset(node)?;
        }
        for attachment in wanted {
            link.attach(attachment)?;
        }
        Ok(link)
    }

    /// The contents of disks.
    #[must_use]
    pub const fn backing(&self) -> &Backing {
        &self.backing
    }

    /// The names of devices.
    #[must_use]
    pub const fn farm(&self) -> &Farm {
        &self.farm
    }

    /// Makes a disk appear on a node. Again is fine.
    ///
    /// # Errors
    /// When the device or a name cannot be made.
    pub fn attach(&self, wanted: &Attachment) -> Result<(), LinkError> {
        let mut held = self.lock();
        let device = match held.remove(&wanted.disk) {
            Some(entry) => entry,
            None => Held {
                device: self.bind(wanted)?,
                users: BTreeSet::new(),
            },
        };
        let entry = held.entry(wanted.disk.clone()).or_insert(device);
        entry.users.insert((wanted.node.clone(), wanted.lun));
        self.farm.show(&wanted.node, wanted.lun, &entry.device)
    }

    /// Makes a disk disappear from a node, as a hot-unplug does: it does not ask whether anyone is
    /// using it. Again is fine.
    ///
    /// # Errors
    /// When the kernel refuses; the names are gone all the same.
    pub fn detach(&self, gone: &Attachment) -> Result<Taken, LinkError> {
        let mut held = self.lock();
        let Some(mut entry) = held.remove(&gone.disk) else {
            return Ok(Taken::Clean);
        };
        if !entry.users.remove(&(gone.node.clone(), gone.lun)) {
            held.insert(gone.disk.clone(), entry);
            return Ok(Taken::Clean);
        }
        let name = entry.device.name();
        let node_path = self.farm.device_root(&gone.node).join(&name);
        let device = entry.device.major_minor();
        self.farm.hide(&gone.node, gone.lun, &name)?;
        let mounts = mounts::all()?;
        if !entry.users.is_empty() {
            held.insert(gone.disk.clone(), entry);
            let seen = mounts
                .iter()
                .filter(|m| mounts::came_through(m, &node_path));
            return Ok(taken(seen.map(|m| m.point.clone()).collect()));
        }
        let seen: Vec<_> = mounts
            .iter()
            .filter(|m| mounts::uses(m, device, &node_path))
            .map(|m| m.point.clone())
            .collect();
        self.unplug(&gone.disk, entry.device, seen)
    }

    /// Makes the device of an attached disk as large as its file.
    ///
    /// # Errors
    /// When the file or the device cannot grow.
    pub fn resize(&self, disk: &str, bytes: u64) -> Result<(), LinkError> {
        self.backing.ensure(disk, bytes)?;
        match self.lock().get(disk) {
            Some(entry) => entry.device.refresh_capacity(),
            None => Ok(()),
        }
    }

    /// Takes everything away that this link made: mounts of its devices first, then the devices.
    pub fn shutdown(&self) {
        let held = std::mem::take(&mut *self.lock());
        let table = mounts::all().unwrap_or_default();
        for (disk, entry) in held {
            let name = entry.device.name();
            let used = |mount: &&mounts::Mount| self.is_ours(mount, &entry, &name);
            mounts::detach_all(table.iter().filter(used).collect::<Vec<_>>().into_iter());
            for (node, lun) in &entry.users {
                if let Err(error) = self.farm.hide(node, *lun, &name) {
                    tracing::warn!(%error, node, "a device name stays");
                }
            }
            if let Err(error) = entry.device.release() {
                tracing::warn!(%error, disk, "a loop device stays");
            }
        }
        if let Err(error) = fs::remove_dir_all(&self.scratch) {
            tracing::debug!(%error, "the folder of device nodes stays");
        }
    }

    fn is_ours(&self, mount: &mounts::Mount, entry: &Held, name: &str) -> bool {
        let device = entry.device.major_minor();
        mount.device == device
            || entry.users.iter().any(|(node, _)| {
                mounts::uses(mount, device, &self.farm.device_root(node).join(name))
            })
    }

    fn bind(&self, wanted: &Attachment) -> Result<LoopDevice, LinkError> {
        LoopDevice::bind(
            &self.backing.path(&wanted.disk),
            wanted.sector,
            &self.scratch,
        )
    }

    /// Lets the device go. When somebody still uses it, the disk is moved to a new file and the old
    /// one is emptied, so that their reads and writes fail as they do after a hot-unplug, and what
    /// they had written until now stays on the disk.
    fn unplug(
        &self,
        disk: &str,
        device: LoopDevice,
        mounts: Vec<PathBuf>,
    ) -> Result<Taken, LinkError> {
        let number = device.number();
        let claimed = device.is_claimed() || !mounts.is_empty();
        if claimed {
            self.backing.sever(disk)?;
            device.refresh_capacity()?;
        }
        device.release()?;
        if claimed {
            return Ok(Taken::InUse { mounts });
        }
        let path = self.backing.path(disk);
        if loopdev::bound(number).is_none_or(|bound| bound.backing != path) {
            return Ok(Taken::Clean);
        }
        let open = LoopDevice::open(number, &self.scratch)?;
        self.backing.sever(disk)?;
        open.refresh_capacity()?;
        open.release()?;
        Ok(Taken::InUse { mounts })
    }

    fn adopt(&self, wanted: &[Attachment]) -> Result<(), LinkError> {
        let mut held = self.lock();
        for bound in loopdev::bound_under(self.backing.root())? {
            let device = LoopDevice::open(bound.number, &self.scratch)?;
            let owner = wanted
                .iter()
                .find(|a| !bound.deleted && self.backing.path(&a.disk) == bound.backing);
            match owner {
                Some(a) if !held.contains_key(&a.disk) => {
                    held.insert(
                        a.disk.clone(),
                        Held {
                            device,
                            users: BTreeSet::new(),
                        },
                    );
                }
                _ => {
                    tracing::info!(
                        number = bound.number,
                        "letting go a device of an earlier run"
                    );
                    let number = device.major_minor();
                    let table = mounts::all()?;
                    let left: Vec<_> = table.iter().filter(|m| m.device == number).collect();
                    mounts::detach_all(left.into_iter());
                    device.release()?;
                }
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LoopLink {
    fn drop(&mut self) {
        self.shutdown();
    }
}

fn taken(mounts: Vec<PathBuf>) -> Taken {
    if mounts.is_empty() {
        Taken::Clean
    } else {
        Taken::InUse { mounts }
    }
}
