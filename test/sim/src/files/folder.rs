//! Contents of shares as directories, one for each share and snapshot, so that an SMB or NFS server
//! can export them and what clients write there is what the data plane reads.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::unistd::{Whence, lseek};

use super::contents::{Contents, Found, absent};

/// Shares below one directory.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    discarded: Mutex<Vec<String>>,
}

impl Folder {
    /// Takes over a directory. Everything in it that the world does not know goes; what the world
    /// knows must be there.
    ///
    /// # Errors
    /// When it cannot be read, or a share of the world is not in it.
    pub fn open(root: &Path, known: &[String]) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        if let Some(missing) = known.iter().find(|name| !root.join(name).is_dir()) {
            let message = format!(
                "{}: a share of the world has no contents; put it back, or start with an empty --dir",
                root.join(missing).display()
            );
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !known.contains(&name) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(Self {
            root: root.to_owned(),
            discarded: Mutex::new(Vec::new()),
        })
    }

    /// Where the contents of a share are.
    #[must_use]
    pub fn path(&self, share: &str) -> PathBuf {
        self.root.join(share)
    }

    /// The real path of a path in a share: each part as spelt, else whatever differs in case only.
    /// Links are not followed out of the share: they are not there for this plane.
    fn resolve(&self, share: &str, path: &str) -> io::Result<Option<PathBuf>> {
        let mut at = self.path(share);
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let exact = at.join(part);
            at = match fs::symlink_metadata(&exact) {
                Ok(found) if found.is_symlink() => return Ok(None),
                Ok(_) => exact,
                Err(error) if error.kind() == io::ErrorKind::NotFound => match like(&at, part)? {
                    Some(found) => found,
                    None => return Ok(None),
                },
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
                Err(error) => return Err(error),
            };
        }
        Ok(Some(at))
    }

    fn need(&self, share: &str, path: &str) -> io::Result<PathBuf> {
        self.resolve(share, path)?.ok_or_else(absent)
    }

    /// Where something new goes.
    fn fresh(&self, share: &str, path: &str) -> io::Result<PathBuf> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok(self.need(share, above)?.join(name))
    }

    fn show(&self, share: &str, real: &Path) -> io::Result<Found> {
        let facts = fs::symlink_metadata(real)?;
        let path = real.strip_prefix(self.path(share)).unwrap_or(real);
        Ok(Found {
            path: path.to_string_lossy().into_owned(),
            size: facts.is_file().then_some(facts.len()),
            number: facts.ino(),
        })
    }
}

fn like(folder: &Path, name: &str) -> io::Result<Option<PathBuf>> {
    let wanted = name.to_lowercase();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().to_lowercase() == wanted
            && !entry.file_type()?.is_symlink()
        {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// Copies a tree; holes stay holes, links and special files stay out.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_file() {
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let facts = source.metadata()?;
    let target = File::create(to)?;
    target.set_len(facts.len())?;
    target.set_permissions(facts.permissions())?;
    let mut buffer = vec![0; 1 << 20];
    for (first, end) in data(&source, facts.len())? {
        let mut at = first;
        while at < end {
            let most = usize::try_from(end - at)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            let Some(part) = buffer.get_mut(..most) else {
                break;
            };
            let count = source.read_at(part, at)?;
            if count == 0 {
                break;
            }
            target.write_all_at(part.get(..count).unwrap_or_default(), at)?;
            at += u64::try_from(count).unwrap_or(0);
        }
    }
    Ok(())
}

/// Where a file has data and no holes.
fn data(file: &File, size: u64) -> io::Result<Vec<(u64, u64)>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < size {
        let seek = |from: u64, whence| {
            let from = i64::try_from(from).map_err(io::Error::other)?;
            lseek(file, from, whence).map_err(io::Error::from)
        };
        let first = match seek(at, Whence::SeekData) {
            Ok(first) => u64::try_from(first).unwrap_or(size),
            // No data behind this.
            Err(error) if error.raw_os_error() == Some(6) => break,
            Err(error) => return Err(error),
        };
        let end = u64::try_from(seek(first, Whence::SeekHole)?)
            .unwrap_or(size)
            .min(size);
        found.push((first, end));
        at = end;
    }
    Ok(found)
}

