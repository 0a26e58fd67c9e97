//! Loop devices, straight over the kernel's ioctls.
//!
//! Numbers and structures are those of `linux/loop.h`. This is the only place of the simulator that
//! needs unsafe code, and the only one that knows how a loop device is made, grown or let go.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};

use super::LinkError;

/// How often a free number is asked for again when another process took it first.
const FREE_ATTEMPTS: u32 = 64;

/// Raw ioctls. Each is unsafe because the kernel trusts the pointer or descriptor it gets.
mod sys {
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Info64 {
        pub(super) device: u64,
        pub(super) inode: u64,
        pub(super) rdevice: u64,
        pub(super) offset: u64,
        pub(super) sizelimit: u64,
        pub(super) number: u32,
        pub(super) encrypt_type: u32,
        pub(super) encrypt_key_size: u32,
        pub(super) flags: u32,
        pub(super) file_name: [u8; 64],
        pub(super) crypt_name: [u8; 64],
        pub(super) encrypt_key: [u8; 32],
        pub(super) init: [u64; 2],
    }

    impl Info64 {
        pub(super) const EMPTY: Self = Self {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            sizelimit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: 0,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        };
    }

    #[repr(C)]
    #[derive(Debug)]
    pub(super) struct Config {
        pub(super) fd: u32,
        pub(super) block_size: u32,
        pub(super) info: Info64,
        pub(super) reserved: [u64; 8],
    }

    nix::ioctl_none_bad!(ctl_get_free, 0x4C82);
    nix::ioctl_none_bad!(clear_fd, 0x4C01);
    nix::ioctl_none_bad!(set_capacity, 0x4C07);
    nix::ioctl_write_ptr_bad!(configure, 0x4C0A, Config);
}

/// One loop device. It is opened for each act and not held open, because a device that is open
/// cannot go away. Dropping this leaves the device bound: letting go is an explicit act.
#[derive(Debug)]
pub struct LoopDevice {
    number: u32,
    path: PathBuf,
    major_minor: (u64, u64),
}

impl LoopDevice {
    /// Binds `backing` to a free loop device with the given logical sector size.
    ///
    /// # Errors
    /// Without the right to control loop devices, or when the kernel has no free one.
    pub fn bind(backing: &Path, sector: u32, scratch: &Path) -> Result<Self, LinkError> {
        let control = open_control()?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(backing)
            .map_err(|source| LinkError::io("open the backing file", backing, source))?;
        let mut last = Errno::EBUSY;
        for _ in 0..FREE_ATTEMPTS {
            let number = free_number(&control)?;
            let device = Self::open(number, scratch)?;
            match device
                .try_open()
                .and_then(|node| Self::configure(&node, &file, sector))
            {
                Ok(()) => return Ok(device),
                // Someone else was faster and has the number, or is letting it go at this moment.
                Err(taken @ (Errno::EBUSY | Errno::ENXIO)) => last = taken,
                Err(errno) => return Err(device.failed("bind", errno)),
            }
        }
        Err(LinkError::Ioctl {
            act: "bind",
            number: 0,
            source: last,
        })
    }

    /// An existing loop device by its number, reached through a device node made under `scratch`.
    ///
    /// # Errors
    /// When the kernel does not know the number or the node cannot be made.
    pub fn open(number: u32, scratch: &Path) -> Result<Self, LinkError> {
        let major_minor = device_number(number)?;
        let path = scratch.join(format!("loop{number}"));
        make_node(&path, major_minor)?;
        Ok(Self {
            number,
            path,
            major_minor,
        })
    }

    fn node(&self) -> Result<File, LinkError> {
        self.try_open()
            .map_err(|errno| LinkError::io("open the loop device", &self.path, errno.into()))
    }

