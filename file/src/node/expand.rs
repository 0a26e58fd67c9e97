//! NodeExpandVolume: a share grows on its server, and there is nothing to do on a node. It is not
//! offered, so the gate answers before this is reached.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::op::Op;

use super::Node;
use super::error::NodeError;
use super::share::VolumeKey;

/// The RPC.
#[derive(Debug)]
pub struct NodeExpandVolume;

impl Handler for NodeExpandVolume {
    type Ctx = Node;
    type Wire = v1::NodeExpandVolumeRequest;
    type WireReply = v1::NodeExpandVolumeResponse;
    type Request = VolumeKey;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodeExpandVolume;

    fn decode(_: &Node, wire: Self::Wire) -> Result<VolumeKey, NodeError> {
        validate::required("volume_path", wire.volume_path)?;
        VolumeKey::decode(wire.volume_id)
    }

    fn scope(_: &VolumeKey) -> Scope {
        Scope::Read
    }

    async fn run(_: Arc<Node>, volume: VolumeKey, _: Op) -> Result<(), NodeError> {
        let why = "a file share grows on its server: NodeExpandVolume is not needed";
        Err(NodeError::refused(volume.as_str(), why))
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodeExpandVolumeResponse::default()
    }
}