fn used(folder: &Path) -> io::Result<u64> {
    let mut total = 0_u64;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            total = total.saturating_add(used(&entry.path())?);
        } else if kind.is_file() {
            total = total.saturating_add(entry.metadata()?.len());
        }
    }
    Ok(total)
}

impl Contents for Folder {
    fn make(&self, share: &str) -> io::Result<()> {
        fs::create_dir(self.path(share))
    }

    fn copy(&self, from: &str, to: &str) -> io::Result<()> {
        copy_tree(&self.path(from), &self.path(to))
    }

    fn discard(&self, share: &str) {
        let mut discarded = self
            .discarded
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        discarded.push(share.to_owned());
    }

    fn collect(&self) -> io::Result<()> {
        let mut discarded = self
            .discarded
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for share in std::mem::take(&mut *discarded) {
            match fs::remove_dir_all(self.path(&share)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn used(&self, share: &str) -> u64 {
        used(&self.path(share)).unwrap_or_else(|error| {
            tracing::warn!(%error, share, "the contents of a share cannot be counted");
            0
        })
    }

    fn find(&self, share: &str, path: &str) -> io::Result<Option<Found>> {
        match self.resolve(share, path)? {
            Some(real) => self.show(share, &real).map(Some),
            None => Ok(None),
        }
    }

    fn list(&self, share: &str, path: &str) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.need(share, path)?)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() || kind.is_file() {
                found.push(self.show(share, &entry.path())?);
            }
        }
        Ok(found)
    }

    fn make_dir(&self, share: &str, path: &str) -> io::Result<()> {
        fs::create_dir(self.fresh(share, path)?)
    }

    fn make_file(&self, share: &str, path: &str, size: u64) -> io::Result<()> {
        let real = match self.resolve(share, path)? {
            Some(real) => real,
            None => self.fresh(share, path)?,
        };
        let file = File::create(real)?;
        file.set_len(size)
    }

    fn remove(&self, share: &str, path: &str) -> io::Result<()> {
        let real = self.need(share, path)?;
        if real.is_dir() {
            fs::remove_dir(real)
        } else {
            fs::remove_file(real)
        }
    }

    fn rename(&self, share: &str, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.need(share, from)?, self.fresh(share, to)?)
    }

    fn resize(&self, share: &str, path: &str, size: u64) -> io::Result<()> {
        OpenOptions::new()
            .write(true)
            .open(self.need(share, path)?)?
            .set_len(size)
    }

    fn read(&self, share: &str, path: &str, at: u64, most: u64) -> io::Result<Vec<u8>> {
        let file = File::open(self.need(share, path)?)?;
        let left = file.metadata()?.len().saturating_sub(at).min(most);
        let mut bytes = vec![0; usize::try_from(left).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    fn write(&self, share: &str, path: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        let file = OpenOptions::new()
            .write(true)
            .open(self.need(share, path)?)?;
        file.write_all_at(bytes, at)
    }

    /// Holes would be better; zeroes read the same.
    fn clear(&self, share: &str, path: &str, at: u64, length: u64) -> io::Result<()> {
        let real = self.need(share, path)?;
        let file = OpenOptions::new().read(true).write(true).open(real)?;
        let size = file.metadata()?.len();
        let end = at.saturating_add(length).min(size);
        for (first, last) in data(&file, size)? {
            let (first, last) = (first.max(at), last.min(end));
            if first < last {
                let zeroes = vec![0; usize::try_from(last - first).map_err(io::Error::other)?];
                file.write_all_at(&zeroes, first)?;
            }
        }
        Ok(())
    }

    fn ranges(&self, share: &str, path: &str) -> io::Result<Vec<(u64, u64)>> {
        let file = File::open(self.need(share, path)?)?;
        let size = file.metadata()?.len();
        data(&file, size)
    }
}

#[cfg(test)]
mod tests;
