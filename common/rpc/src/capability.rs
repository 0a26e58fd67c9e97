//! What is offered: one typed set, from which both the advertisement and the gate are made.
//!
//! An advertised call that is not reachable, or the reverse, therefore cannot exist.

mod gate;

use std::collections::BTreeSet;

use azcsi_proto::csi::v1;
use v1::controller_service_capability::rpc::Type as ControllerType;
use v1::node_service_capability::rpc::Type as NodeType;
use v1::plugin_capability::service::Type as ServiceType;
use v1::plugin_capability::volume_expansion::Type as ExpansionType;

pub use gate::Gate;

/// What the plugin as a whole offers (CSI, `PluginCapability`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PluginCapability {
    /// Has a Controller service.
    ControllerService,
    /// Volumes are reachable from some places only.
    VolumeAccessibilityConstraints,
    /// Snapshots are usable from some places only.
    SnapshotAccessibilityConstraints,
    /// A published volume can grow.
    OnlineExpansion,
    /// A volume can grow while it is published nowhere.
    OfflineExpansion,
}

/// What the Controller service offers (CSI, `ControllerServiceCapability`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControllerCapability {
    /// CreateVolume, DeleteVolume.
    CreateDeleteVolume,
    /// ControllerPublishVolume, ControllerUnpublishVolume.
    PublishUnpublishVolume,
    /// ListVolumes.
    ListVolumes,
    /// GetCapacity.
    GetCapacity,
    /// CreateSnapshot, DeleteSnapshot.
    CreateDeleteSnapshot,
    /// ListSnapshots.
    ListSnapshots,
    /// A volume may be the source of another.
    CloneVolume,
    /// Heeds `readonly` of ControllerPublishVolume.
    PublishReadonly,
    /// ControllerExpandVolume.
    ExpandVolume,
    /// ListVolumes tells where volumes are published; brings `ListVolumes` along.
    ListVolumesPublishedNodes,
    /// ControllerGetVolume.
    GetVolume,
    /// Tells the two single-node modes with a writer apart.
    SingleNodeMultiWriter,
    /// ControllerModifyVolume.
    ModifyVolume,
    /// GetSnapshot.
    GetSnapshot,
    /// ControllerGetVolumeHealth.
    GetVolumeHealth,
    /// ControllerListVolumeHealth; brings `GetVolumeHealth` along, as CSI demands.
    ListVolumeHealth,
}

/// What the Node service offers (CSI, `NodeServiceCapability`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeCapability {
    /// NodeStageVolume, NodeUnstageVolume.
    StageUnstageVolume,
    /// NodeGetVolumeStats.
    GetVolumeStats,
    /// NodeExpandVolume.
    ExpandVolume,
    /// Tells the two single-node modes with a writer apart.
    SingleNodeMultiWriter,
    /// Heeds `volume_mount_group`.
    VolumeMountGroup,
    /// NodeGetVolumeHealth.
    GetVolumeHealth,
    /// NodeGetStorageHealth.
    GetStorageHealth,
}

/// The set of what the plugin as a whole offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginCapabilities(BTreeSet<PluginCapability>);

/// The set of what the Controller service offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerCapabilities(BTreeSet<ControllerCapability>);

/// The set of what the Node service offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCapabilities(BTreeSet<NodeCapability>);

impl FromIterator<PluginCapability> for PluginCapabilities {
    fn from_iter<I: IntoIterator<Item = PluginCapability>>(capabilities: I) -> Self {
        Self(capabilities.into_iter().collect())
    }
}

impl FromIterator<NodeCapability> for NodeCapabilities {
    fn from_iter<I: IntoIterator<Item = NodeCapability>>(capabilities: I) -> Self {
        Self(capabilities.into_iter().collect())
    }
}

impl FromIterator<ControllerCapability> for ControllerCapabilities {
    fn from_iter<I: IntoIterator<Item = ControllerCapability>>(capabilities: I) -> Self {
        let mut set: BTreeSet<_> = capabilities.into_iter().collect();
        if set.contains(&ControllerCapability::ListVolumesPublishedNodes) {
            set.insert(ControllerCapability::ListVolumes);
        }
        if set.contains(&ControllerCapability::ListVolumeHealth) {
            set.insert(ControllerCapability::GetVolumeHealth);
        }
        Self(set)
    }
}

impl PluginCapabilities {
    /// Whether `capability` is in the set.
    #[must_use]
    pub fn has(&self, capability: PluginCapability) -> bool {
        self.0.contains(&capability)
    }

    /// The answer of GetPluginCapabilities.
    #[must_use]
    pub fn to_wire(&self) -> v1::GetPluginCapabilitiesResponse {
        let capabilities = self
            .0
            .iter()
            .map(|&capability| plugin_to_wire(capability))
            .collect();
        v1::GetPluginCapabilitiesResponse { capabilities }
    }
}

