//! The contents of disks and snapshots: sparse files, one per resource.
//!
//! A snapshot is a copy of the disk's file at that moment. Copies share blocks where the
//! filesystem can (reflink), else only the written ranges are copied, so that a disk of a TiB with
//! a few MiB in it costs a few MiB.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

use super::LinkError;

const CHUNK: usize = 1 << 20;

mod sys {
    nix::ioctl_write_int_bad!(clone_file, 0x4004_9409);
}

/// The folder of backing files.
#[derive(Clone, Debug)]
pub struct Backing {
    root: PathBuf,
}

impl Backing {
    /// Opens the folder, making it when it is missing. The path is made canonical, because the
    /// kernel reports canonical paths for the files of loop devices.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(root: &Path) -> Result<Self, LinkError> {
        fs::create_dir_all(root).map_err(|e| LinkError::io("make the folder", root, e))?;
        let root = root
            .canonicalize()
            .map_err(|e| LinkError::io("find", root, e))?;
        Ok(Self { root })
    }

    /// Where all files are.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file of a resource; `key` is its unique id.
    #[must_use]
    pub fn path(&self, key: &str) -> PathBuf {
        self.root.join(format!("{key}.img"))
    }

    /// Makes an empty disk of `bytes`, or grows what is there. Never shrinks.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn ensure(&self, key: &str, bytes: u64) -> Result<(), LinkError> {
        let path = self.path(key);
        let wrap = |e| LinkError::io("size the disk file", &path, e);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(wrap)?;
        if file.metadata().map_err(wrap)?.len() < bytes {
            file.set_len(bytes).map_err(wrap)?;
        }
        Ok(())
    }

    /// Makes `to` a copy of what `from` holds now, at least `bytes` long. The copy appears under
    /// its name only when it is complete.
    ///
    /// # Errors
    /// When the source is missing or the copy cannot be written.
    pub fn copy(&self, from: &str, to: &str, bytes: u64) -> Result<(), LinkError> {
        let source_path = self.path(from);
        let source =
            File::open(&source_path).map_err(|e| LinkError::io("read", &source_path, e))?;
        let unfinished = self.root.join(format!("{to}.part"));
        let wrap = |e| LinkError::io("copy the disk file to", &unfinished, e);
        let target = File::create(&unfinished).map_err(wrap)?;
        copy_contents(&source, &target).map_err(wrap)?;
        if target.metadata().map_err(wrap)?.len() < bytes {
            target.set_len(bytes).map_err(wrap)?;
        }
        target.sync_all().map_err(wrap)?;
        fs::rename(&unfinished, self.path(to)).map_err(wrap)
    }

    /// Gives the disk a new file with the same contents and empties the old one, which a device
    /// may still hold: what is written or read through that device from now on meets no disk.
    ///
    /// # Errors
    /// When the copy fails; the old file is then untouched.
    pub fn sever(&self, key: &str) -> Result<(), LinkError> {
        let path = self.path(key);
        let wrap = |e| LinkError::io("pull the disk file", &path, e);
        let old = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(wrap)?;
        self.copy(key, key, 0)?;
        old.set_len(0).map_err(wrap)
    }

    /// Removes the contents of a deleted resource. Absent is fine.
    ///
    /// # Errors
    /// When the file is there and cannot be removed.
    pub fn remove(&self, key: &str) -> Result<(), LinkError> {
        let path = self.path(key);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(LinkError::io("remove the disk file", &path, e))
            }
            _ => Ok(()),
        }
    }

    /// The keys that have contents.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn keys(&self) -> Result<Vec<String>, LinkError> {
        let entries = fs::read_dir(&self.root).map_err(|e| LinkError::io("list", &self.root, e))?;
        let names = entries
            .flatten()
            .filter_map(|e| e.file_name().into_string().ok());
        Ok(names
            .filter_map(|n| n.strip_suffix(".img").map(str::to_owned))
            .collect())
    }
}

fn copy_contents(source: &File, target: &File) -> io::Result<()> {
    if clone_blocks(source, target) {
        return Ok(());
    }
    let length = source.metadata()?.len();
    target.set_len(length)?;
    let mut at = 0;
    while let Some((start, end)) = next_data(source, at)? {
        copy_range(source, target, start, end)?;
        at = end;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "ioctl")]
fn clone_blocks(source: &File, target: &File) -> bool {
    // SAFETY: both descriptors are open files; FICLONE takes the source descriptor by value.
    unsafe { sys::clone_file(target.as_raw_fd(), source.as_raw_fd()) }.is_ok()
}

fn next_data(file: &File, at: u64) -> io::Result<Option<(u64, u64)>> {
    let offset = i64::try_from(at).map_err(io::Error::other)?;
    let start = match lseek(file, offset, Whence::SeekData) {
        Ok(start) => start,
        Err(Errno::ENXIO) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let end = lseek(file, start, Whence::SeekHole)?;
    let unsigned = |n: i64| u64::try_from(n).map_err(io::Error::other);
    Ok(Some((unsigned(start)?, unsigned(end)?)))
}

fn copy_range(source: &File, target: &File, start: u64, end: u64) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut at = start;
    while at < end {
        let want = usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK));
        let Some(window) = buffer.get_mut(..want) else {
            break;
        };
        let got = source.read_at(window, at)?;
        if got == 0 {
            break;
        }
        let Some(data) = buffer.get(..got) else { break };
        target.write_all_at(data, at)?;
        at += got as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_copy_is_a_point_in_time_and_stays_sparse() {
        let dir = tempfile::tempdir().expect("tempdir");
        let backing = Backing::open(&dir.path().join("disks")).expect("open");
        backing.ensure("d1", 1 << 30).expect("create");
        let disk = OpenOptions::new()
            .write(true)
            .open(backing.path("d1"))
            .expect("open disk");
        disk.write_all_at(b"before", 512 << 20).expect("write");
        backing.copy("d1", "s1", 0).expect("snapshot");
        disk.write_all_at(b"after!", 512 << 20).expect("write");

        let snapshot = File::open(backing.path("s1")).expect("open snapshot");
        let mut got = [0; 6];
        snapshot.read_exact_at(&mut got, 512 << 20).expect("read");
        assert_eq!(&got, b"before");
        let meta = snapshot.metadata().expect("metadata");
        assert_eq!(meta.len(), 1 << 30);
        assert!(meta.blocks() * 512 < 8 << 20, "{} blocks", meta.blocks());
    }

    #[test]
    fn severing_keeps_the_disk_and_empties_what_is_still_open() {
        let dir = tempfile::tempdir().expect("tempdir");
        let backing = Backing::open(&dir.path().join("disks")).expect("open");
        backing.ensure("d1", 4096).expect("create");
        let held = OpenOptions::new()
            .read(true)
            .write(true)
            .open(backing.path("d1"))
            .expect("open");
        held.write_all_at(b"kept", 0).expect("write");
        backing.sever("d1").expect("sever");
        held.write_all_at(b"lost", 0).expect("late write");
        let now = fs::read(backing.path("d1")).expect("read");
        assert_eq!(now.get(..4), Some(b"kept".as_slice()));
        assert_eq!(now.len(), 4096);
    }

    #[test]
    fn a_disk_never_shrinks() {
        let dir = tempfile::tempdir().expect("tempdir");
        let backing = Backing::open(&dir.path().join("disks")).expect("open");
        backing.ensure("d1", 8192).expect("create");
        backing.ensure("d1", 4096).expect("again");
        assert_eq!(
            fs::metadata(backing.path("d1")).expect("metadata").len(),
            8192
        );
    }
}
