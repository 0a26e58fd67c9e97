//! The gate: exactly the methods that are offered are reachable.

use super::{ControllerCapabilities, ControllerCapability, NodeCapabilities, NodeCapability};
use crate::method::{Method, Service};

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