fn plugin_to_wire(capability: PluginCapability) -> v1::PluginCapability {
    use v1::plugin_capability::{Service, Type, VolumeExpansion};
    let service = |kind: ServiceType| {
        Type::Service(Service {
            r#type: kind.into(),
        })
    };
    let expansion = |kind: ExpansionType| {
        Type::VolumeExpansion(VolumeExpansion {
            r#type: kind.into(),
        })
    };
    let kind = match capability {
        PluginCapability::ControllerService => service(ServiceType::ControllerService),
        PluginCapability::VolumeAccessibilityConstraints => {
            service(ServiceType::VolumeAccessibilityConstraints)
        }
        PluginCapability::SnapshotAccessibilityConstraints => {
            service(ServiceType::SnapshotAccessibilityConstraints)
        }
        PluginCapability::OnlineExpansion => expansion(ExpansionType::Online),
        PluginCapability::OfflineExpansion => expansion(ExpansionType::Offline),
    };
    v1::PluginCapability { r#type: Some(kind) }
}

impl ControllerCapabilities {
    /// Whether `capability` is in the set.
    #[must_use]
    pub fn has(&self, capability: ControllerCapability) -> bool {
        self.0.contains(&capability)
    }

    /// The answer of ControllerGetCapabilities.
    #[must_use]
    pub fn to_wire(&self) -> v1::ControllerGetCapabilitiesResponse {
        use v1::controller_service_capability::{Rpc, Type};
        let wire = |&capability: &ControllerCapability| v1::ControllerServiceCapability {
            r#type: Some(Type::Rpc(Rpc {
                r#type: controller_to_wire(capability).into(),
            })),
        };
        v1::ControllerGetCapabilitiesResponse {
            capabilities: self.0.iter().map(wire).collect(),
        }
    }
}

const fn controller_to_wire(capability: ControllerCapability) -> ControllerType {
    match capability {
        ControllerCapability::CreateDeleteVolume => ControllerType::CreateDeleteVolume,
        ControllerCapability::PublishUnpublishVolume => ControllerType::PublishUnpublishVolume,
        ControllerCapability::ListVolumes => ControllerType::ListVolumes,
        ControllerCapability::GetCapacity => ControllerType::GetCapacity,
        ControllerCapability::CreateDeleteSnapshot => ControllerType::CreateDeleteSnapshot,
        ControllerCapability::ListSnapshots => ControllerType::ListSnapshots,
        ControllerCapability::CloneVolume => ControllerType::CloneVolume,
        ControllerCapability::PublishReadonly => ControllerType::PublishReadonly,
        ControllerCapability::ExpandVolume => ControllerType::ExpandVolume,
        ControllerCapability::ListVolumesPublishedNodes => {
            ControllerType::ListVolumesPublishedNodes
        }
        ControllerCapability::GetVolume => ControllerType::GetVolume,
        ControllerCapability::SingleNodeMultiWriter => ControllerType::SingleNodeMultiWriter,
        ControllerCapability::ModifyVolume => ControllerType::ModifyVolume,
        ControllerCapability::GetSnapshot => ControllerType::GetSnapshot,
        ControllerCapability::GetVolumeHealth => ControllerType::GetVolumeHealth,
        ControllerCapability::ListVolumeHealth => ControllerType::ListVolumeHealth,
    }
}

impl NodeCapabilities {
    /// Whether `capability` is in the set.
    #[must_use]
    pub fn has(&self, capability: NodeCapability) -> bool {
        self.0.contains(&capability)
    }

    /// The answer of NodeGetCapabilities.
    #[must_use]
    pub fn to_wire(&self) -> v1::NodeGetCapabilitiesResponse {
        use v1::node_service_capability::{Rpc, Type};
        let wire = |&capability: &NodeCapability| v1::NodeServiceCapability {
            r#type: Some(Type::Rpc(Rpc {
                r#type: node_to_wire(capability).into(),
            })),
        };
        v1::NodeGetCapabilitiesResponse {
            capabilities: self.0.iter().map(wire).collect(),
        }
    }
}

const fn node_to_wire(capability: NodeCapability) -> NodeType {
    match capability {
        NodeCapability::StageUnstageVolume => NodeType::StageUnstageVolume,
        NodeCapability::GetVolumeStats => NodeType::GetVolumeStats,
        NodeCapability::ExpandVolume => NodeType::ExpandVolume,
        NodeCapability::SingleNodeMultiWriter => NodeType::SingleNodeMultiWriter,
        NodeCapability::VolumeMountGroup => NodeType::VolumeMountGroup,
        NodeCapability::GetVolumeHealth => NodeType::GetVolumeHealth,
        NodeCapability::GetStorageHealth => NodeType::GetStorageHealth,
    }
}

#[cfg(test)]
mod tests;
