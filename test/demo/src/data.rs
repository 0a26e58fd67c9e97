//! The bytes that the demo writes and reads back: reproducible, and different for every label.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

const BLOCK: usize = 1 << 20;

/// Bytes that depend on the label alone: SHA-256 in counter mode.
fn block(label: &str, number: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BLOCK);
    let mut counter = 0_u64;
    while bytes.len() < BLOCK {
        let mut hash = Sha256::new();
        hash.update(label.as_bytes());
        hash.update(number.to_le_bytes());
        hash.update(counter.to_le_bytes());
        bytes.extend_from_slice(&hash.finalize());
        counter += 1;
    }
    bytes
}

/// Writes so many MiB for a label at an offset, and forces them to the device. Returns the checksum.
pub(crate) fn write(path: &Path, label: &str, offset: u64, mib: u64) -> Result<String> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(|| format!("opening {} to write", path.display()))?;
    file.seek(SeekFrom::Start(offset))?;
    let mut hash = Sha256::new();
    for number in 0..mib {
        let bytes = block(label, number);
        file.write_all(&bytes)
            .with_context(|| format!("writing {}", path.display()))?;
        hash.update(&bytes);
    }
    file.sync_all()
        .with_context(|| format!("syncing {}", path.display()))?;
    Ok(hex(hash))
}

/// The checksum of so many MiB at an offset.
pub(crate) fn checksum(path: &Path, offset: u64, mib: u64) -> Result<String> {
    let mut file =
        File::open(path).with_context(|| format!("opening {} to read", path.display()))?;
    file.seek(SeekFrom::Start(offset))?;
    let mut hash = Sha256::new();
    let mut bytes = vec![0; BLOCK];
    for _ in 0..mib {
        file.read_exact(&mut bytes)
            .with_context(|| format!("reading {}", path.display()))?;
        hash.update(&bytes);
    }
    Ok(hex(hash))
}

fn hex(hash: Sha256) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
