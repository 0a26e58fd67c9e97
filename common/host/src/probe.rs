//! What is on a device.
//!
//! The answer "nothing" allows formatting, so it is a proof, not the absence of a finding: every
//! byte that was sampled was read from the device and was zero. A read that fails is an error and
//! never "nothing" (with `blkid`, a busy, missing or unreadable device looks like a blank one).

mod blank;
mod read;
mod signature;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use azcsi_types::fault::{Fault, Faulty};

pub use blank::samples;

use read::Reader;

/// The filesystems that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FsKind {
    /// ext2.
    Ext2,
    /// ext3.
    Ext3,
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
}

impl FsKind {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Ext2, Self::Ext3, Self::Ext4, Self::Xfs, Self::Btrfs];

    /// The kernel's name of it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ext2 => "ext2",
            Self::Ext3 => "ext3",
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// Whether the ext tools are for it.
    #[must_use]
    pub const fn is_ext(self) -> bool {
        matches!(self, Self::Ext2 | Self::Ext3 | Self::Ext4)
    }
}

impl fmt::Display for FsKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Not a filesystem that is served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the filesystem '{0}' is not supported: use ext2, ext3, ext4, xfs or btrfs")]
pub struct NotServed(String);

impl FromStr for FsKind {
    type Err = NotServed;

    fn from_str(text: &str) -> Result<Self, NotServed> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| NotServed(text.escape_debug().take(60).collect()))
    }
}

/// What an ext superblock says about the need of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtState {
    /// It was unmounted in order, or has a journal that makes up for it.
    pub is_clean: bool,
    /// The kernel found errors.
    pub has_errors: bool,
    /// The journal has to be replayed.
    pub needs_replay: bool,
}

/// A filesystem that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filesystem {
    /// Which.
    pub kind: FsKind,
    /// Its UUID in lower-case hexadecimal. A clone has the same one.
    pub uuid: String,
    /// How much of the device it uses, in bytes.
    pub bytes: u64,
    /// For ext only.
    pub ext: Option<ExtState>,
}

/// What is on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Exactly one known thing, and it is a filesystem that is served.
    Filesystem(Filesystem),
    /// Known things that are not served, or several at once.
    Other(Vec<String>),
    /// Every sampled byte is zero.
    Blank,
    /// Not zero at this offset, and nothing that is known.
    Data {
        /// In bytes from the start.
        offset: u64,
    },
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
#[error("cannot read '{path}' at offset {offset}")]
pub struct ProbeError {
    path: PathBuf,
    offset: u64,
    source: io::Error,
}

impl Faulty for ProbeError {
    fn fault(&self) -> Fault {
        Fault::Unavailable
    }
}

/// Tells what is on a device (or in an image). Reads go past the page cache where that is possible.
/// `seed` chooses the random samples.
///
/// # Errors
/// When any read fails or is short. This blocks, so call it from a worker thread.
pub fn inspect(path: &Path, seed: u64) -> Result<Content, ProbeError> {
    let reader = Reader::open(path)?;
    let size = reader.size();
    let head = reader.read(0, size.min(signature::HEAD))?;
    let tail_at = size.saturating_sub(signature::TAIL);
    let tail = reader.read(tail_at, size - tail_at)?;
    let mut found = signature::find(&signature::Areas {
        head: &head,
        tail: &tail,
        size,
    });
    match (found.pop(), found.is_empty()) {
        (None, _) => blank_or_data(&reader, seed),
        (Some(signature::Signature::Served(filesystem)), true) => {
            Ok(Content::Filesystem(filesystem))
        }
        (Some(last), _) => {
            found.push(last);
            Ok(Content::Other(
                found.iter().map(ToString::to_string).collect(),
            ))
        }
    }
}

/// How large the filesystem on a mounted ext device says it is. This reads through the page cache,
/// where the kernel keeps the superblock of a mounted filesystem.
///
/// # Errors
/// When it cannot be read, or is no ext.
pub fn mounted_ext_size(path: &Path) -> Result<u64, ProbeError> {
    let reader = Reader::open_cached(path)?;
    let head = reader.read(0, reader.size().min(64 * 1024))?;
    signature::ext(&head)
        .map(|filesystem| filesystem.bytes)
        .ok_or_else(|| reader.failed(1024, io::Error::other("it has no ext superblock")))
}

fn blank_or_data(reader: &Reader, seed: u64) -> Result<Content, ProbeError> {
    for (offset, length) in samples(reader.size(), seed) {
        let bytes = reader.read(offset, length)?;
        if let Some(at) = bytes.iter().position(|&byte| byte != 0) {
            let at = u64::try_from(at).unwrap_or(0);
            return Ok(Content::Data {
                offset: offset + at,
            });
        }
    }
    Ok(Content::Blank)
}

#[cfg(test)]
mod tests;
