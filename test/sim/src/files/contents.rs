//! What is in shares. The simulator reaches it through [`Contents`] only: in memory for the library,
//! a directory for each share for the binary, so that an SMB or NFS server can export them.

use std::fmt::Debug;
use std::io;

/// Something in a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path in the share as it was made, without a slash at either end; empty for the root.
    pub path: String,
    /// Length of a file; none for a directory.
    pub size: Option<u64>,
    /// A number that stays the same while it exists.
    pub number: u64,
}

impl Found {
    /// The last part of its path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// The contents of all shares and snapshots, each under a name of its own. Paths are relative, with
/// `/` between their parts; they are found whatever the case of their letters.
pub trait Contents: Debug + Send + Sync {
    /// Makes an empty share.
    ///
    /// # Errors
    /// When it cannot be made.
    fn make(&self, share: &str) -> io::Result<()>;
    /// Makes a share with everything that another one holds.
    ///
    /// # Errors
    /// When it cannot be read or made.
    fn copy(&self, from: &str, to: &str) -> io::Result<()>;
    /// The share is no longer part of the world. What it holds may go at the next
    /// [`Contents::collect`], when the world without it is saved.
    fn discard(&self, share: &str);
    /// Lets go what was discarded.
    ///
    /// # Errors
    /// When something cannot be removed.
    fn collect(&self) -> io::Result<()>;
    /// Bytes that the files of a share take.
    fn used(&self, share: &str) -> u64;
    /// What is at a path.
    ///
    /// # Errors
    /// When it cannot be looked at.
    fn find(&self, share: &str, path: &str) -> io::Result<Option<Found>>;
    /// What is in a directory, by name.
    ///
    /// # Errors
    /// When it is none or cannot be read.
    fn list(&self, share: &str, path: &str) -> io::Result<Vec<Found>>;
    /// Makes a directory in one that exists.
    ///
    /// # Errors
    /// When it cannot be made.
    fn make_dir(&self, share: &str, path: &str) -> io::Result<()>;
    /// Makes a file of zeroes, or an old one a new one.
    ///
    /// # Errors
    /// When it cannot be made.
    fn make_file(&self, share: &str, path: &str, size: u64) -> io::Result<()>;
    /// Removes a file or an empty directory.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove(&self, share: &str, path: &str) -> io::Result<()>;
    /// Moves a file or directory; what was at `to` is replaced when it is a file.
    ///
    /// # Errors
    /// When it cannot be moved.
    fn rename(&self, share: &str, from: &str, to: &str) -> io::Result<()>;
    /// Makes a file longer or shorter.
    ///
    /// # Errors
    /// When it cannot be changed.
    fn resize(&self, share: &str, path: &str, size: u64) -> io::Result<()>;
    /// Reads as much as is there of a range.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, share: &str, path: &str, at: u64, most: u64) -> io::Result<Vec<u8>>;
    /// Writes within a file.
    ///
    /// # Errors
    /// When it cannot be written.
    fn write(&self, share: &str, path: &str, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes a range of a file zeroes.
    ///
    /// # Errors
    /// When it cannot be written.
    fn clear(&self, share: &str, path: &str, at: u64, length: u64) -> io::Result<()>;
    /// The ranges of a file that hold data: first byte and the one behind the last.
    ///
    /// # Errors
    /// When it cannot be looked at.
    fn ranges(&self, share: &str, path: &str) -> io::Result<Vec<(u64, u64)>>;
}

/// The directory that something is in; none for the root.
#[must_use]
pub fn parent(path: &str) -> Option<&str> {
    if path.is_empty() {
        return None;
    }
    Some(path.rsplit_once('/').map_or("", |(parent, _)| parent))
}

pub(super) fn absent() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}
