//! NodeExpandVolume.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use azcsi_host::devices::{Disk, Guard};
use azcsi_host::growfs::Mounted;
use azcsi_host::mountinfo::{DevT, Mount};
use azcsi_host::probe::FsKind;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::clock::Deadline;
use azcsi_types::host_path::HostPath;
use azcsi_types::lun::Lun;
use azcsi_types::op::Op;
use azcsi_types::size::{Bytes, CapacityRange};

use super::device::{self, Expected};
use super::error::NodeError;
use super::identity::InSlot;
use super::machine::Look;
use super::volume::Volume;
use super::{Node, mounted};

/// The RPC.
#[derive(Debug)]
pub struct NodeExpandVolume;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: Volume,
    path: String,
    range: CapacityRange,
}

impl Handler for NodeExpandVolume {
    type Ctx = Node;
    type Wire = v1::NodeExpandVolumeRequest;
    type WireReply = v1::NodeExpandVolumeResponse;
    type Request = Request;
    type Reply = Bytes;
    type Error = NodeError;
    const METHOD: Method = Method::NodeExpandVolume;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let path = validate::required("volume_path", wire.volume_path)?;
        let range = validate::capacity_range(wire.capacity_range)?;
        validate::optional_capability(wire.volume_capability)?;
        Ok(Request {
            volume: Volume::decode(id)?,
            path,
            range,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![request.volume.key().guard()],
            fingerprint: format!("{request:?}"),
        }
    }

    async fn run(node: Arc<Node>, request: Request, op: Op) -> Result<Bytes, NodeError> {
        let place = find(&node, &request)?;
        let guard = open(&node, &request, place.device)?;
        refuse_partition(&node, &request, &guard)?;
        check_identity(&node, &request, &op, &place, &guard).await?;
        let size = wait_for_size(&node, &request, &op, &guard).await?;
        let Some((kind, point)) = place.filesystem else {
            return Ok(Bytes::new(size));
        };
        let mounted = Mounted {
            kind,
            node: guard.disk().node.clone(),
            point,
            device: size,
        };
        grow(&node, &request, &op, &mounted).await?;
        Ok(Bytes::new(size))
    }

    fn encode(size: Bytes) -> Self::WireReply {
        v1::NodeExpandVolumeResponse {
            capacity_bytes: size.as_i64(),
        }
    }
}

/// Where the volume is.
#[derive(Debug)]
struct Place {
    device: DevT,
    /// Kind and mount point; `None` for a raw device.
    filesystem: Option<(FsKind, std::path::PathBuf)>,
}

fn find(node: &Node, request: &Request) -> Result<Place, NodeError> {
    let volume = request.volume.as_str();
    let not_there = || NodeError::NotThere {
        volume: volume.to_owned(),
        path: request.path.clone(),
    };
    let path: HostPath = request.path.parse().map_err(|_| not_there())?;
    let path = mounted::resolve(&path);
    let path = path.as_path();
    let table = mounted::table(node, volume)?;
    let is_filesystem = |mount: &&Mount| mount.fs_type.parse::<FsKind>().is_ok();
    let whole = |mount: &&Mount| mount.root == Path::new("/");
    let mount = table.top(path).filter(is_filesystem).filter(whole);
    // What is no filesystem of ours is looked at only now: a dead one would not answer.
    if mount.is_none()
        && let Ok(meta) = path.metadata()
        && meta.file_type().is_block_device()
    {
        return Ok(Place {
            device: DevT::from_raw(meta.rdev()),
            filesystem: None,
        });
    }
    // The path says which volume is meant. Where nothing is mounted at it, the staging path is no
    // substitute: the caller would take a volume for grown that is not there (CSI: NOT_FOUND).
    let mount = mount.ok_or_else(not_there)?;
    let kind: FsKind = mount.fs_type.parse().map_err(|_| not_there())?;
    if mount.is_filesystem_read_only() {
        return Err(NodeError::Refused {
            volume: volume.to_owned(),
            why: "its filesystem is mounted read-only and cannot grow".to_owned(),
        });
    }
    // A bind that is read-only cannot be grown through, so another mount of the same is used.
    let device = mount.block_device();
    let writable = table
        .of_device(device)
        .into_iter()
        .find(|other| !other.is_read_only() && other.root == Path::new("/"));
    let point = writable.unwrap_or(mount).point.clone();
    Ok(Place {
        device,
        filesystem: Some((kind, point)),
    })
}

fn open(node: &Node, request: &Request, number: DevT) -> Result<Guard, NodeError> {
    let devices = &node.powers.devices;
    let disk: Disk = devices
        .by_number(number)
        .ok_or_else(|| NodeError::NotThere {
            volume: request.volume.as_str().to_owned(),
            path: request.path.clone(),
        })?;
    devices
        .guard(&disk)
        .map_err(|error| device::changed(&request.volume, error))
}

