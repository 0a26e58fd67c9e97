//! The target path of a publish: made, bound to, and taken away again after a failure.

use std::fs::OpenOptions;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use azcsi_host::HostError;
use azcsi_host::mount::Write;
use azcsi_host::mountinfo::{DevT, Table};
use azcsi_types::op::Op;

use super::error::NodeError;
use super::publish_request::Request;
use super::{Node, mounted};

/// The number of the device node at a path.
pub(super) fn number_of(path: &Path) -> Option<DevT> {
    let meta = path.symlink_metadata().ok()?;
    meta.file_type()
        .is_block_device()
        .then(|| DevT::from_raw(meta.rdev()))
}

/// What the target has to be.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Folder,
    File(DevT),
}

/// Makes the target and binds to it. After a failure nothing is left that was not there before.
pub(super) async fn bind(
    node: &Node,
    request: &Request,
    op: &Op,
    (source, place): (&Path, Place),
) -> Result<(), NodeError> {
    let volume = request.volume.as_str();
    let target = request.target.as_path();
    let made =
        make(target, place).map_err(|error| NodeError::io("making the target", volume, error))?;
    let write = if request.read_only {
        Write::Denied
    } else {
        Write::Allowed
    };
    let bound = node.powers.mounter.bind(op, source, target, write).await;
    let result = match bound {
        Ok(()) => check_bound(node, request, source, place),
        Err(error) => Err(NodeError::step("publishing", volume, error)),
    };
    let Err(error) = result else {
        return Ok(());
    };
    let mounter = &node.powers.mounter;
    let how = azcsi_host::mount::Unmount::Plain;
    if mounter.unmount_all(op, target, how).await.is_err() {
        return Err(NodeError::LeftMounted {
            volume: volume.to_owned(),
            path: target.to_owned(),
            source: Box::new(error),
        });
    }
    if made {
        let _ = mounted::clear(node, op, target, volume).await;
    }
    Err(error)
}

/// Makes what the bind needs; tells whether it was missing.
fn make(target: &Path, place: Place) -> Result<bool, HostError> {
    let fail = |source| HostError::io("make", target, source);
    if let Some(parent) = target.parent() {
        let mut folders = std::fs::DirBuilder::new();
        folders.recursive(true).mode(0o750);
        folders.create(parent).map_err(fail)?;
    }
    let made = match place {
        Place::Folder => std::fs::DirBuilder::new().mode(0o750).create(target),
        Place::File(_) => OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o660)
            .open(target)
            .map(drop),
    };
    match made {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let meta = target.symlink_metadata().map_err(fail)?;
            let fits = match place {
                Place::Folder => meta.is_dir(),
                Place::File(_) => meta.is_file() && meta.len() == 0,
            };
            if fits { Ok(false) } else { Err(fail(error)) }
        }
        Err(error) => Err(fail(error)),
    }
}

fn check_bound(
    node: &Node,
    request: &Request,
    source: &Path,
    place: Place,
) -> Result<(), NodeError> {
    let table = mounted::table(node, request.volume.as_str())?;
    let target = request.target.as_path();
    let is_right = match place {
        Place::File(device) => number_of(target) == Some(device),
        Place::Folder => is_bound(&table, source, target, request.read_only),
    };
    if is_right {
        Ok(())
    } else {
        Err(NodeError::NotReady {
            volume: request.volume.as_str().to_owned(),
            why: "what is mounted at the target is not what was bound there".to_owned(),
        })
    }
}

fn is_bound(table: &Table, source: &Path, target: &Path, read_only: bool) -> bool {
    match (table.top(source), table.top(target)) {
        (Some(from), Some(to)) => {
            from.device == to.device && from.root == to.root && (to.is_read_only() || !read_only)
        }
        _ => false,
    }
}
