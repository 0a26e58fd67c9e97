//! The state directory's memory: an append-only journal of what each key holds.
//!
//! One line is one transaction: a checksum, then a JSON list of changes. A transaction is on the
//! disk before the response that reports it is sent. A process that dies while it writes leaves an
//! unfinished last line; that line was never reported to anyone and is dropped. Damage anywhere
//! else is refused with its line, never repaired by guessing and never reset. When most of the
//! journal is history it is written anew beside itself and renamed into place.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// First line; a journal of another form has another one.
const HEADER: &str = "azcsi-sim journal 1";
/// History is thrown away when the journal has this many times more changes than keys, and more
/// than [`COMPACT_ABOVE`] of them.
const COMPACT_RATIO: usize = 8;
const COMPACT_ABOVE: usize = 1024;

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PersistError {
    /// A file or folder cannot be used.
    #[error("{path}: cannot {act}")]
    Io {
        /// The file.
        path: String,
        /// What was tried.
        act: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// Another process is serving from it.
    #[error(
        "{0}: another azcsi-sim is using this state directory; stop it or choose another --dir"
    )]
    InUse(String),
    /// The journal is damaged.
    #[error(
        "{path}:{line}: the saved world is damaged: {reason}; restore the file, or start over with an empty --dir"
    )]
    Damaged {
        /// The journal.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// What a key holds from now on; `None` removes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change(pub String, pub Option<Value>);

/// The open journal of a state directory. Only one process can have it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    current: BTreeMap<String, Value>,
    changes: usize,
    _lock: Flock<File>,
}

impl Journal {
    /// Opens the directory, making it when it is missing, and reads what it holds.
    ///
    /// # Errors
    /// When it is in use, cannot be written, or is damaged.
    pub fn open(dir: &Path) -> Result<Self, PersistError> {
        fs::create_dir_all(dir).map_err(|e| failed(dir, "make the folder", e))?;
        let lock = lock(dir)?;
        let path = dir.join("world.journal");
        if !path.exists() {
            write_whole(&path, &BTreeMap::new())?;
        }
        let bytes = fs::read(&path).map_err(|e| failed(&path, "read", e))?;
        let read = replay(&path, &bytes)?;
        let file = OpenOptions::new()
            .append(true)
            .open(&path)
            .map_err(|e| failed(&path, "write", e))?;
        if read.good < bytes.len() {
            tracing::info!(path = %path.display(), "dropping the unfinished last transaction");
            let good = u64::try_from(read.good).unwrap_or(u64::MAX);
            file.set_len(good)
                .map_err(|e| failed(&path, "shorten", e))?;
            file.sync_all().map_err(|e| failed(&path, "sync", e))?;
        }
        Ok(Self {
            path,
            file,
            current: read.current,
            changes: read.changes,
            _lock: lock,
        })
    }

    /// What every key holds.
    #[must_use]
    pub const fn current(&self) -> &BTreeMap<String, Value> {
        &self.current
    }

    /// What has to be written to make `wanted` the whole contents.
    #[must_use]
    pub fn difference(&self, wanted: &BTreeMap<String, Value>) -> Vec<Change> {
        let mut changes: Vec<Change> = wanted
            .iter()
            .filter(|(key, value)| self.current.get(*key) != Some(value))
            .map(|(key, value)| Change(key.clone(), Some(value.clone())))
            .collect();
        let gone = self.current.keys().filter(|key| !wanted.contains_key(*key));
        changes.extend(gone.map(|key| Change(key.clone(), None)));
        changes
    }

