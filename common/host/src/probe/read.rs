//! Reading a device past the page cache, in whole aligned blocks.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

use super::ProbeError;

/// Large enough for every sector size that disks have.
const ALIGN: usize = 4096;
const ALIGN_64: u64 = 4096;

/// Largest single read.
const STEP: usize = 1024 * 1024;

/// An open device or image.
#[derive(Debug)]
pub(super) struct Reader {
    file: File,
    path: PathBuf,
    size: u64,
}

impl Reader {
    /// Opens for direct reads; filesystems that do not have them are read in the ordinary way.
    pub(super) fn open(path: &Path) -> Result<Self, ProbeError> {
        let direct = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECT | libc::O_CLOEXEC)
            .open(path);
        match direct {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Self::open_cached(path),
            other => Self::with(path, other),
        }
    }

    /// Opens for reads through the page cache.
    pub(super) fn open_cached(path: &Path) -> Result<Self, ProbeError> {
        Self::with(path, File::open(path))
    }

    fn with(path: &Path, opened: io::Result<File>) -> Result<Self, ProbeError> {
        let fail = |source| ProbeError {
            path: path.to_owned(),
            offset: 0,
            source,
        };
        let mut file = opened.map_err(fail)?;
        let size = file.seek(SeekFrom::End(0)).map_err(fail)?;
        if size == 0 {
            return Err(fail(io::Error::other("its size is 0")));
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            size,
        })
    }

    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn failed(&self, offset: u64, source: io::Error) -> ProbeError {
        ProbeError {
            path: self.path.clone(),
            offset,
            source,
        }
    }

    /// Reads exactly this range; fewer bytes are an error.
    pub(super) fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, ProbeError> {
        let fail = |source| self.failed(offset, source);
        let start = offset / ALIGN_64 * ALIGN_64;
        let skip = usize::try_from(offset - start).map_err(|e| fail(io::Error::other(e)))?;
        let length = usize::try_from(length).map_err(|e| fail(io::Error::other(e)))?;
        let mut bytes = self.aligned(start, skip + length).map_err(fail)?;
        bytes.drain(..skip);
        bytes.truncate(length);
        if bytes.len() == length {
            Ok(bytes)
        } else {
            Err(fail(io::ErrorKind::UnexpectedEof.into()))
        }
    }

    fn aligned(&self, start: u64, wanted: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0_u8; STEP + ALIGN];
        let shift = buffer.as_ptr().align_offset(ALIGN);
        let window = buffer
            .get_mut(shift..shift + STEP)
            .ok_or_else(|| io::Error::other("the buffer cannot be aligned"))?;
        let mut bytes = Vec::with_capacity(wanted);
        while bytes.len() < wanted {
            let ask = (wanted - bytes.len()).next_multiple_of(ALIGN).min(STEP);
            let at = start + u64::try_from(bytes.len()).map_err(io::Error::other)?;
            let count = match self.file.read_at(&mut window[..ask], at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            bytes.extend_from_slice(&window[..count]);
            // A direct read that ends off the grid has reached the end.
            if count == 0 || count % 512 != 0 {
                break;
            }
        }
        Ok(bytes)
    }
}
