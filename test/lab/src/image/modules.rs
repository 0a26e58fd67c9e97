//! The part of the initial ramdisk that does not change: kernel modules and the C library.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::cpio::Archive;
use crate::wire::MODULES;

/// What a machine needs to reach its root filesystem and the network.
const WANTED: [&str; 8] = [
    "virtio_pci",
    "virtio_net",
    "virtio_blk",
    "virtio_scsi",
    "sd_mod",
    "crc32c_generic",
    "ext4",
    "nvme",
];
const LIBRARIES: [&str; 3] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1"];
const LIBRARY_FOLDER: &str = "lib/x86_64-linux-gnu";
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";

/// The archive, made from an unpacked root.
///
/// # Errors
/// When a module or library is not there.
pub fn ramdisk(root: &Path, version: &str) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in [
        "proc",
        "sys",
        "dev",
        "newroot",
        "modules",
        "lib",
        LIBRARY_FOLDER,
        "lib64",
    ] {
        archive.folder(folder);
    }
    for library in LIBRARIES {
        let path = format!("{LIBRARY_FOLDER}/{library}");
        archive.program(&path, &read(root, &path)?);
    }
    archive.program(LOADER, &read(root, LOADER)?);
    let folder = root.join("lib/modules").join(version);
    let table = fs::read_to_string(folder.join("modules.dep")).context("modules.dep")?;
    let mut list = Vec::new();
    for path in order(&table, &WANTED)? {
        let name = path.rsplit('/').next().unwrap_or(path);
        let to = format!("modules/{name}");
        archive.program(&to, &read(&folder, path)?);
        list.push(format!("/{to}"));
    }
    archive.program(MODULES.trim_start_matches('/'), list.join("\n").as_bytes());
    Ok(archive.finish())
}

fn read(root: &Path, path: &str) -> Result<Vec<u8>> {
    let path = root.join(path);
    fs::read(&path).with_context(|| path.display().to_string())
}

/// Paths of the wanted modules and of all that they need, each after what it needs. In
/// `modules.dep` a line lists what a module needs, the deepest last.
fn order<'a>(table: &'a str, wanted: &[&str]) -> Result<Vec<&'a str>> {
    let lines: BTreeMap<&str, (&str, &str)> = table
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(path, needs)| (name(path), (path, needs)))
        .collect();
    let mut paths = Vec::new();
    for wanted in wanted {
        let (path, needs) = lines
            .get(wanted)
            .with_context(|| format!("the kernel has no module {wanted}"))?;
        for path in needs.split_whitespace().rev().chain([*path]) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    Ok(paths)
}

/// Name of a module by its path.
fn name(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split_once(".ko").map_or(file, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn what_a_module_needs_comes_first_and_once() {
        let table = "k/a/ext4.ko: k/a/jbd2.ko k/a/mbcache.ko\nk/a/jbd2.ko:\nk/a/mbcache.ko:\nk/b/sd_mod.ko: k/b/scsi_mod.ko k/b/scsi_common.ko\n";
        let paths = order(table, &["sd_mod", "ext4", "jbd2"]).unwrap();
        assert_eq!(
            paths,
            [
                "k/b/scsi_common.ko",
                "k/b/scsi_mod.ko",
                "k/b/sd_mod.ko",
                "k/a/mbcache.ko",
                "k/a/jbd2.ko",
                "k/a/ext4.ko"
            ]
        );
        assert!(order(table, &["floppy"]).is_err());
    }
}
