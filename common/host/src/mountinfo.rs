//! The mount table, as `/proc/self/mountinfo` shows it (`proc_pid_mountinfo(5)`).

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::HostError;
use crate::roots::Roots;

/// A device number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevT {
    /// Which driver.
    pub major: u64,
    /// Which of its devices.
    pub minor: u64,
}

impl DevT {
    /// From the combined form of `stat(2)`.
    #[must_use]
    pub fn from_raw(raw: u64) -> Self {
        Self {
            major: nix::sys::stat::major(raw),
            minor: nix::sys::stat::minor(raw),
        }
    }

    /// From the form `8:16` that sysfs and mountinfo use.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl fmt::Display for DevT {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of it.
    pub id: u64,
    /// The mount that it lies on.
    pub parent: u64,
    /// The device number of its filesystem; made up by the kernel for btrfs.
    pub device: DevT,
    /// Which folder or file of the filesystem is its root; not `/` for a bind of a part.
    pub root: PathBuf,
    /// Where it is.
    pub point: PathBuf,
    /// Options of this mount.
    pub options: Vec<String>,
    /// The filesystem.
    pub fs_type: String,
    /// The device, or whatever the filesystem calls its source.
    pub source: PathBuf,
    /// Options of the filesystem.
    pub super_options: Vec<String>,
}

impl Mount {
    /// Whether nothing can be written through this mount.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        has(&self.options, "ro") || has(&self.super_options, "ro")
    }

    /// Whether the filesystem itself is read-only, for everybody.
    #[must_use]
    pub fn is_filesystem_read_only(&self) -> bool {
        has(&self.super_options, "ro")
    }

    /// Whether the kernel turned the filesystem read-only after an error: the mount was asked to be
    /// writable, but the filesystem is not.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        !has(&self.options, "ro") && has(&self.super_options, "ro")
    }

    /// The block device behind it. btrfs shows a made-up number, so there the source is looked at.
    #[must_use]
    pub fn block_device(&self) -> DevT {
        if self.device.major != 0 || self.fs_type != "btrfs" {
            return self.device;
        }
        match fs::metadata(&self.source) {
            Ok(meta) if meta.file_type().is_block_device() => DevT::from_raw(meta.rdev()),
            _ => self.device,
        }
    }
}

fn has(options: &[String], word: &str) -> bool {
    options.iter().any(|option| option == word)
}

/// All mounts that a process sees, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table(Vec<Mount>);

impl Table {
    /// Reads the text of a mountinfo file. Lines that cannot be read are an error: a table with
    /// holes would let a mounted path look free.
    ///
    /// # Errors
    /// The first line that is not in the kernel's format.
    pub fn parse(text: &[u8]) -> Result<Self, BadLine> {
        text.split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| {
                mount_of(line).ok_or_else(|| BadLine(String::from_utf8_lossy(line).into_owned()))
            })
            .collect::<Result<Vec<_>, _>>()
            .map(Self)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.0.iter()
    }

    /// The mounts at exactly this path; the last one is what a process sees there.
    #[must_use]
    pub fn at(&self, path: &Path) -> Vec<&Mount> {
        self.0.iter().filter(|mount| mount.point == path).collect()
    }

    /// What a process sees at exactly this path.
    #[must_use]
    pub fn top(&self, path: &Path) -> Option<&Mount> {
        self.at(path).pop()
    }

    /// The mounts of one block device.
    #[must_use]
    pub fn of_device(&self, device: DevT) -> Vec<&Mount> {
        self.0
            .iter()
            .filter(|mount| mount.device == device || mount.block_device() == device)
            .collect()
    }

    /// Binds of one device node: mounts of a file in a device tree, which is how a block volume is
    /// published. Only mounts of a single file are looked at, and none of a filesystem that may
    /// hang when its server is gone.
    #[must_use]
    pub fn of_node(&self, device: DevT) -> Vec<&Mount> {
        let is_node = |mount: &&Mount| {
            fs::symlink_metadata(&mount.point).is_ok_and(|meta| {
                meta.file_type().is_block_device() && DevT::from_raw(meta.rdev()) == device
            })
        };
        self.0
            .iter()
            .filter(|mount| mount.root != Path::new("/") && !may_hang(&mount.fs_type))
            .filter(is_node)
            .collect()
    }
}

fn may_hang(fs_type: &str) -> bool {
    ["nfs", "cifs", "smb", "fuse", "ceph", "9p", "afs"]
        .iter()
        .any(|start| fs_type.starts_with(start))
}

/// A line that is not in the kernel's format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a line of a mount table")]
pub struct BadLine(String);

fn mount_of(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line
        .split(|&byte| byte == b' ')
        .filter(|field| !field.is_empty())
        .collect();
    let dash = fields.iter().skip(6).position(|field| field == b"-")? + 6;
    let text = |index: usize| std::str::from_utf8(fields.get(index)?).ok();
    let path = |index: usize| Some(PathBuf::from(unescape(fields.get(index)?)));
    Some(Mount {
        id: text(0)?.parse().ok()?,
        parent: text(1)?.parse().ok()?,
        device: DevT::parse(text(2)?)?,
        root: path(3)?,
        point: path(4)?,
        options: words(fields.get(5)?),
        fs_type: text(dash + 1)?.to_owned(),
        source: path(dash + 2).unwrap_or_default(),
        super_options: fields
            .get(dash + 3)
            .map(|field| words(field))
            .unwrap_or_default(),
    })
}

fn words(field: &[u8]) -> Vec<String> {
    let text = unescape(field);
    let text = text.to_string_lossy();
    text.split(',').map(str::to_owned).collect()
}

/// Undoes the kernel's escapes: a backslash and three octal digits.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, octal(tail)) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(bytes)
}

fn octal(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits.get(..3)?).ok()?;
    u8::from_str_radix(digits, 8).ok()
}

/// Writes a path as the kernel does; the inverse of reading one.
#[must_use]
pub fn escape(path: &Path) -> String {
    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        if byte <= b' ' || byte == b'\\' || byte >= 0x7f || byte == b'#' {
            text.push_str(&format!("\\{byte:03o}"));
        } else {
            text.push(char::from(byte));
        }
    }
    text
}

/// Reads the mount table of this process.
#[derive(Clone, Debug)]
pub struct MountTable {
    file: PathBuf,
}

impl MountTable {
    /// The table under a procfs.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            file: roots.proc.join("self/mountinfo"),
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// When procfs cannot be read, or does not read as expected.
    pub fn read(&self) -> Result<Table, HostError> {
        let text =
            fs::read(&self.file).map_err(|source| HostError::io("read", &self.file, source))?;
        Table::parse(&text).map_err(|error| HostError::Unreadable {
            path: self.file.clone(),
            why: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests;
