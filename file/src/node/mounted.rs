//! What is mounted of a volume, and taking it away.

use std::path::Path;
use std::time::Duration;

use azcsi_host::HostError;
use azcsi_host::liveness::Liveness;
use azcsi_host::mount::Unmount;
use azcsi_host::mountinfo::{Mount, Table};
use azcsi_host::shares::ShareKind;
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;

use super::Node;
use super::error::NodeError;
use super::stage_plan::Mounted;

/// Longest wait for a mount that may be dead.
pub(super) const ASK: Duration = Duration::from_secs(5);

/// The mount table.
pub(super) fn table(node: &Node, volume: &str) -> Result<Table, NodeError> {
    node.powers
        .table
        .read()
        .map_err(|error| NodeError::step("reading the mount table", volume, error))
}

/// The path as the kernel lists it. Links on the way to it are followed, such as a kubelet folder that
/// was moved; a link at its end is not, because that would be a place that nobody named.
pub(super) fn resolve(path: &HostPath) -> HostPath {
    let name = path.as_path().file_name();
    let folder = path.parent().canonicalize();
    let resolved = folder
        .ok()
        .zip(name)
        .map(|(folder, name)| folder.join(name));
    resolved
        .and_then(|path| path.to_str()?.parse().ok())
        .unwrap_or_else(|| path.clone())
}

/// A share as the mount table would show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// The protocol.
    pub(super) kind: ShareKind,
    /// Its source.
    pub(super) source: &'a str,
}

/// Looks at what is mounted at a path.
pub(super) async fn look(
    node: &Node,
    table: &Table,
    path: &Path,
    seen: Option<Seen<'_>>,
) -> Option<Mounted> {
    let mount = table.top(path)?;
    let is_volume = seen.is_none_or(|seen| node.powers.shares.is_of(mount, seen.kind, seen.source));
    Some(Mounted {
        is_volume,
        life: node.powers.shares.ask(path, ASK).await,
        read_only: mount.is_read_only(),
    })
}

/// The other places where the very mount is.
pub(super) fn others<'a>(table: &'a Table, mount: &Mount, but: [&Path; 2]) -> Vec<&'a Mount> {
    table
        .iter()
        .filter(|other| other.device == mount.device && other.root == mount.root)
        .filter(|other| !but.contains(&other.point.as_path()))
        .collect()
}

/// Removes every mount at a path, and then the path itself if it is an empty folder.
///
/// A mount that does not answer is only taken out of sight: an ordinary unmount would wait for its
/// server, perhaps for ever. Nothing looks at the path through the mount, so this works whatever the
/// kernel says about it (known problem SMB-07).
pub(super) async fn clear(
    node: &Node,
    op: &Op,
    path: &Path,
    volume: &str,
) -> Result<(), NodeError> {
    if table(node, volume)?.top(path).is_some() {
        let how = match node.powers.shares.ask(path, ASK).await {
            Liveness::Alive => Unmount::Plain,
            Liveness::Dead(_) | Liveness::Silent => Unmount::DeviceGone,
        };
        let mounter = &node.powers.mounter;
        mounter
            .unmount_all(op, path, how)
            .await
            .map_err(|error| NodeError::step("unmounting", volume, error))?;
    }
    remove(path).map_err(|error| NodeError::step("removing the path", volume, error))
}

fn remove(path: &Path) -> Result<(), HostError> {
    let fail = |source| HostError::io("remove", path, source);
    let meta = match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(fail)?,
    };
    if meta.is_dir() {
        std::fs::remove_dir(path).map_err(fail)
    } else if meta.is_file() && meta.len() == 0 {
        std::fs::remove_file(path).map_err(fail)
    } else {
        Err(fail(std::io::Error::other("it is not an empty folder")))
    }
}

/// Makes a folder to mount on; tells whether it was missing.
pub(super) fn make(path: &Path, volume: &str) -> Result<bool, NodeError> {
    use std::os::unix::fs::DirBuilderExt;
    let fail = |source| {
        NodeError::step(
            "making the folder",
            volume,
            HostError::io("make", path, source),
        )
    };
    let mut folders = std::fs::DirBuilder::new();
    folders.recursive(true).mode(0o750);
    if let Some(parent) = path.parent() {
        folders.create(parent).map_err(fail)?;
    }
    match std::fs::DirBuilder::new().mode(0o750).create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let meta = path.symlink_metadata().map_err(fail)?;
            if meta.is_dir() {
                Ok(false)
            } else {
                Err(fail(error))
            }
        }
        Err(error) => Err(fail(error)),
    }
}

/// Looks whether what is mounted is what was asked for.
pub(super) async fn prove(
    node: &Node,
    op: &Op,
    volume: &str,
    (target, wanted): (&Path, Seen<'_>),
) -> Result<(), NodeError> {
    let found = table(node, volume)?;
    let top = found.top(target);
    let is_it = |mount| {
        let shares = &node.powers.shares;
        shares.is_of(mount, wanted.kind, wanted.source)
    };
    if top.is_some_and(is_it) {
        return Ok(());
    }
    let error = NodeError::NotReady {
        volume: volume.to_owned(),
        why: "what is mounted is not what was asked for".to_owned(),
    };
    let mounter = &node.powers.mounter;
    match mounter.unmount_all(op, target, Unmount::Plain).await {
        Ok(()) => Err(error),
        Err(_) => Err(NodeError::LeftMounted {
            volume: volume.to_owned(),
            path: target.to_owned(),
            source: Box::new(error),
        }),
    }
}
