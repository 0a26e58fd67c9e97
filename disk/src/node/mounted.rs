//! What is mounted of a volume.

use std::io::ErrorKind;
use std::path::Path;

use azcsi_host::HostError;
use azcsi_host::mount::Unmount;
use azcsi_host::mountinfo::{DevT, Mount, Table};
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;

use super::Node;
use super::error::NodeError;
use super::record::Record;

/// The mount table.
pub(super) fn table(node: &Node, volume: &str) -> Result<Table, NodeError> {
    node.powers
        .table
        .read()
        .map_err(|error| NodeError::io("reading the mount table", volume, error))
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

/// Whether a device still works.
pub(super) fn is_alive(node: &Node, device: DevT) -> bool {
    // Number 0 is for filesystems without a device; nothing tells that those are dead.
    device.major == 0 || node.powers.devices.is_alive(device)
}

/// Whether a mount is of the device that was recorded for the volume in this boot. `None` when no
/// record can tell.
pub(super) fn is_recorded(node: &Node, record: Option<&Record>, mount: &Mount) -> Option<bool> {
    let record = record.filter(|record| record.mark.boot_id == node.powers.boot_id)?;
    let device = mount.block_device();
    if record.mark.device == device.to_string() {
        return Some(true);
    }
    // A partition of the recorded disk.
    let whole = DevT::parse(&record.mark.device)
        .and_then(|number| node.powers.devices.by_number(number))?;
    let devices = &node.powers.devices;
    let parts = devices.partitions(&whole);
    let is_part = parts
        .iter()
        .filter_map(|(number, _)| devices.partition(&whole, *number))
        .any(|part| part.device == device);
    Some(is_part)
}

/// Removes every mount at a path, and then the path itself: an empty folder, or an empty file.
/// Nothing else is ever removed.
pub(super) async fn clear(
    node: &Node,
    op: &Op,
    path: &Path,
    volume: &str,
) -> Result<(), NodeError> {
    let fail = |error| NodeError::io("unmounting", volume, error);
    let how = match table(node, volume)?.top(path) {
        Some(mount) if !is_alive(node, mount.block_device()) => Unmount::DeviceGone,
        _ => Unmount::Plain,
    };
    let mounter = &node.powers.mounter;
    mounter.unmount_all(op, path, how).await.map_err(fail)?;
    remove(path).map_err(|error| NodeError::io("removing the path", volume, error))
}

fn remove(path: &Path) -> Result<(), HostError> {
    let fail = |source| HostError::io("remove", path, source);
    // No place can have a name that is too long.
    let is_nothing = |error: &std::io::Error| {
        matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::InvalidFilename
        )
    };
    let meta = match path.symlink_metadata() {
        Err(error) if is_nothing(&error) => return Ok(()),
        other => other.map_err(fail)?,
    };
    if meta.is_dir() {
        std::fs::remove_dir(path).map_err(fail)
    } else if meta.is_file() && meta.len() > 0 {
        // It was written while nothing was mounted there. It may be all that is left of it.
        Err(fail(std::io::Error::other(
            "it is a file that is not empty",
        )))
    } else {
        std::fs::remove_file(path).map_err(fail)
    }
}