fn wrong_disk(request: &Request, why: String) -> NodeError {
    // Not FAILED_PRECONDITION: to kubelet that means "in use, needs to be offline".
    NodeError::step("growing", request.volume.as_str(), Impossible(why))
}

/// Growing a partition would mean to rewrite the partition table.
fn refuse_partition(node: &Node, request: &Request, guard: &Guard) -> Result<(), NodeError> {
    if node.powers.devices.is_partition(guard.disk()) {
        let why = "it is a partition, and partitions are not grown".to_owned();
        return Err(wrong_disk(request, why));
    }
    Ok(())
}

/// A filesystem is written to, so the disk behind it has to be the volume's.
async fn check_identity(
    node: &Node,
    request: &Request,
    op: &Op,
    place: &Place,
    guard: &Guard,
) -> Result<(), NodeError> {
    let wrong = |why: String| wrong_disk(request, why);
    let record = node.records.get(&request.volume.key());
    let record = record.filter(|record| record.mark.boot_id == node.powers.boot_id);
    if let Some(record) = record {
        if record.mark.device != place.device.to_string() {
            return Err(wrong(format!("'{}' is not its device", guard.disk().name)));
        }
        return match device::in_slot(node, &request.volume, record.mark.lun).await {
            InSlot::Other(other) => Err(wrong(format!("its slot holds '{other}'"))),
            InSlot::Ours | InSlot::Nothing | InSlot::Unknown => Ok(()),
        };
    }
    // Staged by an older driver: its slot tells.
    let lun = slot_of(node, &request.volume).await?;
    let proven = device::locate(node, op, &request.volume, &Expected::at(lun)).await?;
    if proven.disk().device == place.device {
        Ok(())
    } else {
        Err(wrong(format!("'{}' is not its device", guard.disk().name)))
    }
}

async fn slot_of(node: &Node, volume: &Volume) -> Result<Lun, NodeError> {
    let not_ready = |why: &str| NodeError::NotReady {
        volume: volume.as_str().to_owned(),
        why: why.to_owned(),
    };
    let facts = node
        .machine
        .facts(Look::Fresh)
        .await
        .map_err(|_| not_ready("nobody can say which disk it is"))?;
    facts
        .lun_of(&volume.uri)
        .ok_or_else(|| NodeError::NotThere {
            volume: volume.as_str().to_owned(),
            path: "this node".to_owned(),
        })
}

/// It cannot be grown in this way.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Impossible(String);

impl azcsi_types::fault::Faulty for Impossible {
    fn fault(&self) -> azcsi_types::fault::Fault {
        azcsi_types::fault::Fault::Internal
    }
}

/// Waits until the kernel shows the size that Azure gave the disk.
async fn wait_for_size(
    node: &Node,
    request: &Request,
    op: &Op,
    guard: &Guard,
) -> Result<u64, NodeError> {
    let until = Deadline::after(&*node.clock, node.config.confirm_wait).or_sooner(op.deadline());
    if let Err(error) = node.powers.rescan.size(op, guard.disk()).await {
        tracing::warn!(
            error = azcsi_types::fault::report(&error),
            "the size of a device could not be asked for"
        );
    }
    let least = request.range.required().map_or(0, Bytes::get);
    let mut pause = Duration::from_millis(100);
    loop {
        let size = guard
            .size()
            .map_err(|error| device::changed(&request.volume, error))?;
        // The two readings differ while the kernel is changing the size.
        if size >= least && size == node.powers.devices.size(guard.disk()) {
            return check_limit(request, size);
        }
        if until.passed(&*node.clock) {
            return Err(NodeError::NotReady {
                volume: request.volume.as_str().to_owned(),
                why: format!("its device has {size} bytes and {least} are needed"),
            });
        }
        tokio::time::sleep(pause.min(until.remaining(&*node.clock))).await;
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}

fn check_limit(request: &Request, size: u64) -> Result<u64, NodeError> {
    match request.range.limit() {
        Some(limit) if limit.get() < size => Err(NodeError::Size {
            volume: request.volume.as_str().to_owned(),
            why: format!(
                "it has {size} bytes, and at most {} are asked for",
                limit.get()
            ),
        }),
        _ => Ok(size),
    }
}

async fn grow(node: &Node, request: &Request, op: &Op, mounted: &Mounted) -> Result<(), NodeError> {
    let volume = request.volume.as_str();
    node.powers
        .grow
        .to_device(op, mounted)
        .await
        .map(drop)
        .map_err(|error| NodeError::step("growing the filesystem", volume, error))
}
