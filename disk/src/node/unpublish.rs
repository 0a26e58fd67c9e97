//! NodeUnpublishVolume.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;

use super::error::NodeError;
use super::volume::{VolumeKey, path_guard};
use super::{Node, mounted};

/// The RPC.
#[derive(Debug)]
pub struct NodeUnpublishVolume;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: VolumeKey,
    target: HostPath,
}

impl Handler for NodeUnpublishVolume {
    type Ctx = Node;
    type Wire = v1::NodeUnpublishVolumeRequest;
    type WireReply = v1::NodeUnpublishVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodeUnpublishVolume;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        Ok(Request {
            volume: VolumeKey::decode(wire.volume_id)?,
            target: validate::path("target_path", &wire.target_path)?,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![request.volume.guard(), path_guard(&request.target)],
            fingerprint: format!("{request:?}"),
        }
    }

    async fn run(node: Arc<Node>, request: Request, op: Op) -> Result<(), NodeError> {
        let target = mounted::resolve(&request.target);
        mounted::clear(&node, &op, target.as_path(), request.volume.as_str()).await
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodeUnpublishVolumeResponse {}
    }
}
