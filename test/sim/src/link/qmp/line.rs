//! One machine: what it has against what it should have.
//!
//! What it has is asked of QEMU whenever a connection begins, so a machine that was switched off,
//! or a simulator that was killed, leaves nothing to guess. The names of devices say which disk
//! they are and where, so that a slot that was given to another disk is never mistaken.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::monitor::{Monitor, MonitorError};
use crate::link::disks::Backing;
use crate::link::{Attachment, LinkError};

/// Longest path of a Unix socket (kernel: `sockaddr_un`).
const LONGEST_SOCKET: usize = 107;
/// Beginning of the names of our devices.
const PREFIX: &str = "azure-";

#[derive(Debug, Default)]
struct State {
    /// What should be there, and since when.
    wanted: BTreeMap<Attachment, Instant>,
    /// Names of devices that are there.
    present: BTreeSet<String>,
    monitor: Option<Monitor>,
    lag: Duration,
}

/// One machine.
#[derive(Debug)]
pub struct Line {
    node: String,
    socket: PathBuf,
    backing: Backing,
    state: Mutex<State>,
}

impl Line {
    /// The machine whose monitor is in this folder, when it is up.
    ///
    /// # Errors
    /// When the path is too long for a socket.
    pub fn new(node: &str, folder: &Path, backing: Backing) -> Result<Self, LinkError> {
        let socket = folder.join("qmp.sock");
        if socket.as_os_str().as_bytes().len() > LONGEST_SOCKET {
            return Err(LinkError::LongPath(socket.display().to_string()));
        }
        Ok(Self {
            node: node.to_owned(),
            socket,
            backing,
            state: Mutex::default(),
        })
    }

    /// Name of the node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The machine should have this disk.
    pub fn want(&self, attachment: &Attachment) {
        let mut state = self.lock();
        let wanted = state.wanted.entry(attachment.clone());
        wanted.or_insert_with(Instant::now);
    }

    /// The machine should have this disk no more.
    pub fn forget(&self, attachment: &Attachment) {
        self.lock().wanted.remove(attachment);
    }

    /// Disks appear so much later.
    pub fn set_lag(&self, lag: Duration) {
        self.lock().lag = lag;
    }

    /// Plugs and unplugs until the machine has what it should have. A machine that is off, or goes
    /// off meanwhile, is no error.
    ///
    /// # Errors
    /// When QEMU refuses.
    pub fn converge(&self) -> Result<(), LinkError> {
        let mut state = self.lock();
        let result = self.try_converge(&mut state);
        self.settle(&mut state, result)
    }

    /// Tells the machine that a disk grew.
    ///
    /// # Errors
    /// When QEMU refuses.
    pub fn resize(&self, disk: &str, bytes: u64) -> Result<(), LinkError> {
        let mut state = self.lock();
        let State {
            wanted,
            present,
            monitor,
            ..
        } = &mut *state;
        let Some(monitor) = monitor else {
            return Ok(());
        };
        let devices = wanted.keys().filter(|a| a.disk == disk).map(device_name);
        let mut result = Ok(());
        for device in devices.filter(|name| present.contains(name)) {
            let arguments = json!({"node-name": block_name(&device), "size": bytes});
            result = result.and(monitor.execute("block_resize", &arguments).map(drop));
        }
        self.settle(&mut state, result)
    }

