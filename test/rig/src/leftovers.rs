//! Mounts and loop devices below a folder: to clean up, and to prove that nothing is left.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// Mount points at or below a folder, the innermost first.
///
/// # Errors
/// If the mount table cannot be read.
pub fn mounts_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let table = std::fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?;
    let mut found: Vec<PathBuf> = table
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .map(|path| PathBuf::from(path.replace("\\040", " ")))
        .filter(|path| path.starts_with(folder))
        .collect();
    found.reverse();
    Ok(found)
}

/// Unmounts what is mounted below a folder.
///
/// # Errors
/// The first mount that cannot be undone.
pub fn unmount_below(folder: &Path) -> Result<()> {
    for path in mounts_below(folder)? {
        sys_mount::unmount(&path, sys_mount::UnmountFlags::empty())
            .with_context(|| format!("unmounting {}", path.display()))?;
    }
    Ok(())
}

/// Loop devices whose backing file lies below a folder.
///
/// # Errors
/// If `/sys/block` cannot be read.
pub fn loops_below(folder: &Path) -> Result<Vec<String>> {
    let mine = folder.display().to_string();
    let mut devices = Vec::new();
    for entry in std::fs::read_dir("/sys/block").context("/sys/block")? {
        let entry = entry?;
        let backing = std::fs::read_to_string(entry.path().join("loop/backing_file"));
        if backing.is_ok_and(|backing| backing.contains(&mine)) {
            devices.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(devices)
}

/// Unmounts what is left below a folder.
///
/// # Errors
/// If a mount or a loop device remains.
pub fn leave_nothing(folder: &Path) -> Result<()> {
    unmount_below(folder)?;
    let (mounts, loops) = (mounts_below(folder)?, loops_below(folder)?);
    if !mounts.is_empty() || !loops.is_empty() {
        bail!("left behind: mounts {mounts:?}, loop devices {loops:?}");
    }
    Ok(())
}
