//! What can go wrong between a driver and the kernel.

use std::io;
use std::path::{Path, PathBuf};

use azcsi_types::fault::{Fault, Faulty};

/// A call to the kernel or to a tool that did not work.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file, folder, device or mount.
    #[error("cannot {act} '{path}'")]
    Io {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The kernel has not answered in time; the call goes on in its thread.
    #[error("{what} has not ended in time and goes on")]
    TimedOut {
        /// What was tried.
        what: String,
    },
    /// An earlier call for the same path has not ended.
    #[error("an earlier call for '{path}' still hangs in the kernel")]
    Hanging {
        /// The path.
        path: PathBuf,
    },
    /// A file of the kernel, or a record, that does not read as expected.
    #[error("'{path}' does not read as expected: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The worker ended without an answer.
    #[error("{what} ended without an answer")]
    Lost {
        /// What was tried.
        what: String,
    },
}

impl HostError {
    /// An error of the kernel.
    #[must_use]
    pub fn io(act: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            act,
            path: path.to_owned(),
            source,
        }
    }

    /// The kernel's error number, if it is one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the thing is simply not there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether the kernel says that the filesystem behind a path is dead, as after a device was
    /// pulled (mount-utils calls this a corrupted mount).
    #[must_use]
    pub fn is_dead_mount(&self) -> bool {
        use nix::libc::{EACCES, EHOSTDOWN, EIO, ENODEV, ENOTCONN, ENXIO, ESHUTDOWN, ESTALE};
        self.errno().is_some_and(|errno| {
            [
                EACCES, EHOSTDOWN, EIO, ENODEV, ENOTCONN, ENXIO, ESHUTDOWN, ESTALE,
            ]
            .contains(&errno)
        })
    }
}

impl Faulty for HostError {
    fn fault(&self) -> Fault {
        match self {
            Self::Io { .. } | Self::Unreadable { .. } => Fault::Internal,
            Self::TimedOut { .. } => Fault::Deadline,
            Self::Hanging { .. } | Self::Lost { .. } => Fault::Unavailable,
        }
    }
}
