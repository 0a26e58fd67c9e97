//! The state directory's memory: an append-only journal of what each key holds.
//!
//! One line is one transaction: a checksum, then a JSON list of changes. A transaction is on the
//! disk before the response that reports it is sent. A process that dies while it writes leaves an
//! unfinished last line; that line was never reported to anyone and is dropped. Damage anywhere
//! else is refused with its line, never repaired by guessing and never reset. When most of the
//! journal is history it is written anew beside itself and renamed into place.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// First line; a journal of another form has another one.
const HEADER: &str = "azcsi-sim journal 1";
/// History is thrown away when the journal has this many times more changes than keys, and more
/// than [`COMPACT_ABOVE`] of them.
const COMPACT_RATIO: usize = 4;
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

type Keys<'a> = Box<dyn Iterator<Item = &'a String> + 'a>;

/// The open journal of a state directory. Only one process can have it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    current: BTreeMap<String, Value>,
    changes: usize,
    /// Length to cut the file to: a transaction is half written and could not be taken back.
    cut_to: Option<u64>,
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
            sync_folder(&path)?;
        }
        let read = replay(&path)?;
        let file = OpenOptions::new()
            .append(true)
            .open(&path)
            .map_err(|e| failed(&path, "write", e))?;
        if read.unfinished {
            tracing::info!(path = %path.display(), "dropping the unfinished last transaction");
            file.set_len(read.good)
                .map_err(|e| failed(&path, "shorten", e))?;
            file.sync_all().map_err(|e| failed(&path, "sync", e))?;
        }
        Ok(Self {
            path,
            file,
            current: read.current,
            changes: read.changes,
            cut_to: None,
            _lock: lock,
        })
    }

    /// What every key holds.
    #[must_use]
    pub const fn current(&self) -> &BTreeMap<String, Value> {
        &self.current
    }

    /// What has to be written to make `wanted` the whole contents, but for the keys that begin with
    /// one of `covered`: those are not looked at.
    #[must_use]
    pub fn difference(&self, wanted: &BTreeMap<String, Value>, covered: &[String]) -> Vec<Change> {
        let mut changes: Vec<Change> = wanted
            .iter()
            .filter(|(key, value)| self.current.get(*key) != Some(value))
            .map(|(key, value)| Change(key.clone(), Some(value.clone())))
            .collect();
        let mut keys: Keys<'_> = Box::new(self.current.keys());
        while let Some(key) = keys.next() {
            if let Some(prefix) = covered.iter().find(|prefix| key.starts_with(*prefix)) {
                // The keys of a prefix lie side by side and may be very many.
                keys = self.behind(prefix, keys);
            } else if !wanted.contains_key(key) {
                changes.push(Change(key.clone(), None));
            }
        }
        changes
    }

    /// The keys behind all that begin with this prefix; `rest` where there is no telling.
    fn behind<'a>(&'a self, prefix: &str, rest: Keys<'a>) -> Keys<'a> {
        let mut end = prefix.to_owned();
        let last = end.pop().map(|last| u32::from(last) + 1);
        let Some(next) = last.and_then(char::from_u32) else {
            return rest;
        };
        end.push(next);
        Box::new(self.current.range(end..).map(|(key, _)| key))
    }

    /// Writes changes as one transaction and returns when they are on the disk.
    ///
    /// # Errors
    /// When they cannot be written; the journal then holds what it held before.
    pub fn commit(&mut self, changes: Vec<Change>) -> Result<(), PersistError> {
        if changes.is_empty() {
            return Ok(());
        }
        if let Some(length) = self.cut_to {
            let cut = self.file.set_len(length);
            cut.map_err(|e| failed(&self.path, "shorten", e))?;
            self.cut_to = None;
        }
        let before = self
            .file
            .metadata()
            .map_err(|e| failed(&self.path, "look at", e))?
            .len();
        let line = encode(&changes).map_err(|e| failed(&self.path, "write", e))?;
        let written = self
            .file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // What was half written must not be read as damage later: nothing comes behind it.
            if let Err(error) = self.file.set_len(before) {
                tracing::error!(%error, "the journal's tail could not be taken back");
                self.cut_to = Some(before);
            }
            return Err(failed(&self.path, "write", source));
        }
        self.changes += changes.len();
        for change in changes {
            apply(&mut self.current, change);
        }
        if self.changes > COMPACT_ABOVE && self.changes > COMPACT_RATIO * self.current.len() {
            // The journal in use is whole, the old or the new one: no failure of the write.
            if let Err(error) = self.compact() {
                tracing::warn!(%error, "the journal keeps its history");
            }
        }
        Ok(())
    }

    fn compact(&mut self) -> Result<(), PersistError> {
        // From the rename on the new file is the journal, whatever happens next.
        self.file = write_whole(&self.path, &self.current)?;
        self.changes = self.current.len();
        sync_folder(&self.path)
    }
}