    /// Takes all disks away from a machine that is up.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.wanted.clear();
        if state.monitor.is_some()
            && let Err(error) = self.try_converge(&mut state)
        {
            tracing::debug!(node = self.node, %error, "disks stay with a machine");
        }
        state.monitor = None;
    }

    fn settle(&self, state: &mut State, result: Result<(), MonitorError>) -> Result<(), LinkError> {
        match result {
            Ok(()) => Ok(()),
            Err(MonitorError::Gone(_)) => {
                state.monitor = None;
                state.present.clear();
                Ok(())
            }
            Err(source) => Err(LinkError::Machine {
                node: self.node.clone(),
                source,
            }),
        }
    }

    fn try_converge(&self, state: &mut State) -> Result<(), MonitorError> {
        let State {
            wanted,
            present,
            monitor: slot,
            lag,
        } = state;
        let monitor = match slot {
            Some(monitor) => {
                // Finds out that the machine was switched off since.
                if wanted.len() == present.len() {
                    monitor.execute("query-status", &json!({}))?;
                }
                monitor
            }
            None => {
                let mut fresh = Monitor::connect(&self.socket)?;
                *present = devices(&mut fresh)?;
                slot.insert(fresh)
            }
        };
        monitor.forget_events();
        let names: BTreeMap<String, &Attachment> =
            wanted.keys().map(|a| (device_name(a), a)).collect();
        let gone: Vec<String> = present
            .iter()
            .filter(|name| !names.contains_key(*name))
            .cloned()
            .collect();
        for name in gone {
            unplug(monitor, &name)?;
            present.remove(&name);
        }
        for (name, attachment) in names {
            let since = wanted.get(attachment).map(Instant::elapsed);
            let is_due = since.is_none_or(|since| since >= *lag);
            if is_due && !present.contains(&name) {
                self.plug(monitor, &name, attachment)?;
                present.insert(name);
            }
        }
        Ok(())
    }

    fn plug(
        &self,
        monitor: &mut Monitor,
        name: &str,
        attachment: &Attachment,
    ) -> Result<(), MonitorError> {
        let block = json!({
            "node-name": block_name(name),
            "driver": "raw",
            "file": {
                "driver": "file",
                "filename": self.backing.path(&attachment.disk),
                // A shared disk is the same file in several machines.
                "locking": "off",
            },
        });
        monitor.execute("blockdev-add", &block)?;
        let nvme = self.socket.with_file_name("nvme").exists();
        let (bus, lun) = if nvme {
            ("nvme.0", attachment.lun + 2)
        } else {
            ("scsi1.0", attachment.lun)
        };
        let (vendor, product) = if nvme {
            ("AZLAB", "Namespace")
        } else {
            ("Msft", "Virtual Disk")
        };
        let device = json!({
            "driver": "scsi-hd", "id": name, "bus": bus, "channel": 0, "scsi-id": 0, "lun": lun,
            "drive": block_name(name), "vendor": vendor, "product": product,
            "wwn": world_wide_name(&attachment.disk), "share-rw": true,
            "logical_block_size": attachment.sector, "physical_block_size": 4096,
        });
        let added = monitor.execute("device_add", &device);
        if let Err(MonitorError::Refused { .. }) = added {
            // Nothing uses it: it can only be gone, or go.
            let _ = monitor.execute("blockdev-del", &json!({"node-name": block_name(name)}));
        }
        added.map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unplug(monitor: &mut Monitor, name: &str) -> Result<(), MonitorError> {
    match monitor.execute("device_del", &json!({"id": name})) {
        Ok(_) => monitor.wait_deleted(name)?,
        // A reset of the machine between our looks may have ended it.
        Err(MonitorError::Refused { reason, .. }) if reason.contains("not found") => {}
        Err(error) => return Err(error),
    }
    monitor
        .execute("blockdev-del", &json!({"node-name": block_name(name)}))
        .map(drop)
}

/// Our devices that a machine has.
fn devices(monitor: &mut Monitor) -> Result<BTreeSet<String>, MonitorError> {
    let list = monitor.execute("qom-list", &json!({"path": "/machine/peripheral"}))?;
    let names = list.as_array().into_iter().flatten();
    Ok(names
        .filter_map(|entry| entry["name"].as_str())
        .filter(|name| name.starts_with(PREFIX))
        .map(str::to_owned)
        .collect())
}

/// Says slot, sector size and disk; QEMU allows 31 characters for what is made from it.
pub(super) fn device_name(attachment: &Attachment) -> String {
    let digest: String = hash(&attachment.disk)
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{PREFIX}{}-{}-{digest}", attachment.lun, attachment.sector)
}

pub(super) fn block_name(device: &str) -> String {
    device.replacen(PREFIX, "b", 1)
}

/// A locally assigned name (NAA 3), the same wherever the disk is attached.
fn world_wide_name(disk: &str) -> u64 {
    let bytes = hash(disk);
    let tail = bytes
        .iter()
        .take(8)
        .fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
    (tail & 0x0fff_ffff_ffff_ffff) | 0x3000_0000_0000_0000
}

fn hash(disk: &str) -> Vec<u8> {
    Sha256::digest(disk.as_bytes()).to_vec()
}

#[cfg(test)]
mod tests;