    /// Writes changes as one transaction and returns when they are on the disk.
    ///
    /// # Errors
    /// When they cannot be written; the journal then holds what it held before.
    pub fn commit(&mut self, changes: Vec<Change>) -> Result<(), PersistError> {
        if changes.is_empty() {
            return Ok(());
        }
        let before = self
            .file
            .metadata()
            .map_err(|e| failed(&self.path, "look at", e))?
            .len();
        let line = encode(&changes);
        let written = self
            .file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // What was half written must not be read as damage later.
            if let Err(error) = self.file.set_len(before) {
                tracing::error!(%error, "the journal's tail could not be taken back");
            }
            return Err(failed(&self.path, "write", source));
        }
        self.changes += changes.len();
        for change in changes {
            apply(&mut self.current, change);
        }
        if self.changes > COMPACT_ABOVE && self.changes > COMPACT_RATIO * self.current.len() {
            // The old journal is whole and stays in use, so this is no failure of the write.
            if let Err(error) = self.compact() {
                tracing::warn!(%error, "the journal keeps its history");
            }
        }
        Ok(())
    }

    fn compact(&mut self) -> Result<(), PersistError> {
        write_whole(&self.path, &self.current)?;
        self.file = OpenOptions::new()
            .append(true)
            .open(&self.path)
            .map_err(|e| failed(&self.path, "write", e))?;
        self.changes = self.current.len();
        Ok(())
    }
}

struct Replayed {
    current: BTreeMap<String, Value>,
    changes: usize,
    good: usize,
}

fn replay(path: &Path, bytes: &[u8]) -> Result<Replayed, PersistError> {
    let damaged = |line: usize, reason: String| PersistError::Damaged {
        path: path.display().to_string(),
        line,
        reason,
    };
    let mut read = Replayed {
        current: BTreeMap::new(),
        changes: 0,
        good: 0,
    };
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some(text) = line.strip_suffix(b"\n") else {
            // The header is never written in place, so it is never unfinished.
            if index == 0 {
                return Err(damaged(1, format!("the first line is not {HEADER:?}")));
            }
            break;
        };
        if index == 0 {
            if text != HEADER.as_bytes() {
                return Err(damaged(1, format!("the first line is not {HEADER:?}")));
            }
        } else {
            let changes = decode(text).map_err(|reason| damaged(index + 1, reason))?;
            read.changes += changes.len();
            for change in changes {
                apply(&mut read.current, change);
            }
        }
        read.good += line.len();
    }
    if read.good == 0 {
        return Err(damaged(1, "the file is empty".to_owned()));
    }
    Ok(read)
}

fn apply(current: &mut BTreeMap<String, Value>, change: Change) {
    match change.1 {
        Some(value) => current.insert(change.0, value),
        None => current.remove(&change.0),
    };
}

fn encode(changes: &[Change]) -> String {
    let body = serde_json::to_string(changes).unwrap_or_default();
    format!("{} {body}\n", checksum(body.as_bytes()))
}

fn decode(line: &[u8]) -> Result<Vec<Change>, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let (sum, body) = text.split_once(' ').ok_or("it has no checksum")?;
    if sum != checksum(body.as_bytes()) {
        return Err("the checksum does not match".to_owned());
    }
    serde_json::from_str(body).map_err(|error| error.to_string())
}

fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Writes a journal that holds just this, so that at no moment is there half of one.
fn write_whole(path: &Path, current: &BTreeMap<String, Value>) -> Result<(), PersistError> {
    let unfinished = path.with_extension("part");
    let mut text = format!("{HEADER}\n");
    for (key, value) in current {
        text.push_str(&encode(&[Change(key.clone(), Some(value.clone()))]));
    }
    let written = File::create(&unfinished)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .and_then(|()| fs::rename(&unfinished, path))
        .and_then(|()| File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all());
    written.map_err(|e| failed(path, "write", e))
}

fn lock(dir: &Path) -> Result<Flock<File>, PersistError> {
    let path = dir.join("lock");
    let file = File::create(&path).map_err(|e| failed(&path, "write", e))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock)
        .map_err(|_| PersistError::InUse(dir.display().to_string()))
}

fn failed(path: &Path, act: &'static str, source: io::Error) -> PersistError {
    PersistError::Io {
        path: path.display().to_string(),
        act,
        source,
    }
}

#[cfg(test)]
mod tests;
