//! Disks of QEMU virtual machines: attach and detach are hot-plugs over QMP.
//!
//! A node's machine is whoever serves the monitor socket `nodes/<node>/qmp.sock` below the state
//! directory. A machine that is off has no socket; what was attached meanwhile appears when it
//! comes up. Data disks hang on the SCSI controller `scsi1`, at the LUN that Azure gave, with
//! Azure's vendor and product strings. A machine that serves its data disks as NVMe namespaces has
//! a file `nvme` beside the socket: then the disks hang on the controller `nvme` at LUN + 2, which
//! is the number of the namespace, and the machine makes the namespaces out of them.
//!
//! | file | holds |
//! |---|---|
//! | [`monitor`] | the protocol |
//! | [`line`](mod@line) | one machine: what it has against what it should have |

pub mod line;
pub mod monitor;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::disks::Backing;
use super::{Attachment, LinkError};
use line::Line;

/// How often machines are looked at that nobody asked anything of.
const LOOK: Duration = Duration::from_millis(200);

/// All machines.
#[derive(Debug)]
pub struct QmpLink {
    backing: Backing,
    lines: BTreeMap<String, Arc<Line>>,
    stop: Arc<(Mutex<bool>, Condvar)>,
    watcher: Mutex<Option<JoinHandle<()>>>,
}

impl QmpLink {
    /// Opens the link over a state directory and watches for machines.
    ///
    /// # Errors
    /// When a folder cannot be made, or a socket's path would be too long for the kernel.
    pub fn start(dir: &Path, nodes: &[String], wanted: &[Attachment]) -> Result<Self, LinkError> {
        let backing = Backing::open(&dir.join("disks"))?;
        let mut lines = BTreeMap::new();
        for node in nodes {
            let folder = dir.join("nodes").join(node);
            fs::create_dir_all(&folder)
                .map_err(|error| LinkError::io("make the folder", &folder, error))?;
            let line = Line::new(node, &folder, backing.clone())?;
            lines.insert(node.clone(), Arc::new(line));
        }
        for attachment in wanted {
            if let Some(line) = lines.get(&attachment.node) {
                line.want(attachment);
            }
        }
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let watched: Vec<Arc<Line>> = lines.values().cloned().collect();
        let until = Arc::clone(&stop);
        let watcher = thread::spawn(move || watch(&watched, &until));
        Ok(Self {
            backing,
            lines,
            stop,
            watcher: Mutex::new(Some(watcher)),
        })
    }

    /// The contents of disks.
    #[must_use]
    pub const fn backing(&self) -> &Backing {
        &self.backing
    }

    /// Makes a disk appear on a node: now, or when its machine comes up. Again is fine.
    ///
    /// # Errors
    /// When QEMU refuses.
    pub fn attach(&self, wanted: &Attachment) -> Result<(), LinkError> {
        let Some(line) = self.lines.get(&wanted.node) else {
            return Ok(());
        };
        line.want(wanted);
        line.converge()
    }

    /// Makes a disk disappear from a node, without asking the node. Again is fine.
    ///
    /// # Errors
    /// When QEMU refuses.
    pub fn detach(&self, gone: &Attachment) -> Result<(), LinkError> {
        let Some(line) = self.lines.get(&gone.node) else {
            return Ok(());
        };
        line.forget(gone);
        line.converge()
    }

    /// Makes a disk larger, also where it is attached.
    ///
    /// # Errors
    /// When the file cannot grow or QEMU refuses.
    pub fn resize(&self, disk: &str, bytes: u64) -> Result<(), LinkError> {
        self.backing.ensure(disk, bytes)?;
        for line in self.lines.values() {
            line.resize(disk, bytes)?;
        }
        Ok(())
    }

    /// From now on devices appear so much later than Azure says that they are attached.
    pub fn set_lag(&self, lag: Duration) {
        for line in self.lines.values() {
            line.set_lag(lag);
        }
    }

    /// Takes every disk away from the machines that are up, and looks at them no more.
    pub fn shutdown(&self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        let watcher = self
            .watcher
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if watcher.is_some_and(|watcher| watcher.join().is_err()) {
            tracing::warn!("the watcher of machines had died");
        }
        for line in self.lines.values() {
            line.clear();
        }
    }
}

impl Drop for QmpLink {
    fn drop(&mut self) {
        self.shutdown();
    }
}

fn watch(lines: &[Arc<Line>], stop: &(Mutex<bool>, Condvar)) {
    let mut ended = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !*ended {
        drop(ended);
        for line in lines {
            if let Err(error) = line.converge() {
                tracing::warn!(node = line.node(), %error, "a machine does not take its disks");
            }
        }
        let guard = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
        (ended, _) = stop
            .1
            .wait_timeout(guard, LOOK)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests;
