//! NodeUnpublishVolume.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;

use super::error::NodeError;
use super::share::{VolumeKey, path_guard};
use super::{Node, mounted, tickets};

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
        let volume = request.volume.as_str();
        mounted::clear(&node, &op, target.as_path(), volume).await?;
        node.sweep_tunnels();
        forget_target(&node, &request.volume, &target)
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodeUnpublishVolumeResponse {}
    }
}

/// The record of a volume that is staged nowhere goes with its last target, and its ticket with it.
fn forget_target(node: &Node, volume: &VolumeKey, target: &HostPath) -> Result<(), NodeError> {
    let Some(mut record) = node.records.get(volume) else {
        return Ok(());
    };
    let target = target.to_string();
    let before = record.targets.len();
    record.targets.retain(|known| *known != target);
    let failed = |error| NodeError::step("writing the record", volume.as_str(), error);
    if record.targets.is_empty() && record.staging_path.is_empty() {
        tickets::forget(node, &record);
        node.health.forget(volume);
        return node.records.forget(volume).map_err(failed);
    }
    if record.targets.len() == before {
        return Ok(());
    }
    node.records.put(volume, record).map_err(failed)
}
