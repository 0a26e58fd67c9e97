//! Proof that a device stays the device that was found.
//!
//! An open descriptor keeps the kernel from giving the same number to another disk, and the kernel's
//! sequence number tells whether it did all the same. The guard reads only: closing a writable
//! descriptor makes udev look at the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

use azcsi_types::fault::{Fault, Faulty};
use nix::libc;

use super::{Devices, Disk};
use crate::mountinfo::DevT;

mod sys {
    nix::ioctl_read!(blk_get_size64, 0x12, 114, usize);
    nix::ioctl_none!(blk_flush_buffers, 0x12, 97);
}

/// The device is not what it was, or cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Changed {
    /// The kernel refused.
    #[error("cannot open the device '{name}'")]
    Open {
        /// The kernel's name of the device.
        name: String,
        /// The reason.
        source: io::Error,
    },
    /// Another disk has the name now.
    #[error("the device '{name}' is not the same disk any more")]
    Replaced {
        /// The kernel's name of the device.
        name: String,
    },
    /// Something else has claimed it: a mount, multipath, LVM, md.
    #[error("the device '{name}' is in use by something else ({holders})")]
    Claimed {
        /// The kernel's name of the device.
        name: String,
        /// Who, as far as sysfs knows.
        holders: String,
    },
}

impl Faulty for Changed {
    fn fault(&self) -> Fault {
        Fault::Unavailable
    }
}

/// An open device that was proven to be the disk that was found.
#[derive(Debug)]
pub struct Guard {
    file: File,
    disk: Disk,
    sequence: Option<u64>,
}

impl Guard {
    pub(super) fn open(devices: &Devices, disk: &Disk) -> Result<Self, Changed> {
        let sequence = devices.sequence(disk);
        let file = File::open(&disk.node).map_err(|source| Changed::Open {
            name: disk.name.clone(),
            source,
        })?;
        let guard = Self {
            file,
            disk: disk.clone(),
            sequence,
        };
        guard.verify(devices)?;
        Ok(guard)
    }

    /// The disk that is guarded.
    #[must_use]
    pub const fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Checks that name, number and sequence still belong to the disk that was opened.
    ///
    /// # Errors
    /// [`Changed::Replaced`] when they do not.
    pub fn verify(&self, devices: &Devices) -> Result<(), Changed> {
        let is_ours = |meta: &std::fs::Metadata| {
            meta.file_type().is_block_device() && DevT::from_raw(meta.rdev()) == self.disk.device
        };
        let open = self.file.metadata().is_ok_and(|meta| is_ours(&meta));
        let named = std::fs::metadata(&self.disk.node).is_ok_and(|meta| is_ours(&meta));
        if open && named && devices.sequence(&self.disk) == self.sequence {
            Ok(())
        } else {
            Err(Changed::Replaced {
                name: self.disk.name.clone(),
            })
        }
    }

    /// Proves, by claiming the device for a moment, that nothing else has claimed it.
    ///
    /// # Errors
    /// [`Changed::Claimed`] when something has; [`Changed::Open`] for anything else.
    pub fn prove_unclaimed(&self, devices: &Devices) -> Result<(), Changed> {
        let name = || self.disk.name.clone();
        let holders = devices.holders(&self.disk);
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_EXCL | libc::O_CLOEXEC)
            .open(&self.disk.node);
        match opened {
            Ok(_) if holders.is_empty() => Ok(()),
            Err(source) if source.raw_os_error() != Some(libc::EBUSY) => Err(Changed::Open {
                name: name(),
                source,
            }),
            _ => Err(Changed::Claimed {
                name: name(),
                holders: if holders.is_empty() {
                    "a mount or another program".to_owned()
                } else {
                    holders.join(", ")
                },
            }),
        }
    }

    /// Size in bytes, from the device itself.
    ///
    /// # Errors
    /// The kernel's reason.
    #[expect(unsafe_code, reason = "ioctl")]
    pub fn size(&self) -> Result<u64, Changed> {
        let mut bytes: usize = 0;
        // SAFETY: the descriptor is an open block device, and the kernel writes one 64-bit number
        // (the size in its name) to a variable that lives until the call returns.
        unsafe { sys::blk_get_size64(self.file.as_raw_fd(), &raw mut bytes) }.map_err(|errno| {
            Changed::Open {
                name: self.disk.name.clone(),
                source: errno.into(),
            }
        })?;
        u64::try_from(bytes).map_err(|error| Changed::Open {
            name: self.disk.name.clone(),
            source: io::Error::other(error),
        })
    }

    /// Writes out and forgets what the kernel has cached of the device.
    ///
    /// # Errors
    /// The kernel's reason.
    #[expect(unsafe_code, reason = "ioctl")]
    pub fn flush(&self) -> Result<(), Changed> {
        // SAFETY: the descriptor is an open block device; the call takes no pointer.
        unsafe { sys::blk_flush_buffers(self.file.as_raw_fd()) }
            .map(drop)
            .map_err(|errno| Changed::Open {
                name: self.disk.name.clone(),
                source: errno.into(),
            })
    }
}
