//! NodeGetVolumeStats. A server that does not answer costs one bounded wait and one thread.

use std::sync::Arc;

use azcsi_host::usage::Usage;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;
use v1::volume_usage::Unit;

use super::error::NodeError;
use super::share::VolumeKey;
use super::{Node, mounted};

/// The RPC.
#[derive(Debug)]
pub struct NodeGetVolumeStats;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: VolumeKey,
    path: String,
}

impl Handler for NodeGetVolumeStats {
    type Ctx = Node;
    type Wire = v1::NodeGetVolumeStatsRequest;
    type WireReply = v1::NodeGetVolumeStatsResponse;
    type Request = Request;
    type Reply = Usage;
    type Error = NodeError;
    const METHOD: Method = Method::NodeGetVolumeStats;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        let volume = VolumeKey::decode(wire.volume_id)?;
        let path = validate::required("volume_path", wire.volume_path)?;
        Ok(Request { volume, path })
    }

    fn scope(_: &Request) -> Scope {
        Scope::Read
    }

    async fn run(node: Arc<Node>, request: Request, _: Op) -> Result<Usage, NodeError> {
        let volume = request.volume.as_str();
        let not_there = || NodeError::NotThere {
            volume: volume.to_owned(),
            path: request.path.clone(),
        };
        let path: HostPath = request.path.parse().map_err(|_| not_there())?;
        let path = mounted::resolve(&path);
        let table = mounted::table(&node, volume)?;
        table.top(path.as_path()).ok_or_else(not_there)?;
        let usage = node.powers.usage.of(path.as_path()).await;
        usage.map_err(|error| {
            if error.is_dead_mount() {
                NodeError::stale(volume, "its mount is dead: restart the pod")
            } else {
                NodeError::step("asking for the usage", volume, error)
            }
        })
    }

    fn encode(usage: Usage) -> Self::WireReply {
        let entry = |unit: Unit, total, used, available| v1::VolumeUsage {
            total: signed(total),
            used: signed(used),
            available: signed(available),
            unit: unit.into(),
        };
        let used = usage.inodes.saturating_sub(usage.inodes_free);
        let (bytes, free) = (usage.bytes, usage.bytes_available);
        v1::NodeGetVolumeStatsResponse {
            usage: vec![
                entry(Unit::Bytes, bytes, usage.bytes_used, free),
                entry(Unit::Inodes, usage.inodes, used, usage.inodes_free),
            ],
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
