//! NodeGetVolumeStats.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use azcsi_host::mountinfo::DevT;
use azcsi_host::probe::FsKind;
use azcsi_host::usage::Usage;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;
use v1::volume_usage::Unit;

use super::error::NodeError;
use super::volume::Volume;
use super::{Node, mounted};

/// The RPC.
#[derive(Debug)]
pub struct NodeGetVolumeStats;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: Volume,
    path: String,
}

/// What is known of the volume's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stats {
    /// A raw device: its size in bytes.
    Device(u64),
    /// A filesystem.
    Filesystem(Usage),
}

impl Handler for NodeGetVolumeStats {
    type Ctx = Node;
    type Wire = v1::NodeGetVolumeStatsRequest;
    type WireReply = v1::NodeGetVolumeStatsResponse;
    type Request = Request;
    type Reply = Stats;
    type Error = NodeError;
    const METHOD: Method = Method::NodeGetVolumeStats;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let path = validate::required("volume_path", wire.volume_path)?;
        Ok(Request {
            volume: Volume::decode(id)?,
            path,
        })
    }

    fn scope(_: &Request) -> Scope {
        Scope::Read
    }

    async fn run(node: Arc<Node>, request: Request, _: Op) -> Result<Stats, NodeError> {
        let volume = request.volume.as_str();
        let not_there = || NodeError::NotThere {
            volume: volume.to_owned(),
            path: request.path.clone(),
        };
        let path: HostPath = request.path.parse().map_err(|_| not_there())?;
        let path = mounted::resolve(&path);
        let path = path.as_path();
        let table = mounted::table(&node, volume)?;
        let mount = table.top(path).ok_or_else(not_there)?;
        let record = node.records.get(&request.volume.key());
        let is_filesystem = mount.fs_type.parse::<FsKind>().is_ok() && mount.root == Path::new("/");
        if !is_filesystem && let Some(number) = device_node(&mount.point) {
            let is_other = record.is_some_and(|r| {
                r.mark.boot_id == node.powers.boot_id && r.mark.device != number.to_string()
            });
            let disk = node.powers.devices.by_number(number);
            let disk = disk.filter(|_| !is_other).ok_or_else(not_there)?;
            return Ok(Stats::Device(node.powers.devices.size(&disk)));
        }
        if mounted::is_recorded(&node, record.as_ref(), mount) == Some(false) {
            return Err(not_there());
        }
        let usage = node.powers.usage.of(path).await;
        usage
            .map(Stats::Filesystem)
            .map_err(|error| NodeError::io("asking for the usage", volume, error))
    }

    fn encode(stats: Stats) -> Self::WireReply {
        let usage = match stats {
            Stats::Device(bytes) => vec![v1::VolumeUsage {
                total: signed(bytes),
                unit: Unit::Bytes.into(),
                ..v1::VolumeUsage::default()
            }],
            Stats::Filesystem(usage) => vec![
                v1::VolumeUsage {
                    available: signed(usage.bytes_available),
                    total: signed(usage.bytes),
                    used: signed(usage.bytes_used),
                    unit: Unit::Bytes.into(),
                },
                v1::VolumeUsage {
                    available: signed(usage.inodes_free),
                    total: signed(usage.inodes),
                    used: signed(usage.inodes.saturating_sub(usage.inodes_free)),
                    unit: Unit::Inodes.into(),
                },
            ],
        };
        v1::NodeGetVolumeStatsResponse { usage }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The device number, when a device node is bound at the path.
fn device_node(path: &Path) -> Option<DevT> {
    let meta = path.symlink_metadata().ok()?;
    meta.file_type()
        .is_block_device()
        .then(|| DevT::from_raw(meta.rdev()))
}
