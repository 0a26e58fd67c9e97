//! NodePublishVolume.

use std::fs::OpenOptions;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use azcsi_host::HostError;
use azcsi_host::mount::Write;
use azcsi_host::mountinfo::{DevT, Mount, Table};
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::access::{AccessMode, VolumeMode};
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;

use super::context::{PublishContext, VolumeContext};
use super::device::{self, Expected};
use super::error::NodeError;
use super::identity::InSlot;
use super::publish_plan::{self, AtTarget, Mounted};
use super::volume::{Volume, path_guard};
use super::{Node, mounted};

/// The RPC.
#[derive(Debug)]
pub struct NodePublishVolume;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: Volume,
    staging: Option<HostPath>,
    target: HostPath,
    is_block: bool,
    mode: AccessMode,
    read_only: bool,
    context: VolumeContext,
    published: PublishContext,
}

impl Handler for NodePublishVolume {
    type Ctx = Node;
    type Wire = v1::NodePublishVolumeRequest;
    type WireReply = v1::NodePublishVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodePublishVolume;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let target = validate::path("target_path", &wire.target_path)?;
        let access = validate::capability(wire.volume_capability)?;
        let staging = validate::optional_path("staging_target_path", &wire.staging_target_path)?;
        let volume = Volume::decode(id)?;
        let context = VolumeContext::decode(wire.volume_context)?;
        access
            .on_disk(context.shares)
            .map_err(|error| NodeError::value("volume_capability", error))?;
        Ok(Request {
            volume,
            staging,
            target,
            is_block: access.volume == VolumeMode::Block,
            mode: access.mode,
            read_only: wire.readonly || access.mode.is_read_only(),
            context,
            published: PublishContext::decode(wire.publish_context)?,
        })
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

fn refused(request: &Request, why: impl Into<String>) -> NodeError {
    NodeError::Refused {
        volume: request.volume.as_str().to_owned(),
        why: why.into(),
    }
}

async fn filesystem(node: &Node, request: &Request, op: &Op) -> Result<(), NodeError> {
    let staging = request
        .staging
        .as_ref()
        .ok_or_else(|| refused(request, "staging_target_path is missing"))?;
    let table = mounted::table(node, request.volume.as_str())?;
    // Binding a folder that is not a mount would let the pod write to the disk of the node.
    let staged = table
        .top(staging.as_path())
        .filter(|mount| mount.root == Path::new("/"))
        .ok_or_else(|| refused(request, format!("it is not staged at '{staging}'")))?;
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
        return Err(refused(
            request,
            "it is for a single writer and already published elsewhere on this node",
        ));
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
        return Err(refused(
            request,
            "the device behind its staging path is gone",
        ));
    }
    let record = node.records.get(&request.volume.key());
    match mounted::is_recorded(node, record.as_ref(), staged) {
        Some(true) => {}
        Some(false) => {
            return Err(refused(
                request,
                "another device is mounted at its staging path",
            ));
        }
        None => return check_by_slot(node, request, op, staged).await,
    }
    let lun = record.map_or(0, |record| record.mark.lun);
    match device::in_slot(node, &request.volume, lun).await {
        InSlot::Other(other) => Err(refused(
            request,
            format!("Azure says that its slot {lun} now holds '{other}'"),
        )),
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
        Err(refused(
            request,
            "another device is mounted at its staging path",
        ))
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

/// The number of the device node at a path.
fn number_of(path: &Path) -> Option<DevT> {
    let meta = path.symlink_metadata().ok()?;
    meta.file_type()
        .is_block_device()
        .then(|| DevT::from_raw(meta.rdev()))
}

/// What the target has to be.
#[derive(Clone, Copy)]
enum Place {
    Folder,
    File(DevT),
}

/// Makes the target and binds to it. After a failure nothing is left that was not there before.
async fn bind(
    node: &Node,
    request: &Request,
    op: &Op,
    (source, place): (&Path, Place),
) -> Result<(), NodeError> {
    let volume = request.volume.as_str();
    let target = request.target.as_path();
    let made =
        make(target, place).map_err(|error| NodeError::io("making the target", volume, error))?;
    let write = if request.read_only {
        Write::Denied
    } else {
        Write::Allowed
    };
    let bound = node.powers.mounter.bind(op, source, target, write).await;
    let result = match bound {
        Ok(()) => check_bound(node, request, source, place),
        Err(error) => Err(NodeError::step("publishing", volume, error)),
    };
    let Err(error) = result else {
        return Ok(());
    };
    let mounter = &node.powers.mounter;
    let how = azcsi_host::mount::Unmount::Plain;
    if mounter.unmount_all(op, target, how).await.is_err() {
        return Err(NodeError::LeftMounted {
            volume: volume.to_owned(),
            path: target.to_owned(),
            source: Box::new(error),
        });
    }
    if made {
        let _ = mounted::clear(node, op, target, volume).await;
    }
    Err(error)
}

/// Makes what the bind needs; tells whether it was missing.
fn make(target: &Path, place: Place) -> Result<bool, HostError> {
    let fail = |source| HostError::io("make", target, source);
    if let Some(parent) = target.parent() {
        let mut folders = std::fs::DirBuilder::new();
        folders.recursive(true).mode(0o750);
        folders.create(parent).map_err(fail)?;
    }
    let made = match place {
        Place::Folder => std::fs::DirBuilder::new().mode(0o750).create(target),
        Place::File(_) => OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o660)
            .open(target)
            .map(drop),
    };
    match made {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let meta = target.symlink_metadata().map_err(fail)?;
            let fits = match place {
                Place::Folder => meta.is_dir(),
                Place::File(_) => meta.is_file() && meta.len() == 0,
            };
            if fits { Ok(false) } else { Err(fail(error)) }
        }
        Err(error) => Err(fail(error)),
    }
}

fn check_bound(
    node: &Node,
    request: &Request,
    source: &Path,
    place: Place,
) -> Result<(), NodeError> {
    let table = mounted::table(node, request.volume.as_str())?;
    let target = request.target.as_path();
    let is_right = match place {
        Place::File(device) => number_of(target) == Some(device),
        Place::Folder => is_bound(&table, source, target, request.read_only),
    };
    if is_right {
        Ok(())
    } else {
        Err(NodeError::NotReady {
            volume: request.volume.as_str().to_owned(),
            why: "what is mounted at the target is not what was bound there".to_owned(),
        })
    }
}

fn is_bound(table: &Table, source: &Path, target: &Path, read_only: bool) -> bool {
    match (table.top(source), table.top(target)) {
        (Some(from), Some(to)) => {
            from.device == to.device && from.root == to.root && (to.is_read_only() || !read_only)
        }
        _ => false,
    }
}
