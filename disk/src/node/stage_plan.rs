//! What to do at a staging path, and with what is on a device. Pure.

use azcsi_host::fsck::{self, FsckPolicy};
use azcsi_host::mkfs::{Kernel, Overwrite};
use azcsi_host::probe::{Content, FsKind};

use super::context::{OptIn, Origin};
use super::identity::{IdentityCheck, Trust};

/// What is mounted at the staging path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Whether it is the volume's device.
    pub is_device: bool,
    /// Whether its device still works.
    pub is_alive: bool,
    /// Whether it is the whole filesystem, of the kind that is wanted.
    pub is_filesystem: bool,
    /// Whether it is as writable as wanted.
    pub is_mode: bool,
}

/// What to do at the staging path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStaging {
    /// Mount there.
    Mount,
    /// Nothing: the volume is there already.
    Staged,
    /// Take away what is left of a dead device, then mount.
    CleanUp,
    /// Leave it alone.
    Refuse(&'static str),
}

/// Decides it.
#[must_use]
pub const fn at_staging(mounted: Option<Mounted>) -> AtStaging {
    let Some(mounted) = mounted else {
        return AtStaging::Mount;
    };
    if !mounted.is_alive {
        return AtStaging::CleanUp;
    }
    if !mounted.is_device {
        return AtStaging::Refuse("another device is mounted there");
    }
    if !mounted.is_filesystem {
        return AtStaging::Refuse("it is mounted there with another filesystem");
    }
    if !mounted.is_mode {
        return AtStaging::Refuse("it is mounted there with other write access");
    }
    AtStaging::Staged
}

/// The mount option without which a filesystem on a write-protected device wants to replay its
/// journal (mount options of the kernel's filesystems).
#[must_use]
pub fn without_recovery(kind: FsKind, kernel: Kernel) -> Option<&'static str> {
    match kind {
        FsKind::Ext2 => None,
        FsKind::Ext3 | FsKind::Ext4 => Some("noload"),
        FsKind::Xfs => Some("norecovery"),
        // The newer word came with kernel 5.9; the older one goes away.
        FsKind::Btrfs if kernel >= Kernel(5, 9) => Some("rescue=nologreplay"),
        FsKind::Btrfs => Some("nologreplay"),
    }
}

/// What a format depends on, beyond the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// How sure it is that this is the disk.
    pub trust: Trust,
    /// How strict to be.
    pub check: IdentityCheck,
    /// Where its content is from.
    pub origin: Origin,
    /// The owner's word.
    pub opt_in: OptIn,
    /// Whether the volume is to be read only.
    pub read_only: bool,
    /// Whether it is a partition.
    pub is_partition: bool,
    /// Whether this driver began to make a filesystem on this very attachment and was interrupted.
    pub is_unfinished: bool,
}

/// What to do with the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnDevice {
    /// Mount it.
    Mount {
        /// After a check.
        check: bool,
    },
    /// Make a filesystem first.
    Format(Overwrite),
    /// Nothing.
    Refuse(String),
}

/// Decides it.
#[must_use]
pub fn on_device(
    content: &Content,
    wanted: FsKind,
    rights: &Rights,
    policy: FsckPolicy,
) -> OnDevice {
    match content {
        Content::Filesystem(found) if found.kind == wanted => {
            let check = found.ext.is_some_and(|state| {
                let policy = if rights.is_unfinished {
                    FsckPolicy::Always
                } else {
                    policy
                };
                !rights.read_only && fsck::is_needed(policy, state)
            });
            OnDevice::Mount { check }
        }
        Content::Filesystem(found) => OnDevice::Refuse(format!(
            "it holds a {} filesystem, but {wanted} is wanted: nothing was written; set the \
             filesystem type to {}",
            found.kind, found.kind
        )),
        Content::Other(names) => {
            let ours = rights.is_unfinished && names.as_slice() == ["an unfinished xfs"];
            if ours {
                format(rights, Overwrite::Unfinished)
            } else {
                OnDevice::Refuse(format!(
                    "it holds {}: nothing was written",
                    names.join(" and ")
                ))
            }
        }
        Content::Data { offset } => {
            if rights.is_unfinished || rights.opt_in == OptIn::NonBlank {
                format(rights, Overwrite::Unfinished)
            } else {
                OnDevice::Refuse(format!(
                    "it is not blank (data at byte {offset}) and has no filesystem: nothing was \
                     written"
                ))
            }
        }
        Content::Blank => format(rights, Overwrite::Nothing),
    }
}

/// Whether a filesystem may be made at all.
fn format(rights: &Rights, overwrite: Overwrite) -> OnDevice {
    let refuse = |why: &str| OnDevice::Refuse(format!("it has no filesystem and {why}"));
    if rights.read_only {
        return refuse("is to be read only");
    }
    if rights.is_partition {
        return refuse("is a partition, which this driver never formats");
    }
    if rights.trust != Trust::Proven {
        return refuse("Azure has not confirmed which disk it is, so it is not formatted");
    }
    match (rights.origin, rights.opt_in, rights.check) {
        (Origin::Filled, _, _) => {
            refuse("was made from a copy, which is never formatted: make its filesystem by hand")
        }
        (_, OptIn::Blank | OptIn::NonBlank, _) | (Origin::Empty, _, _) => {
            OnDevice::Format(overwrite)
        }
        // Volumes of older drivers carry no word on their origin. Blank ones were made empty.
        (Origin::Unknown, _, IdentityCheck::Compat) => OnDevice::Format(overwrite),
        (Origin::Unknown, _, IdentityCheck::Strict) => refuse(
            "nothing says that it was created empty; if it was, set allowFormat to true in the \
                 volumeAttributes of its PersistentVolume",
        ),
    }
}

#[cfg(test)]
mod tests;
