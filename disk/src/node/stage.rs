//! NodeStageVolume.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;

use super::Node;
use super::device::{self, Expected, Proven};
use super::error::NodeError;
use super::mounted;
use super::record::{Intent, Record};
use super::stage_disk;
use super::stage_request::{Mode, Request};
use super::staged::{end_formatting, remember};
use super::tune;
use super::volume::path_guard;

/// The RPC.
#[derive(Debug)]
pub struct NodeStageVolume;

impl Handler for NodeStageVolume {
    type Ctx = Node;
    type Wire = v1::NodeStageVolumeRequest;
    type WireReply = v1::NodeStageVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodeStageVolume;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        Request::decode(wire)
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![request.volume.key().guard(), path_guard(&request.staging)],
            fingerprint: format!("{request:?}"),
        }
    }

    async fn run(node: Arc<Node>, request: Request, op: Op) -> Result<(), NodeError> {
        let request = Request {
            staging: mounted::resolve(&request.staging),
            ..request
        };
        let key = request.volume.key();
        let result = Box::pin(stage(&node, &request, &op)).await;
        match &result {
            Ok(()) => node.health.forget(&key),
            Err(error) => {
                node.health.remember(&key, error);
                node.tell_failure(&request, error);
            }
        }
        result
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodeStageVolumeResponse {}
    }
}

async fn stage(node: &Node, request: &Request, op: &Op) -> Result<(), NodeError> {
    let expected = Expected {
        lun: request.lun,
        unique_id: request.published.unique_id.clone(),
        least: request.published.least(&request.context),
    };
    let proven = device::locate(node, op, &request.volume, &expected).await?;
    refuse_system_disk(node, request, &proven)?;
    tune::device(node, op, request, &proven).await;
    match &request.mode {
        Mode::Block => {
            refuse_mounted(node, request)?;
            end_formatting(node, request, || block_record(request, &proven, node.now()))?;
            remember(node, request, block_record(request, &proven, node.now()));
            Ok(())
        }
        Mode::Filesystem(wish) => stage_disk::filesystem(node, op, request, wish, &proven).await,
    }
}

/// A volume that is staged with a filesystem is not staged as a device as well.
fn refuse_mounted(node: &Node, request: &Request) -> Result<(), NodeError> {
    let staging = request.staging.as_path();
    let table = node.powers.table.read().map_err(|error| {
        NodeError::io("reading the mount table", request.volume.as_str(), error)
    })?;
    match table.top(staging) {
        None => Ok(()),
        Some(_) => Err(NodeError::Incompatible {
            path: staging.to_owned(),
            why: "a filesystem is mounted there, and a device was asked for".to_owned(),
        }),
    }
}

/// The last line: whatever all evidence says, the disk that this machine runs from is not a volume.
fn refuse_system_disk(node: &Node, request: &Request, proven: &Proven) -> Result<(), NodeError> {
    let volume = request.volume.as_str();
    let table = node
        .powers
        .table
        .read()
        .map_err(|error| NodeError::io("reading the mount table", volume, error))?;
    let devices = &node.powers.devices;
    let parts = devices.partitions(proven.disk());
    let parts = parts
        .iter()
        .filter_map(|(number, _)| devices.partition(proven.disk(), *number));
    let is_system = |path: &std::path::Path| {
        path == std::path::Path::new("/") || path.starts_with("/boot") || path.starts_with("/usr")
    };
    let mut numbers = parts.map(|part| part.device).chain([proven.disk().device]);
    let system = numbers.any(|device| {
        let mounts = table.of_device(device);
        mounts.iter().any(|mount| is_system(&mount.point))
    });
    if system {
        return Err(NodeError::Refused {
            volume: volume.to_owned(),
            why: format!(
                "'{}' is a disk that this node runs from",
                proven.disk().name
            ),
        });
    }
    Ok(())
}

fn block_record(request: &Request, proven: &Proven, time: u64) -> Record {
    Record {
        mark: proven.mark.clone(),
        staging_path: request.staging.to_string(),
        intent: Intent::None,
        time,
        ..Record::default()
    }
}
