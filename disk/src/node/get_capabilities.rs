//! NodeGetCapabilities, and the one set that it and the gate are made from.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::capability::{NodeCapabilities, NodeCapability};
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;

use super::Node;
use super::error::NodeError;

/// The RPC.
#[derive(Debug)]
pub struct NodeGetCapabilities;

/// What the Node service offers.
#[must_use]
pub fn offered() -> NodeCapabilities {
    [
        NodeCapability::StageUnstageVolume,
        NodeCapability::GetVolumeStats,
        NodeCapability::ExpandVolume,
        NodeCapability::SingleNodeMultiWriter,
        NodeCapability::GetVolumeHealth,
        NodeCapability::GetStorageHealth,
    ]
    .into_iter()
    .collect()
}

impl Handler for NodeGetCapabilities {
    type Ctx = Node;
    type Wire = v1::NodeGetCapabilitiesRequest;
    type WireReply = v1::NodeGetCapabilitiesResponse;
    type Request = ();
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodeGetCapabilities;

    fn decode(_: &Node, _: Self::Wire) -> Result<(), NodeError> {
        Ok(())
    }

    fn scope((): &()) -> Scope {
        Scope::Read
    }

    async fn run(_: Arc<Node>, (): (), _: Op) -> Result<(), NodeError> {
        Ok(())
    }

    fn encode((): ()) -> Self::WireReply {
        offered().to_wire()
    }
}
