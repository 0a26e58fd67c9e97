//! Which programs exist on this node.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::exec::TOOL_PATH;
use crate::probe::FsKind;

/// Every program that this crate may start.
pub const NAMES: [&str; 9] = [
    "mkfs.ext2",
    "mkfs.ext3",
    "mkfs.ext4",
    "mkfs.xfs",
    "mkfs.btrfs",
    "e2fsck",
    "resize2fs",
    "xfs_growfs",
    "btrfs",
];

/// The programs that were found at start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools(BTreeMap<&'static str, PathBuf>);

impl Tools {
    /// Looks in the fixed folders of programs.
    #[must_use]
    pub fn look() -> Self {
        Self::look_in(TOOL_PATH.split(':').map(Path::new))
    }

    /// Looks in the given folders; the first one that has a program wins.
    pub fn look_in<'a>(folders: impl Iterator<Item = &'a Path> + Clone) -> Self {
        let find = |name: &'static str| {
            folders
                .clone()
                .map(|folder| folder.join(name))
                .find(|path| is_program(path))
                .map(|path| (name, path))
        };
        Self(NAMES.into_iter().filter_map(find).collect())
    }

    /// Where a program is.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<&Path> {
        self.0.get(name).map(PathBuf::as_path)
    }

    /// What is missing to serve a filesystem; empty when everything is there.
    #[must_use]
    pub fn missing(&self, fs: FsKind) -> Vec<&'static str> {
        let needed: &[&str] = match fs {
            FsKind::Ext2 => &["mkfs.ext2", "e2fsck", "resize2fs"],
            FsKind::Ext3 => &["mkfs.ext3", "e2fsck", "resize2fs"],
            FsKind::Ext4 => &["mkfs.ext4", "e2fsck", "resize2fs"],
            FsKind::Xfs => &["mkfs.xfs", "xfs_growfs"],
            FsKind::Btrfs => &["mkfs.btrfs", "btrfs"],
        };
        NAMES
            .into_iter()
            .filter(|name| needed.contains(name) && self.path(name).is_none())
            .collect()
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::Tools;
    use crate::probe::FsKind;

    #[test]
    fn a_missing_tool_makes_only_its_filesystem_unusable() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["mkfs.xfs", "xfs_growfs", "btrfs", "mkfs.btrfs"] {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            let mode = if name == "btrfs" { 0o644 } else { 0o755 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let tools = Tools::look_in([folder.path()].into_iter());
        assert!(tools.missing(FsKind::Xfs).is_empty());
        assert_eq!(tools.missing(FsKind::Btrfs), ["btrfs"]);
        assert_eq!(
            tools.missing(FsKind::Ext4),
            ["mkfs.ext4", "e2fsck", "resize2fs"]
        );
    }
}
