//! What several RPCs share: ids, guards, and reads that know what absence means.

use std::sync::Arc;

use azcsi_cloud::{Azure, Disk};
use azcsi_proto::csi::v1;
use azcsi_rpc::{GuardKey, validate};
use azcsi_types::disk_uri::{DiskUri, SnapshotUri};
use azcsi_types::node::{NodeName, VmRef};
use azcsi_types::op::Op;
use azcsi_types::topology::{Place, Segments};

use super::Controller;
use super::error::ControllerError;
use super::facts::DiskFacts;
use crate::model::topology::{self, Requirement};

/// Reads a volume id: empty is invalid, one that is no disk's is not found.
pub(super) fn disk_uri(id: String) -> Result<DiskUri, ControllerError> {
    let id = validate::required("volume_id", id)?;
    id.parse()
        .map_err(|source| ControllerError::NoSuchId { id, source })
}

/// Reads a snapshot id in the same way.
pub(super) fn snapshot_uri(id: String) -> Result<SnapshotUri, ControllerError> {
    let id = validate::required("snapshot_id", id)?;
    id.parse()
        .map_err(|source| ControllerError::NoSuchId { id, source })
}

/// What creates, changes and deletes a disk.
pub(super) fn disk_guard(disk: &DiskUri) -> GuardKey {
    GuardKey::new("disk", &disk.folded())
}

/// What creates and deletes a snapshot.
pub(super) fn snapshot_guard(snapshot: &SnapshotUri) -> GuardKey {
    GuardKey::new("snapshot", &snapshot.folded())
}

/// What attaches a disk to a node and detaches it there. Other nodes are not in its way; what
/// changes or deletes the disk is.
pub(super) fn attachment_guards(disk: &DiskUri, node: &str) -> Vec<GuardKey> {
    let node = node.to_ascii_lowercase();
    vec![
        GuardKey::shared("disk", &disk.folded()),
        GuardKey::new("attachment", &format!("{} {node}", disk.folded())),
    ]
}

impl Controller {
    /// Reads a disk; `None` if it is proven absent.
    pub(super) async fn find_disk(
        &self,
        op: &Op,
        uri: &DiskUri,
    ) -> Result<Option<Disk>, ControllerError> {
        match self.azure.disks().get(op, uri).await {
            Ok(disk) => {
                self.facts.put(uri, &disk);
                Ok(Some(disk))
            }
            Err(error) if error.is_not_found() => {
                self.facts.forget(uri);
                Ok(None)
            }
            Err(error) => Err(ControllerError::azure(
                format!("reading volume {uri}"),
                error,
            )),
        }
    }

    /// Reads a disk that has to exist.
    pub(super) async fn need_disk(&self, op: &Op, uri: &DiskUri) -> Result<Disk, ControllerError> {
        let disk = self.find_disk(op, uri).await?;
        disk.ok_or_else(|| absent_volume(uri))
    }

    /// What is known about a disk, read only if nothing is remembered.
    pub(super) async fn disk_facts(
        &self,
        op: &Op,
        uri: &DiskUri,
    ) -> Result<(Arc<DiskFacts>, Option<Disk>), ControllerError> {
        if let Some(facts) = self.facts.get(uri) {
            return Ok((facts, None));
        }
        let disk = self.need_disk(op, uri).await?;
        let facts = self.facts.put(uri, &disk);
        let incomplete = || ControllerError::Going(format!("volume {uri} is still being created"));
        Ok((facts.ok_or_else(incomplete)?, Some(disk)))
    }
}

impl Controller {
    /// Azure under the name that a class wants for its requests.
    pub(super) fn azure_as(&self, user_agent: Option<&str>) -> Azure {
        user_agent.map_or_else(|| self.azure.clone(), |name| self.azure.named(name))
    }
}

/// What is known about a machine that holds a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// It runs this node, or ran it until the node was deleted from Kubernetes.
    Node(NodeName),
    /// It does not exist any more.
    Gone,
    /// It is none of this cluster's machines.
    Foreign,
}

impl Controller {
    /// The node on a machine. A machine of the cluster's own resource group is known by its host
    /// name even when Kubernetes has no node object for it any more.
    pub(super) async fn whereabouts(
        &self,
        op: &Op,
        vm: &VmRef,
    ) -> Result<Whereabouts, ControllerError> {
        let own = &self.settings;
        let ours = vm
            .id()
            .subscription()
            .eq_ignore_ascii_case(&own.subscription)
            && vm
                .id()
                .resource_group()
                .eq_ignore_ascii_case(&own.resource_group);
        if let Some(node) = self.ports.nodes.node(op, vm).await? {
            // Another cluster may have a node of the same name.
            let same = ours || self.ports.nodes.machine(op, &node).await?.as_ref() == Some(vm);
            return Ok(if same {
                Whereabouts::Node(node)
            } else {
                Whereabouts::Foreign
            });
        }
        match self.azure.vms().get(op, vm).await {
            Ok(read) if ours => {
                let name = read
                    .computer_name()
                    .unwrap_or_default()
                    .to_ascii_lowercase();
                Ok(name.parse().map_or(Whereabouts::Foreign, Whereabouts::Node))
            }
            Ok(_) => Ok(Whereabouts::Foreign),
            Err(error)
                if error.is_not_found()
                    || error.is_parent_not_found()
                    || error.is_vmss_instance_gone() =>
            {
                Ok(Whereabouts::Gone)
            }
            Err(error) => Err(ControllerError::azure(
                format!("reading machine {vm}"),
                error,
            )),
        }
    }
}

/// Azure says that a volume does not exist.
pub(super) fn absent_volume(uri: &DiskUri) -> ControllerError {
    ControllerError::Absent {
        what: format!("volume {uri}"),
    }
}
/// What is asked of the place of a volume or a snapshot.
pub(super) fn requirement(wire: Option<v1::TopologyRequirement>) -> Requirement {
    let segments = |terms: Vec<v1::Topology>| -> Vec<Segments> {
        let terms = terms.into_iter();
        terms
            .map(|term| term.segments.into_iter().collect())
            .collect()
    };
    let wire = wire.unwrap_or_default();
    Requirement {
        requisite: segments(wire.requisite),
        preferred: segments(wire.preferred),
    }
}

/// Places as CSI writes them.
pub(super) fn to_wire_places(places: &[Place]) -> Vec<v1::Topology> {
    let topology = |place| v1::Topology {
        segments: topology::segments(place).into_iter().collect(),
    };
    places.iter().map(topology).collect()
}
