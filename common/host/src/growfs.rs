//! Growing a mounted filesystem to the size of its device.
//!
//! Success means that the filesystem is large enough, not that a tool said so: the size is read from
//! the filesystem before and after.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use azcsi_types::clock::Deadline;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;

use crate::error::HostError;
use crate::exec::{Exec, ExecError, Exit};
use crate::probe::{self, FsKind};
use crate::roots::Roots;
use crate::tools::Tools;
use crate::worker::Workers;

/// A gap to the end of the device that is not worth a tool: less than any allocation unit.
const SLACK: u64 = 1024 * 1024;
/// Part of a device that a filesystem may leave unused although it has grown, as a divisor: the
/// last block group may be too small to be used.
const OVERHEAD: u64 = 32;
/// Longest wait for the size of a mounted filesystem.
const WAIT: Duration = Duration::from_secs(10);

mod sys {
    /// The first version of the answer, which every kernel gives (`struct xfs_fsop_geom_v1`).
    #[repr(C)]
    #[derive(Debug, Default)]
    pub(super) struct XfsGeometry {
        pub(super) block_size: u32,
        rest: [u32; 7],
        pub(super) data_blocks: u64,
        more: [u64; 9],
    }

    nix::ioctl_read!(xfs_geometry, b'X', 100, XfsGeometry);
}

/// Why a filesystem did not grow.
#[derive(Debug, thiserror::Error)]
pub enum GrowError {
    /// The tool is not on this node.
    #[error("{tool} is not installed on this node")]
    Missing {
        /// Its name.
        tool: &'static str,
    },
    /// The tool gave no result.
    #[error("growing the {kind} filesystem did not end")]
    Exec {
        /// Which.
        kind: FsKind,
        /// Why.
        source: ExecError,
    },
    /// The tool failed and the filesystem is too small.
    #[error(
        "the {kind} filesystem has {bytes} of {device} bytes and did not grow ({exit:?}): {said}"
    )]
    Failed {
        /// Which.
        kind: FsKind,
        /// Its size now.
        bytes: u64,
        /// The size of the device.
        device: u64,
        /// How the tool ended.
        exit: Exit,
        /// What it said.
        said: String,
    },
    /// The size of the filesystem cannot be read.
    #[error("the size of the filesystem cannot be read")]
    Size(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Faulty for GrowError {
    fn fault(&self) -> Fault {
        match self {
            Self::Missing { .. } | Self::Failed { .. } => Fault::Internal,
            Self::Exec { source, .. } => source.fault(),
            Self::Size(_) => Fault::Unavailable,
        }
    }
}

/// Whether a tool is needed.
#[must_use]
pub const fn is_needed(filesystem: u64, device: u64) -> bool {
    filesystem.saturating_add(SLACK) < device
}

/// Whether the filesystem fills the device well enough although its tool complained.
const fn is_enough(filesystem: u64, device: u64) -> bool {
    let overhead = if device / OVERHEAD > SLACK {
        device / OVERHEAD
    } else {
        SLACK
    };
    filesystem.saturating_add(overhead) >= device
}

/// Whether the kernel lets this process grow a mounted ext filesystem. It asks for the capability
/// `CAP_SYS_RESOURCE`, which a privileged container has, but a restricted one may lack.
#[must_use]
pub fn may_grow_mounted_ext(roots: &Roots) -> bool {
    const SYS_RESOURCE: u32 = 24;
    let Ok(status) = std::fs::read_to_string(roots.proc.join("self/status")) else {
        return true;
    };
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    mask.is_none_or(|mask| mask & (1 << SYS_RESOURCE) != 0)
}

/// A mounted filesystem and its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Which filesystem.
    pub kind: FsKind,
    /// The device node.
    pub node: PathBuf,
    /// Where it is mounted, writable.
    pub point: PathBuf,
    /// Size of the device in bytes.
    pub device: u64,
}

/// Grows filesystems.
#[derive(Clone, Debug)]
pub struct Grow {
    exec: Exec,
    tools: Tools,
    workers: Workers,
}

impl Grow {
    /// With the given tools.
    #[must_use]
    pub fn new(exec: Exec, tools: Tools) -> Self {
        Self {
            exec,
            tools,
            workers: Workers::default(),
        }
    }

