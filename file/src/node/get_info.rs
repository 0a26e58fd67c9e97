//! NodeGetInfo: the node's name. A share can be reached from every zone, so there is no topology.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;

use super::Node;
use super::error::NodeError;

/// The RPC.
#[derive(Debug)]
pub struct NodeGetInfo;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    id: String,
    volumes: u32,
}

impl Handler for NodeGetInfo {
    type Ctx = Node;
    type Wire = v1::NodeGetInfoRequest;
    type WireReply = v1::NodeGetInfoResponse;
    type Request = ();
    type Reply = Info;
    type Error = NodeError;
    const METHOD: Method = Method::NodeGetInfo;

    fn decode(_: &Node, _: Self::Wire) -> Result<(), NodeError> {
        Ok(())
    }

    fn scope((): &()) -> Scope {
        Scope::Read
    }

    async fn run(node: Arc<Node>, (): (), _: Op) -> Result<Info, NodeError> {
        Ok(Info {
            id: node.config.node_id.clone(),
            volumes: node.config.volumes,
        })
    }

    fn encode(info: Info) -> Self::WireReply {
        v1::NodeGetInfoResponse {
            node_id: info.id,
            max_volumes_per_node: i64::from(info.volumes),
            accessible_topology: None,
        }
    }
}
