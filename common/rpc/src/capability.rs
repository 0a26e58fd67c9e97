//! What is offered: one typed set, from which both the advertisement and the gate are made.
//!
//! An advertised call that is not reachable, or the reverse, therefore cannot exist.

use std::collections::BTreeSet;

use azcsi_proto::csi::v1;
use v1::controller_service_capability::rpc::Type as ControllerType;
use v1::node_service_capability::rpc::Type as NodeType;
use v1::plugin_capability::service::Type as ServiceType;
use v1::plugin_capability::volume_expansion::Type as ExpansionType;

use crate::method::{Method, Service};

/// What the plugin as a whole offers (CSI, `PluginCapability`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PluginCapability {
    /// Has a Controller service.
    ControllerService,
    /// Volumes are reachable from some places only.
    VolumeAccessibilityConstraints,
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

/// What has to be offered for a method to be reachable.
enum Needs {
    Controller(ControllerCapability),
    Node(NodeCapability),
    ControllerService,
    NodeService,
    Nothing,
    /// No capability of ours stands for it.
    Never,
}

const fn needs(method: Method) -> Needs {
    use ControllerCapability as C;
    use NodeCapability as N;
    match method {
        Method::CreateVolume | Method::DeleteVolume => Needs::Controller(C::CreateDeleteVolume),
        Method::ControllerPublishVolume | Method::ControllerUnpublishVolume => {
            Needs::Controller(C::PublishUnpublishVolume)
        }
        Method::ListVolumes => Needs::Controller(C::ListVolumes),
        Method::GetCapacity => Needs::Controller(C::GetCapacity),
        Method::CreateSnapshot | Method::DeleteSnapshot => {
            Needs::Controller(C::CreateDeleteSnapshot)
        }
        Method::ListSnapshots => Needs::Controller(C::ListSnapshots),
        Method::GetSnapshot => Needs::Controller(C::GetSnapshot),
        Method::ControllerExpandVolume => Needs::Controller(C::ExpandVolume),
        Method::ControllerGetVolume => Needs::Controller(C::GetVolume),
        Method::ControllerModifyVolume => Needs::Controller(C::ModifyVolume),
        Method::ControllerGetVolumeHealth => Needs::Controller(C::GetVolumeHealth),
        Method::ControllerListVolumeHealth => Needs::Controller(C::ListVolumeHealth),
        Method::ValidateVolumeCapabilities | Method::ControllerGetCapabilities => {
            Needs::ControllerService
        }
        Method::NodeStageVolume | Method::NodeUnstageVolume => Needs::Node(N::StageUnstageVolume),
        Method::NodeGetVolumeStats => Needs::Node(N::GetVolumeStats),
        Method::NodeExpandVolume => Needs::Node(N::ExpandVolume),
        Method::NodeGetVolumeHealth => Needs::Node(N::GetVolumeHealth),
        Method::NodeGetStorageHealth => Needs::Node(N::GetStorageHealth),
        Method::NodePublishVolume
        | Method::NodeUnpublishVolume
        | Method::NodeGetCapabilities
        | Method::NodeGetInfo => Needs::NodeService,
        Method::GetPluginInfo | Method::GetPluginCapabilities | Method::Probe => Needs::Nothing,
        Method::GroupControllerGetCapabilities
        | Method::CreateVolumeGroupSnapshot
        | Method::DeleteVolumeGroupSnapshot
        | Method::GetVolumeGroupSnapshot
        | Method::GetMetadataAllocated
        | Method::GetMetadataDelta => Needs::Never,
    }
}

/// Lets through exactly the methods that are offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    open: bool,
    controller: Option<ControllerCapabilities>,
    node: Option<NodeCapabilities>,
}

impl Gate {
    /// Lets everything through.
    pub(crate) const fn open() -> Self {
        Self {
            open: true,
            controller: None,
            node: None,
        }
    }

    /// The gate of a process that serves these services; `None` for one that it does not serve.
    #[must_use]
    pub const fn new(
        controller: Option<ControllerCapabilities>,
        node: Option<NodeCapabilities>,
    ) -> Self {
        Self {
            open: false,
            controller,
            node,
        }
    }

