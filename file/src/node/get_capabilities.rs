//! NodeGetCapabilities, and the one set that it and the gate are made from.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::capability::{NodeCapabilities, NodeCapability};
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;

use super::error::NodeError;
use super::{Node, NodeConfig};

/// The RPC.
#[derive(Debug)]
pub struct NodeGetCapabilities;

/// What the Node service offers.
#[must_use]
pub fn offered(config: &NodeConfig) -> NodeCapabilities {
    let always = [
        NodeCapability::StageUnstageVolume,
        NodeCapability::SingleNodeMultiWriter,
        NodeCapability::GetVolumeHealth,
        NodeCapability::GetStorageHealth,
    ];
    let stats = config.stats.then_some(NodeCapability::GetVolumeStats);
    let group = config
        .mount_group
        .then_some(NodeCapability::VolumeMountGroup);
    always.into_iter().chain(stats).chain(group).collect()
}

impl Handler for NodeGetCapabilities {
    type Ctx = Node;
    type Wire = v1::NodeGetCapabilitiesRequest;
    type WireReply = v1::NodeGetCapabilitiesResponse;
    type Request = ();
    type Reply = NodeCapabilities;
    type Error = NodeError;
    const METHOD: Method = Method::NodeGetCapabilities;

    fn decode(_: &Node, _: Self::Wire) -> Result<(), NodeError> {
        Ok(())
    }

    fn scope((): &()) -> Scope {
        Scope::Read
    }

    async fn run(node: Arc<Node>, (): (), _: Op) -> Result<NodeCapabilities, NodeError> {
        Ok(offered(&node.config))
    }

    fn encode(capabilities: NodeCapabilities) -> Self::WireReply {
        capabilities.to_wire()
    }
}