    /// Grows a filesystem to the end of its device, unless it is there; returns its size in bytes.
    ///
    /// # Errors
    /// When it is too small afterwards, or that is not known.
    pub async fn to_device(&self, op: &Op, mounted: &Mounted) -> Result<u64, GrowError> {
        let before = self.size(mounted).await?;
        if !is_needed(before, mounted.device) {
            return Ok(before);
        }
        let (exit, said) = self.tool(mounted, op.deadline()).await?;
        let bytes = self.size(mounted).await?;
        match exit {
            Exit::Code(0) => Ok(bytes),
            _ if is_enough(bytes, mounted.device) => {
                tracing::warn!(kind = %mounted.kind, ?exit, said, "the tool complained, but the filesystem grew");
                Ok(bytes)
            }
            _ => Err(GrowError::Failed {
                kind: mounted.kind,
                bytes,
                device: mounted.device,
                exit,
                said,
            }),
        }
    }

    /// Grows an ext filesystem that is not mounted to the end of its device. It has to be checked
    /// fully before.
    ///
    /// # Errors
    /// When the tool fails.
    pub async fn unmounted_ext(&self, op: &Op, unmounted: &Mounted) -> Result<(), GrowError> {
        match self.tool(unmounted, op.deadline()).await? {
            (Exit::Code(0), _) => Ok(()),
            (exit, said) => Err(GrowError::Failed {
                kind: unmounted.kind,
                bytes: 0,
                device: unmounted.device,
                exit,
                said,
            }),
        }
    }

    /// How large a mounted filesystem is, in bytes.
    ///
    /// # Errors
    /// When it cannot be read in time.
    pub async fn size(&self, mounted: &Mounted) -> Result<u64, GrowError> {
        let asked = mounted.clone();
        let answer = self
            .workers
            .run("read the size of", &mounted.point, WAIT, move || {
                Ok(size_now(&asked))
            })
            .await;
        match answer {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(GrowError::Size(error)),
            Err(error) => Err(GrowError::Size(Box::new(error))),
        }
    }

    async fn tool(&self, mounted: &Mounted, until: Deadline) -> Result<(Exit, String), GrowError> {
        let (tool, args): (_, Vec<OsString>) = match mounted.kind {
            FsKind::Ext2 | FsKind::Ext3 | FsKind::Ext4 => {
                ("resize2fs", vec![mounted.node.clone().into()])
            }
            FsKind::Xfs => (
                "xfs_growfs",
                vec!["-d".into(), mounted.point.clone().into()],
            ),
            FsKind::Btrfs => (
                "btrfs",
                vec![
                    "filesystem".into(),
                    "resize".into(),
                    "max".into(),
                    mounted.point.clone().into(),
                ],
            ),
        };
        let path = self.tools.path(tool).ok_or(GrowError::Missing { tool })?;
        let output = self
            .exec
            .run(path, &args, until)
            .await
            .map_err(|source| GrowError::Exec {
                kind: mounted.kind,
                source,
            })?;
        Ok((output.exit, output.said()))
    }
}

fn size_now(mounted: &Mounted) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    match mounted.kind {
        FsKind::Ext2 | FsKind::Ext3 | FsKind::Ext4 => Ok(probe::mounted_ext_size(&mounted.node)?),
        FsKind::Xfs => Ok(xfs_size(&mounted.point)?),
        FsKind::Btrfs => nix::sys::statvfs::statvfs(&mounted.point)
            .map(|stat| stat.blocks().saturating_mul(stat.fragment_size()))
            .map_err(|errno| {
                HostError::io("read the size of", &mounted.point, errno.into()).into()
            }),
    }
}

#[expect(unsafe_code, reason = "ioctl")]
fn xfs_size(point: &Path) -> Result<u64, HostError> {
    let fail = |source| HostError::io("read the size of", point, source);
    let folder = File::open(point).map_err(fail)?;
    let mut geometry = sys::XfsGeometry::default();
    // SAFETY: the descriptor is open, and the kernel fills one structure of its own layout and size
    // that lives until the call returns.
    unsafe { sys::xfs_geometry(folder.as_raw_fd(), &raw mut geometry) }
        .map_err(|errno| fail(errno.into()))?;
    Ok(geometry
        .data_blocks
        .saturating_mul(u64::from(geometry.block_size)))
}

#[cfg(test)]
mod tests;
