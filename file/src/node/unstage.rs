//! NodeUnstageVolume.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;

use super::error::NodeError;
use super::share::{VolumeKey, path_guard};
use super::{Node, mounted, tickets, vhd};

/// The RPC.
#[derive(Debug)]
pub struct NodeUnstageVolume;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: VolumeKey,
    staging: HostPath,
}

impl Handler for NodeUnstageVolume {
    type Ctx = Node;
    type Wire = v1::NodeUnstageVolumeRequest;
    type WireReply = v1::NodeUnstageVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodeUnstageVolume;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        Ok(Request {
            volume: VolumeKey::decode(wire.volume_id)?,
            staging: validate::path("staging_target_path", &wire.staging_target_path)?,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![request.volume.guard(), path_guard(&request.staging)],
            fingerprint: format!("{request:?}"),
        }
    }

    async fn run(node: Arc<Node>, request: Request, op: Op) -> Result<(), NodeError> {
        let staging = mounted::resolve(&request.staging);
        let volume = request.volume.as_str();
        mounted::clear(&node, &op, staging.as_path(), volume).await?;
        let proxy = vhd::proxy_path(staging.as_path());
        if mounted::table(&node, volume)?.top(&proxy).is_some() {
            mounted::clear(&node, &op, &proxy, volume).await?;
        }
        if let Some(record) = node.records.get(&request.volume) {
            tickets::forget(&node, &record);
        }
        node.records
            .forget(&request.volume)
            .map_err(|error| NodeError::step("removing the record", volume, error))?;
        node.health.forget(&request.volume);
        node.sweep_tunnels();
        Ok(())
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodeUnstageVolumeResponse {}
    }
}
