//! NodeUnstageVolume.

use std::sync::Arc;

use azcsi_host::mountinfo::DevT;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;

use super::error::NodeError;
use super::volume::{VolumeKey, path_guard};
use super::{Node, mounted};

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
        let request = Request {
            staging: mounted::resolve(&request.staging),
            ..request
        };
        let volume = request.volume.as_str();
        let path = request.staging.as_path();
        let device = device_of(&node, &request)?;
        if let Some(device) = device {
            // Before anything changes: what is staged stays staged while a pod needs it.
            not_used_elsewhere(&node, &request, device)?;
        }
        mounted::clear(&node, &op, path, volume).await?;
        if let Some(device) = device {
            not_used_elsewhere(&node, &request, device)?;
            flush(&node, device);
        }
        node.records
            .forget(&request.volume)
            .map_err(|error| NodeError::io("removing the record", volume, error))?;
        node.health.forget(&request.volume);
        Ok(())
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodeUnstageVolumeResponse {}
    }
}

/// The device that is staged: what is mounted, else what was recorded in this boot.
fn device_of(node: &Node, request: &Request) -> Result<Option<DevT>, NodeError> {
    let table = mounted::table(node, request.volume.as_str())?;
    if let Some(mount) = table.top(request.staging.as_path()) {
        return Ok(Some(mount.block_device()));
    }
    let record = node.records.get(&request.volume);
    Ok(record
        .filter(|record| record.mark.boot_id == node.powers.boot_id)
        .and_then(|record| DevT::parse(&record.mark.device)))
}

/// After an unstage the disk is detached. That must not happen under a pod that still uses it.
fn not_used_elsewhere(node: &Node, request: &Request, device: DevT) -> Result<(), NodeError> {
    let volume = request.volume.as_str();
    // A device that is gone cannot lose any more data.
    if device.major == 0 || !mounted::is_alive(node, device) {
        return Ok(());
    }
    let table = mounted::table(node, volume)?;
    let mut left = table.of_device(device);
    left.extend(table.of_node(device));
    let staging = request.staging.as_path();
    match left.iter().find(|mount| mount.point != staging) {
        None => Ok(()),
        Some(mount) => Err(NodeError::Refused {
            volume: volume.to_owned(),
            why: format!("it is still mounted at '{}'", mount.point.display()),
        }),
    }
}

/// Writes out and forgets what the kernel has cached, so that whoever attaches the disk next sees it.
fn flush(node: &Node, device: DevT) {
    let devices = &node.powers.devices;
    let Some(disk) = devices.by_number(device) else {
        return;
    };
    let flushed = devices.guard(&disk).and_then(|guard| guard.flush());
    if let Err(error) = flushed {
        tracing::warn!(
            error = azcsi_types::fault::report(&error),
            "a device was not flushed"
        );
    }
}
