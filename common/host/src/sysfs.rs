//! Reading and writing the small files of sysfs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::HostError;

/// The trimmed text of an attribute; `None` when it is not there or cannot be read.
pub(crate) fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

/// An attribute that is a decimal number.
pub(crate) fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// The names in a folder, sorted; none when it is not there.
pub(crate) fn names(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Where a link of sysfs leads.
pub(crate) fn real(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// Writes an attribute. The file is never created: sysfs has it or has it not.
pub(crate) fn write(path: &Path, value: &str) -> Result<(), HostError> {
    use std::io::Write;
    fs::OpenOptions::new()
        .write(true)
        .truncate(false)
        .open(path)
        .and_then(|mut file| file.write_all(value.as_bytes()))
        .map_err(|source| HostError::io("write", path, source))
}
