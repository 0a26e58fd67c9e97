//! What Kubernetes would say, for a controller in a test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use azcsi_disk::controller::ports::{
    Attachments, Claim, ConversionMarks, Hold, NodeDirectory, NodeState, PortError,
};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::{Lun, LunSet};
use azcsi_types::node::{NodeName, VmRef};
use azcsi_types::op::Op;
use futures_util::future::BoxFuture;

/// What Kubernetes would say: which machine a node is, and which attachments it wants.
#[derive(Debug, Default)]
pub(crate) struct Kubernetes {
    pub(super) machines: Mutex<BTreeMap<String, VmRef>>,
    states: Mutex<BTreeMap<String, NodeState>>,
    claims: Mutex<BTreeSet<(String, String)>>,
    slots: Mutex<BTreeMap<String, LunSet>>,
    /// Disks with the mark of a conversion, and whether another process watches it.
    marks: Mutex<BTreeMap<String, Hold>>,
}

impl Kubernetes {
    /// A VolumeAttachment appears.
    pub(crate) fn claim(&self, disk: &str, node: &str) {
        self.claims
            .lock()
            .unwrap()
            .insert((disk.to_lowercase(), node.to_lowercase()));
    }

    /// A VolumeAttachment goes.
    pub(crate) fn unclaim(&self, disk: &str, node: &str) {
        self.claims
            .lock()
            .unwrap()
            .remove(&(disk.to_lowercase(), node.to_lowercase()));
    }

    /// A node's state changes.
    pub(crate) fn set_state(&self, node: &str, state: NodeState) {
        self.states
            .lock()
            .unwrap()
            .insert(node.to_lowercase(), state);
    }

    /// A VolumeAttachment of some other disk claims a slot.
    pub(crate) fn claim_slot(&self, node: &str, lun: i64) {
        let mut slots = self.slots.lock().unwrap();
        slots
            .entry(node.to_lowercase())
            .or_default()
            .insert(Lun::try_from(lun).unwrap());
    }
}

impl Kubernetes {
    /// A process that ended, or one that still runs, has marked a disk.
    pub(crate) fn mark(&self, disk: &str, hold: Hold) {
        self.marks.lock().unwrap().insert(disk.to_lowercase(), hold);
    }

    /// The disks that are marked.
    pub(crate) fn marked(&self) -> Vec<String> {
        self.marks.lock().unwrap().keys().cloned().collect()
    }
}

impl ConversionMarks for Kubernetes {
    fn hold<'a>(&'a self, disk: &'a DiskUri) -> BoxFuture<'a, Result<Hold, PortError>> {
        let mut marks = self.marks.lock().unwrap();
        let hold = *marks.entry(disk.folded()).or_insert(Hold::Ours);
        Box::pin(std::future::ready(Ok(hold)))
    }

    fn release<'a>(&'a self, disk: &'a DiskUri) -> BoxFuture<'a, Result<(), PortError>> {
        self.marks.lock().unwrap().remove(&disk.folded());
        Box::pin(std::future::ready(Ok(())))
    }

    fn unwatched(&self) -> BoxFuture<'_, Result<Vec<DiskUri>, PortError>> {
        let marks = self.marks.lock().unwrap();
        let ours = marks.iter().filter(|(_, hold)| **hold == Hold::Ours);
        let disks = ours.map(|(disk, _)| disk.parse().unwrap()).collect();
        Box::pin(std::future::ready(Ok(disks)))
    }
}

impl NodeDirectory for Kubernetes {
    fn machine<'a>(
        &'a self,
        _: &'a Op,
        node: &'a NodeName,
    ) -> BoxFuture<'a, Result<Option<VmRef>, PortError>> {
        let found = self.machines.lock().unwrap().get(&node.folded()).cloned();
        Box::pin(async move { Ok(found) })
    }

    fn node<'a>(
        &'a self,
        _: &'a Op,
        machine: &'a VmRef,
    ) -> BoxFuture<'a, Result<Option<NodeName>, PortError>> {
        let machines = self.machines.lock().unwrap();
        let found = machines
            .iter()
            .find(|(_, vm)| *vm == machine)
            .map(|(name, _)| name.parse().unwrap());
        Box::pin(async move { Ok(found) })
    }

    fn state<'a>(&'a self, node: &'a NodeName) -> BoxFuture<'a, NodeState> {
        let state = self.states.lock().unwrap().get(&node.folded()).copied();
        Box::pin(async move { state.unwrap_or(NodeState::Ready) })
    }
}

impl Attachments for Kubernetes {
    fn claim<'a>(&'a self, disk: &'a DiskUri, node: &'a NodeName) -> BoxFuture<'a, Claim> {
        let live = self
            .claims
            .lock()
            .unwrap()
            .contains(&(disk.folded(), node.folded()));
        Box::pin(async move { if live { Claim::Live } else { Claim::None } })
    }

    fn slots<'a>(&'a self, node: &'a NodeName, _: &'a [DiskUri]) -> BoxFuture<'a, LunSet> {
        let slots = self.slots.lock().unwrap().get(&node.folded()).copied();
        Box::pin(async move { slots.unwrap_or_default() })
    }

    fn groups(&self) -> BoxFuture<'_, Vec<(String, String)>> {
        Box::pin(async { Vec::new() })
    }
}