    /// Whether `method` is offered.
    #[must_use]
    pub fn allows(&self, method: Method) -> bool {
        let controller = |capability| self.controller.as_ref().is_some_and(|c| c.has(capability));
        let node = |capability| self.node.as_ref().is_some_and(|n| n.has(capability));
        self.open
            || match needs(method) {
                Needs::Controller(capability) => controller(capability),
                Needs::Node(capability) => node(capability),
                Needs::ControllerService => self.controller.is_some(),
                Needs::NodeService => self.node.is_some(),
                Needs::Nothing => true,
                Needs::Never => false,
            }
    }

    /// Whether any method of `service` is offered.
    #[must_use]
    pub fn serves(&self, service: Service) -> bool {
        Method::ALL
            .iter()
            .any(|&method| method.service() == service && self.allows(method))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{
        ControllerCapabilities, ControllerCapability, Gate, NodeCapabilities, NodeCapability,
        PluginCapabilities, PluginCapability,
    };
    use crate::method::{Method, Service};

    fn allowed(gate: &Gate) -> BTreeSet<&'static str> {
        let allowed = Method::ALL.iter().filter(|&&method| gate.allows(method));
        allowed.map(|method| method.name()).collect()
    }

    #[test]
    fn without_a_service_only_identity_is_reachable() {
        let gate = Gate::new(None, None);
        let expected = BTreeSet::from(["GetPluginInfo", "GetPluginCapabilities", "Probe"]);
        assert_eq!(allowed(&gate), expected);
        assert!(!gate.serves(Service::Node) && gate.serves(Service::Identity));
    }

    #[test]
    fn a_capability_opens_exactly_its_calls() {
        let bare = allowed(&Gate::new(Some(ControllerCapabilities::default()), None));
        let table: [(ControllerCapability, &[&str]); 5] = [
            (
                ControllerCapability::CreateDeleteVolume,
                &["CreateVolume", "DeleteVolume"],
            ),
            (ControllerCapability::CloneVolume, &[]),
            (
                ControllerCapability::ListVolumesPublishedNodes,
                &["ListVolumes"],
            ),
            (
                ControllerCapability::ListVolumeHealth,
                &["ControllerListVolumeHealth", "ControllerGetVolumeHealth"],
            ),
            (ControllerCapability::GetSnapshot, &["GetSnapshot"]),
        ];
        for (capability, calls) in table {
            let gate = Gate::new(Some([capability].into_iter().collect()), None);
            let opened: BTreeSet<_> = allowed(&gate).difference(&bare).copied().collect();
            assert_eq!(opened, calls.iter().copied().collect(), "{capability:?}");
        }
    }

    #[test]
    fn the_retired_values_are_never_advertised() {
        use ControllerCapability as C;
        let all = [
            C::CreateDeleteVolume,
            C::PublishUnpublishVolume,
            C::ListVolumes,
            C::GetCapacity,
            C::CreateDeleteSnapshot,
            C::ListSnapshots,
            C::CloneVolume,
            C::PublishReadonly,
            C::ExpandVolume,
            C::ListVolumesPublishedNodes,
            C::GetVolume,
            C::SingleNodeMultiWriter,
            C::ModifyVolume,
            C::GetSnapshot,
            C::GetVolumeHealth,
            C::ListVolumeHealth,
        ];
        let wire = all
            .into_iter()
            .collect::<ControllerCapabilities>()
            .to_wire();
        let numbers = wire.capabilities.iter().map(|c| match c.r#type {
            Some(super::v1::controller_service_capability::Type::Rpc(rpc)) => rpc.r#type,
            None => 0,
        });
        assert_eq!(
            numbers.collect::<Vec<i32>>(),
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17]
        );
    }

    #[test]
    fn the_node_and_the_plugin_advertise_what_they_have() {
        let node: NodeCapabilities = [
            NodeCapability::StageUnstageVolume,
            NodeCapability::GetStorageHealth,
        ]
        .into_iter()
        .collect();
        assert_eq!(node.to_wire().capabilities.len(), 2);
        assert!(Gate::new(None, Some(node)).allows(Method::NodeGetStorageHealth));
        let plugin: PluginCapabilities = [
            PluginCapability::ControllerService,
            PluginCapability::OnlineExpansion,
        ]
        .into_iter()
        .collect();
        assert_eq!(plugin.to_wire().capabilities.len(), 2);
    }
}
