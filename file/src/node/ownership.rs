//! The group and mode of what a volume holds: for NFS, and for filesystems in files. SMB has both
//! from its mount options.
//!
//! The walk runs in a bounded worker; when its time runs out it goes on, and the next stage waits for
//! it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::Path;
use std::time::Duration;

use azcsi_host::HostError;
use azcsi_host::worker::Workers;

use crate::model::volume_context::GroupChange;

const SETGID: u32 = 0o2000;
const FILE: u32 = 0o660;
const FOLDER: u32 = 0o770 | SETGID;

/// Whether everything has to change. Pure.
#[must_use]
pub(super) const fn is_due(policy: GroupChange, group: u32, root: (u32, u32)) -> bool {
    let (gid, mode) = root;
    match policy {
        GroupChange::None => false,
        GroupChange::Always => true,
        GroupChange::OnRootMismatch => gid != group || mode & FOLDER != FOLDER,
    }
}

/// Gives everything to a group, if that is due. The root comes last, so that an interrupted walk is
/// seen as one.
///
/// # Errors
/// The first failure, or that it takes too long.
pub(super) async fn give(
    workers: &Workers,
    root: &Path,
    (group, policy): (u32, GroupChange),
    wait: Duration,
) -> Result<(), HostError> {
    let path = root.to_owned();
    workers
        .run("change the group of", root, wait, move || {
            let fail = |source| HostError::io("change the group of", &path, source);
            let meta = fs::metadata(&path).map_err(fail)?;
            if is_due(policy, group, (meta.gid(), meta.mode())) {
                walk(&path, group).map_err(fail)?;
            }
            Ok(())
        })
        .await
}

/// Depth first, without following links and without recursion.
fn walk(root: &Path, group: u32) -> io::Result<()> {
    let mut folders = vec![root.to_owned()];
    let mut seen = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else {
                own(&entry.path(), group, kind.is_symlink())?;
            }
        }
        seen.push(folder);
    }
    seen.iter()
        .rev()
        .try_for_each(|folder| own(folder, group, false))
}

fn own(path: &Path, group: u32, is_link: bool) -> io::Result<()> {
    match lchown(path, None, Some(group)) {
        // Somebody else removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    }
    if is_link {
        return Ok(());
    }
    let meta = fs::symlink_metadata(path)?;
    let add = if meta.is_dir() { FOLDER } else { FILE };
    let mode = meta.mode() & 0o7777;
    if mode & add == add {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode | add))
}

/// Sets the mode of a fresh mount's root, without the bits that would run programs as somebody else.
///
/// # Errors
/// The kernel's reason, or that it takes too long.
pub(super) async fn set_mode(
    workers: &Workers,
    root: &Path,
    mode: u32,
    wait: Duration,
) -> Result<(), HostError> {
    let path = root.to_owned();
    let mode = mode & 0o1777;
    workers
        .run("set the mode of", root, wait, move || {
            let fail = |source| HostError::io("set the mode of", &path, source);
            let meta = fs::metadata(&path).map_err(fail)?;
            if meta.mode() & 0o777 == mode & 0o777 {
                return Ok(());
            }
            let keep = meta.mode() & 0o7000;
            let permissions = fs::Permissions::from_mode(keep | mode);
            fs::set_permissions(&path, permissions).map_err(fail)
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::time::Duration;

    use azcsi_host::worker::Workers;

    use super::{give, is_due, set_mode};
    use crate::model::volume_context::GroupChange::{Always, None, OnRootMismatch};

    const WAIT: Duration = Duration::from_secs(60);

    #[test]
    fn the_policy_decides() {
        for (policy, root, due) in [
            (None, (0, 0o700), false),
            (Always, (5, 0o2770), true),
            (OnRootMismatch, (5, 0o2770), false),
            (OnRootMismatch, (5, 0o770), true),
            (OnRootMismatch, (6, 0o2770), true),
        ] {
            assert_eq!(is_due(policy, 5, root), due, "{policy:?} {root:?}");
        }
    }

    #[tokio::test]
    async fn everything_is_given_to_the_group_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        fs::write(&outside, "x").unwrap();
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&outside, root.join("link")).unwrap();
        let own = fs::metadata(&root).unwrap().gid();
        give(&Workers::default(), &root, (own, Always), WAIT)
            .await
            .unwrap();
        let mode = |path: &str| fs::metadata(root.join(path)).unwrap().mode() & 0o7777;
        assert_eq!(mode("a/b/file") & 0o660, 0o660);
        assert_eq!(mode("a/b") & 0o2770, 0o2770);
        assert_eq!(fs::metadata(&outside).unwrap().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_mode_never_makes_programs_run_as_somebody_else() {
        let folder = tempfile::tempdir().unwrap();
        set_mode(&Workers::default(), folder.path(), 0o6755, WAIT)
            .await
            .unwrap();
        assert_eq!(folder.path().metadata().unwrap().mode() & 0o7777, 0o755);
    }
}