    fn try_open(&self) -> Result<File, Errno> {
        let opened = OpenOptions::new().read(true).write(true).open(&self.path);
        opened.map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))
    }

    /// The number in the kernel's name, `loopN`.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("loop{}", self.number)
    }

    /// Major and minor device number.
    #[must_use]
    pub const fn major_minor(&self) -> (u64, u64) {
        self.major_minor
    }

    #[expect(unsafe_code, reason = "ioctl")]
    fn configure(node: &File, file: &File, sector: u32) -> Result<(), Errno> {
        let raw = u32::try_from(file.as_raw_fd()).map_err(|_| Errno::EBADF)?;
        let config = sys::Config {
            fd: raw,
            block_size: sector,
            info: sys::Info64::EMPTY,
            reserved: [0; 8],
        };
        // SAFETY: both descriptors are open for the call; the structure has the kernel's layout and
        // lives until the call returns.
        unsafe { sys::configure(node.as_raw_fd(), &raw const config) }.map(drop)
    }

    /// Makes the device as large as its file is now.
    ///
    /// # Errors
    /// When the kernel refuses, with its reason.
    #[expect(unsafe_code, reason = "ioctl")]
    pub fn refresh_capacity(&self) -> Result<(), LinkError> {
        let node = self.node()?;
        // SAFETY: the descriptor is an open loop device; the call takes no pointer.
        unsafe { sys::set_capacity(node.as_raw_fd()) }
            .map(drop)
            .map_err(|errno| self.failed("resize", errno))
    }

    /// Tells the kernel to let the file go as soon as nobody has the device open. This process
    /// closes it here, so the device is free on return unless someone else uses it.
    ///
    /// # Errors
    /// When the kernel refuses, with its reason.
    #[expect(unsafe_code, reason = "ioctl")]
    pub fn release(self) -> Result<(), LinkError> {
        let node = self.node()?;
        // SAFETY: the descriptor is an open loop device; the call takes no pointer.
        match unsafe { sys::clear_fd(node.as_raw_fd()) } {
            Ok(_) | Err(Errno::ENXIO) => Ok(()),
            Err(errno) => Err(self.failed("release", errno)),
        }
    }

    /// Whether a mount or another exclusive user holds the device, in any mount namespace.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        let exclusive = OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_EXCL)
            .open(&self.path);
        matches!(exclusive, Err(error) if error.raw_os_error() == Some(nix::libc::EBUSY))
    }

    fn failed(&self, act: &'static str, source: Errno) -> LinkError {
        LinkError::Ioctl {
            act,
            number: self.number,
            source,
        }
    }
}

/// A loop device that is bound to a file, as sysfs shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The number in the kernel's name.
    pub number: u32,
    /// The file.
    pub backing: PathBuf,
    /// Whether the file has lost its name: the device was pulled while in use.
    pub deleted: bool,
}

/// Every loop device of this machine whose file is inside `dir`.
///
/// # Errors
/// When sysfs cannot be read.
pub fn bound_under(dir: &Path) -> Result<Vec<Bound>, LinkError> {
    let sysfs = Path::new("/sys/block");
    let entries =
        fs::read_dir(sysfs).map_err(|source| LinkError::io("list block devices", sysfs, source))?;
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(number) = name
            .to_str()
            .and_then(|n| n.strip_prefix("loop"))
            .and_then(|n| n.parse().ok())
        else {
            continue;
        };
        if let Some(bound) = bound(number).filter(|bound| bound.backing.starts_with(dir)) {
            found.push(bound);
        }
    }
    found.sort_by_key(|bound| bound.number);
    Ok(found)
}

/// What is behind a loop device; `None` when the device is free.
#[must_use]
pub fn bound(number: u32) -> Option<Bound> {
    let text = fs::read_to_string(format!("/sys/block/loop{number}/loop/backing_file")).ok()?;
    let path = text.trim_end_matches('\n');
    let (path, deleted) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    Some(Bound {
        number,
        backing: PathBuf::from(path),
        deleted,
    })
}

/// Checks, before anything is promised, that this process may make loop devices.
///
/// # Errors
/// Says what is missing and what to do.
pub fn preflight() -> Result<(), LinkError> {
    if !nix::unistd::geteuid().is_root() {
        return Err(LinkError::NotRoot);
    }
    open_control().map(drop)
}

fn open_control() -> Result<File, LinkError> {
    let path = Path::new("/dev/loop-control");
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => LinkError::NoLoopControl,
            std::io::ErrorKind::PermissionDenied => LinkError::NotRoot,
            _ => LinkError::io("open", path, source),
        })
}

#[expect(unsafe_code, reason = "ioctl")]
fn free_number(control: &File) -> Result<u32, LinkError> {
    // SAFETY: the descriptor is the open control device; the call takes no pointer.
    let answer = unsafe { sys::ctl_get_free(control.as_raw_fd()) };
    answer
        .and_then(|number| u32::try_from(number).map_err(|_| Errno::ENODEV))
        .map_err(|source| LinkError::Ioctl {
            act: "find a free",
            number: 0,
            source,
        })
}

fn device_number(number: u32) -> Result<(u64, u64), LinkError> {
    let path = PathBuf::from(format!("/sys/block/loop{number}/dev"));
    let text = fs::read_to_string(&path).map_err(|source| LinkError::io("read", &path, source))?;
    parse_device_number(&text).ok_or(LinkError::Ioctl {
        act: "read the number of",
        number,
        source: Errno::EINVAL,
    })
}

fn parse_device_number(text: &str) -> Option<(u64, u64)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Makes a block device node, replacing whatever had the name.
///
/// # Errors
/// When the filesystem does not take device nodes or the right is missing.
pub fn make_node(path: &Path, (major, minor): (u64, u64)) -> Result<(), LinkError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(LinkError::io("replace", path, source));
        }
        _ => {}
    }
    let mode = Mode::S_IRUSR | Mode::S_IWUSR | Mode::S_IRGRP | Mode::S_IWGRP;
    mknod(path, SFlag::S_IFBLK, mode, makedev(major, minor))
        .map_err(|errno| LinkError::io("make the device node", path, errno.into()))
}

#[cfg(test)]
mod tests;