struct Replayed {
    current: BTreeMap<String, Value>,
    changes: usize,
    /// Bytes up to the end of the last whole line.
    good: u64,
    /// Whether something comes behind them.
    unfinished: bool,
}

/// Reads line by line: a journal may be many times as large as what it holds.
fn replay(path: &Path) -> Result<Replayed, PersistError> {
    let damaged = |line: usize, reason: String| PersistError::Damaged {
        path: path.display().to_string(),
        line,
        reason,
    };
    let mut read = Replayed {
        current: BTreeMap::new(),
        changes: 0,
        good: 0,
        unfinished: false,
    };
    let file = File::open(path).map_err(|e| failed(path, "read", e))?;
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1_usize.. {
        line.clear();
        let length = file.read_until(b'\n', &mut line);
        let length = length.map_err(|e| failed(path, "read", e))?;
        let text = line.strip_suffix(b"\n");
        match (number, text) {
            (1, _) if length == 0 => return Err(damaged(1, "the file is empty".to_owned())),
            // The header is never written in place, so it is never unfinished.
            (1, text) if text != Some(HEADER.as_bytes()) => {
                return Err(damaged(1, format!("the first line is not {HEADER:?}")));
            }
            (1, _) => {}
            (_, Some(text)) => {
                let changes = decode(text).map_err(|reason| damaged(number, reason))?;
                read.changes += changes.len();
                for change in changes {
                    apply(&mut read.current, change);
                }
            }
            (_, None) => {
                read.unfinished = length > 0;
                break;
            }
        }
        read.good += u64::try_from(length).unwrap_or(u64::MAX);
    }
    Ok(read)
}

fn apply(current: &mut BTreeMap<String, Value>, change: Change) {
    match change.1 {
        Some(value) => current.insert(change.0, value),
        None => current.remove(&change.0),
    };
}

fn encode(changes: &[Change]) -> io::Result<String> {
    let body = serde_json::to_string(changes)?;
    Ok(format!("{} {body}\n", checksum(body.as_bytes())))
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

/// Writes a journal that holds just this, so that at no moment is there half of one, and gives it
/// open for more.
fn write_whole(path: &Path, current: &BTreeMap<String, Value>) -> Result<File, PersistError> {
    let unfinished = path.with_extension("part");
    let written = || {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&unfinished)?;
        file.set_len(0)?;
        let mut out = BufWriter::new(&file);
        writeln!(out, "{HEADER}")?;
        for (key, value) in current {
            let line = encode(&[Change(key.clone(), Some(value.clone()))])?;
            out.write_all(line.as_bytes())?;
        }
        out.flush()?;
        drop(out);
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        Ok(file)
    };
    written().map_err(|e| failed(path, "write", e))
}

/// Makes sure that the name is on the disk, too.
fn sync_folder(path: &Path) -> Result<(), PersistError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|e| failed(folder, "sync", e))
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
