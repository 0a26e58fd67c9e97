//! Records that survive a restart: one small JSON file for each key.
//!
//! A record is written to a temporary file, synced, renamed, and the folder synced, so a reader sees
//! the old record or the new one. A record that cannot be read counts as one that is not there:
//! losing records may only make a driver more careful.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::HostError;

/// Longest record that is read, in bytes.
const RECORD_LIMIT: u64 = 256 * 1024;

/// A folder of records.
#[derive(Clone, Debug)]
pub struct StateStore {
    folder: PathBuf,
}

impl StateStore {
    /// Opens the folder, making it (mode 0700) when it is missing, and removes what an interrupted
    /// write left.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn open(folder: &Path) -> Result<Self, HostError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|source| HostError::io("make the folder", folder, source))?;
        let store = Self {
            folder: folder.to_owned(),
        };
        for name in store.names()? {
            if name.ends_with(".tmp") {
                let _ = fs::remove_file(folder.join(name));
            }
        }
        Ok(store)
    }

    /// The record of a key; `None` when there is none or it cannot be read.
    #[must_use]
    pub fn load<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let path = self.path(key)?;
        match read(&path) {
            Ok(record) => Some(record),
            Err(error) if error.is_missing() => None,
            Err(error) => {
                tracing::warn!(%error, "a record cannot be read and is not used");
                None
            }
        }
    }

    /// Writes the record of a key.
    ///
    /// # Errors
    /// When it is not certain that the record is on the disk.
    pub fn save<T: Serialize>(&self, key: &str, record: &T) -> Result<(), HostError> {
        let Some(path) = self.path(key) else {
            let bad = std::io::Error::from(ErrorKind::InvalidInput);
            return Err(HostError::io("name a record", Path::new(key), bad));
        };
        let temporary = path.with_extension("tmp");
        let fail = |source| HostError::io("write the record", &path, source);
        let text = serde_json::to_vec(record).map_err(|error| fail(error.into()))?;
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)
            .map_err(fail)?;
        file.write_all(&text).map_err(fail)?;
        file.sync_all().map_err(fail)?;
        fs::rename(&temporary, &path).map_err(fail)?;
        self.sync().map_err(fail)
    }

    /// Removes the record of a key; none is fine.
    ///
    /// # Errors
    /// When it is there and cannot be removed.
    pub fn remove(&self, key: &str) -> Result<(), HostError> {
        let Some(path) = self.path(key) else {
            return Ok(());
        };
        match fs::remove_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(HostError::io("remove the record", &path, error)),
            Ok(()) => self
                .sync()
                .map_err(|error| HostError::io("remove the record", &path, error)),
        }
    }

    /// Every record that can be read, with its key.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn all<T: DeserializeOwned>(&self) -> Result<Vec<(String, T)>, HostError> {
        let names = self.names()?;
        let keys = names.iter().filter_map(|name| name.strip_suffix(".json"));
        Ok(keys
            .filter_map(|key| Some((key.to_owned(), self.load(key)?)))
            .collect())
    }

    fn names(&self) -> Result<Vec<String>, HostError> {
        fs::read_dir(&self.folder)
            .map_err(|source| HostError::io("list", &self.folder, source))
            .map(|_| crate::sysfs::names(&self.folder))
    }

    fn sync(&self) -> std::io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    /// Keys are file names, so they may hold letters, digits, `-` and `_` only.
    fn path(&self, key: &str) -> Option<PathBuf> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (!key.is_empty() && key.len() <= 200 && key.bytes().all(plain))
            .then(|| self.folder.join(format!("{key}.json")))
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, HostError> {
    let fail = |source| HostError::io("read the record", path, source);
    let size = fs::metadata(path).map_err(fail)?.len();
    if size > RECORD_LIMIT {
        return Err(fail(std::io::Error::other("it is too long")));
    }
    let text = fs::read(path).map_err(fail)?;
    serde_json::from_slice(&text).map_err(|error| HostError::Unreadable {
        path: path.to_owned(),
        why: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::StateStore;

    #[test]
    fn a_record_survives_and_a_broken_one_is_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let store = StateStore::open(&path).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(store.load::<u32>("a"), None);
        store.save("a", &7_u32).unwrap();
        store.save("a", &8_u32).unwrap();
        store.save("b", &9_u32).unwrap();
        assert_eq!(StateStore::open(&path).unwrap().load::<u32>("a"), Some(8));
        fs::write(path.join("a.json"), "{").unwrap();
        assert_eq!(store.load::<u32>("a"), None);
        assert_eq!(store.all::<u32>().unwrap(), [("b".to_owned(), 9)]);
        store.remove("b").unwrap();
        store.remove("b").unwrap();
        assert_eq!(store.load::<u32>("b"), None);
    }

    #[test]
    fn an_interrupted_write_is_cleaned_up_and_keys_stay_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.tmp"), "half").unwrap();
        let store = StateStore::open(folder.path()).unwrap();
        assert!(!folder.path().join("a.tmp").exists());
        for key in ["", "../a", "a/b", "a.b"] {
            assert!(store.save(key, &1).is_err(), "{key}");
        }
    }
}
