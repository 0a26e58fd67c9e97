//! The device root of a node: the names under `/dev` that a real virtual machine has.
//!
//! Each node gets its own folder, so that many nodes live on one machine and none of them touches
//! the machine's `/dev`. The device node keeps the kernel's name (`loop7`), because a driver looks
//! it up in sysfs by that name. Both families of links are made: `scsi1/lunN` as the Azure agent's
//! rules do, `data/by-lun/N` as azure-vm-utils do.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{LinkError, loopdev};

/// All device roots, below `<dir>/nodes`.
#[derive(Clone, Debug)]
pub struct Farm {
    nodes: PathBuf,
}

impl Farm {
    /// Opens the folder of nodes, making it when it is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(nodes: &Path) -> Result<Self, LinkError> {
        fs::create_dir_all(nodes).map_err(|e| LinkError::io("make the folder", nodes, e))?;
        let nodes = nodes
            .canonicalize()
            .map_err(|e| LinkError::io("find", nodes, e))?;
        Ok(Self { nodes })
    }

    /// The device root of one node.
    #[must_use]
    pub fn device_root(&self, node: &str) -> PathBuf {
        self.nodes.join(node).join("dev")
    }

    /// Makes the empty device root of a node and forgets what an earlier run left in it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn reset(&self, node: &str) -> Result<(), LinkError> {
        let root = self.device_root(node);
        match fs::remove_dir_all(&root) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(LinkError::io("clear the device root", &root, e));
            }
            _ => {}
        }
        for folder in ["disk/azure/scsi1", "disk/azure/data/by-lun"] {
            let path = root.join(folder);
            fs::create_dir_all(&path).map_err(|e| LinkError::io("make the folder", &path, e))?;
        }
        Ok(())
    }

    /// Shows a device to a node at a LUN.
    ///
    /// # Errors
    /// When a name cannot be made.
    pub fn show(
        &self,
        node: &str,
        lun: u32,
        device: &loopdev::LoopDevice,
    ) -> Result<(), LinkError> {
        let root = self.device_root(node);
        let name = device.name();
        loopdev::make_node(&root.join(&name), device.major_minor())?;
        link(&format!("../../../{name}"), &scsi_link(&root, lun))?;
        link(&format!("../../../../{name}"), &by_lun_link(&root, lun))
    }

    /// Takes a device away from a node.
    ///
    /// # Errors
    /// When a name is there and cannot be removed.
    pub fn hide(&self, node: &str, lun: u32, device: &str) -> Result<(), LinkError> {
        let root = self.device_root(node);
        remove(&scsi_link(&root, lun))?;
        remove(&by_lun_link(&root, lun))?;
        remove(&root.join(device))
    }
}

fn scsi_link(root: &Path, lun: u32) -> PathBuf {
    root.join(format!("disk/azure/scsi1/lun{lun}"))
}

fn by_lun_link(root: &Path, lun: u32) -> PathBuf {
    root.join(format!("disk/azure/data/by-lun/{lun}"))
}

fn link(target: &str, path: &Path) -> Result<(), LinkError> {
    remove(path)?;
    symlink(target, path).map_err(|e| LinkError::io("make the link", path, e))
}

fn remove(path: &Path) -> Result<(), LinkError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(LinkError::io("remove", path, e)),
        _ => Ok(()),
    }
}
