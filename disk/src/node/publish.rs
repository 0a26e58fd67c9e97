//! NodePublishVolume.

use std::path::Path;
use std::sync::Arc;

use azcsi_host::mountinfo::{DevT, Mount};
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;

use super::device::{self, Expected};
use super::error::NodeError;
use super::identity::InSlot;
use super::publish_plan::{self, AtTarget, Mounted};
use super::publish_request::Request;
use super::publish_target::{Place, bind, number_of};
use super::volume::path_guard;
use super::{Node, mounted};

/// The RPC.
#[derive(Debug)]
pub struct NodePublishVolume;

impl Handler for NodePublishVolume {
    type Ctx = Node;
    type Wire = v1::NodePublishVolumeRequest;
    type WireReply = v1::NodePublishVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodePublishVolume;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        Request::decode(wire)
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![request.volume.key().guard(), path_guard(&request.target)],
            fingerprint: format!("{request:?}"),
        }
    }

    async fn run(node: Arc<Node>, request: Request, op: Op) -> Result<(), NodeError> {
        let request = Request {
            staging: request.staging.as_ref().map(mounted::resolve),
            target: mounted::resolve(&request.target),
            ..request
        };
        if request.is_block {
            Box::pin(block(&node, &request, &op)).await
        } else {
            Box::pin(filesystem(&node, &request, &op)).await
        }
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodePublishVolumeResponse {}
    }
}

async fn filesystem(node: &Node, request: &Request, op: &Op) -> Result<(), NodeError> {
    let staging = request
        .staging
        .as_ref()
        .ok_or_else(|| request.refused("staging_target_path is missing"))?;
    let table = mounted::table(node, request.volume.as_str())?;
    // Binding a folder that is not a mount would let the pod write to the disk of the node.
    let staged = table
        .top(staging.as_path())
        .filter(|mount| mount.root == Path::new("/"))
        .ok_or_else(|| request.refused(format!("it is not staged at '{staging}'")))?;
    check_staged(node, request, op, staged).await?;
    let device = staged.block_device();
    let found = table.top(request.target.as_path()).map(|mount| Mounted {
        is_volume: mount.block_device() == device && mount.root == staged.root,
        is_alive: mounted::is_alive(node, mount.block_device()),
        read_only: mount.is_read_only(),
    });
    let others = table.of_device(device);
    let others = others
        .iter()
        .filter(|mount| mount.root == staged.root)
        .filter(|mount| !is_one_of(mount, [staging.as_path(), request.target.as_path()]));
    let others = others.count();
    // A staging mount that is read-only makes every bind read-only.
    let read_only = request.read_only || staged.is_read_only();
    if !ready(node, request, op, (found, others, read_only)).await? {
        return Ok(());
    }
    bind(node, request, op, (staging.as_path(), Place::Folder)).await
}

/// Decides about the target; `false` when there is nothing to do.
async fn ready(
    node: &Node,
    request: &Request,
    op: &Op,
    (found, others, read_only): (Option<Mounted>, usize, bool),
) -> Result<bool, NodeError> {
    let target = request.target.as_path();
    match publish_plan::at_target(found, read_only) {
        AtTarget::Published => return Ok(false),
        AtTarget::Refuse(why) => {
            return Err(NodeError::Incompatible {
                path: target.to_owned(),
                why: why.to_owned(),
            });
        }
        AtTarget::Bind | AtTarget::CleanUp => {}
    }
    if !publish_plan::allows_another(request.mode, others) {
        return Err(request
            .refused("it is for a single writer and already published elsewhere on this node"));
    }
    if found.is_some() {
        mounted::clear(node, op, target, request.volume.as_str()).await?;
    }
    Ok(true)
}

fn is_one_of(mount: &Mount, paths: [&Path; 2]) -> bool {
    paths.contains(&mount.point.as_path())
}

/// Proves that what is staged is the volume: by the record of the stage, else by its slot.
async fn check_staged(
    node: &Node,
    request: &Request,
    op: &Op,
    staged: &Mount,
) -> Result<(), NodeError> {
    if !mounted::is_alive(node, staged.block_device()) {
        return Err(request.refused("the device behind its staging path is gone"));
    }
    let record = node.records.get(&request.volume.key());
    match mounted::is_recorded(node, record.as_ref(), staged) {
        Some(true) => {}
        Some(false) => {
            return Err(request.refused("another device is mounted at its staging path"));
        }
        None => return check_by_slot(node, request, op, staged).await,
    }
    let lun = record.map_or(0, |record| record.mark.lun);
    match device::in_slot(node, &request.volume, lun).await {
        InSlot::Other(other) => Err(request.refused(format!(
            "Azure says that its slot {lun} now holds '{other}'"
        ))),
        InSlot::Ours | InSlot::Nothing | InSlot::Unknown => Ok(()),
    }
}

/// Without a record: an older driver staged it.
async fn check_by_slot(
    node: &Node,
    request: &Request,
    op: &Op,
    staged: &Mount,
) -> Result<(), NodeError> {
    let lun = request.published.needed_lun()?;
    let expected = Expected {
        unique_id: request.published.unique_id.clone(),
        ..Expected::at(lun)
    };
    let proven = device::locate(node, op, &request.volume, &expected).await?;
    let devices = &node.powers.devices;
    let wanted = match request.context.partition {
        None => Some(proven.disk().device),
        Some(number) => devices
            .partition(proven.disk(), number)
            .map(|part| part.device),
    };
    if wanted == Some(staged.block_device()) {
        Ok(())
    } else {
        Err(request.refused("another device is mounted at its staging path"))
    }
}

async fn block(node: &Node, request: &Request, op: &Op) -> Result<(), NodeError> {
    let lun = request.published.needed_lun()?;
    let expected = Expected {
        unique_id: request.published.unique_id.clone(),
        ..Expected::at(lun)
    };
    let proven = device::locate(node, op, &request.volume, &expected).await?;
    let device = proven.disk().device;
    let table = mounted::table(node, request.volume.as_str())?;
    let target = request.target.as_path();
    let found = table
        .top(target)
        .map(|mount| block_target(node, mount, device));
    let others = table.of_node(device);
    let others = others.iter().filter(|mount| mount.point != target).count();
    if !ready(node, request, op, (found, others, request.read_only)).await? {
        return Ok(());
    }
    let source = proven.disk().node.clone();
    proven
        .guard
        .verify(&node.powers.devices)
        .map_err(|error| device::changed(&request.volume, error))?;
    bind(node, request, op, (&source, Place::File(device))).await
}

fn block_target(node: &Node, mount: &Mount, device: DevT) -> Mounted {
    let bound = number_of(&mount.point);
    Mounted {
        is_volume: bound == Some(device),
        is_alive: bound.is_none_or(|bound| mounted::is_alive(node, bound)),
        read_only: mount.is_read_only(),
    }
}
