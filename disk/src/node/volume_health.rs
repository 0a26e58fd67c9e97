//! NodeGetVolumeHealth.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use azcsi_host::mountinfo::DevT;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;
use v1::VolumeHealthErrorType as Status;
use v1::volume_health::VolumeHealthEntry;

use super::error::NodeError;
use super::health::{self, Condition, Severity};
use super::machine::Look;
use super::volume::Volume;
use super::{Node, mounted};

/// Longest wait for a filesystem that may hang.
const WAIT: Duration = Duration::from_secs(1);

/// The RPC.
#[derive(Debug)]
pub struct NodeGetVolumeHealth;

/// The answer.
#[derive(Clone, Debug)]
pub struct Reply {
    volume: Volume,
    conditions: Vec<Condition>,
}

impl Handler for NodeGetVolumeHealth {
    type Ctx = Node;
    type Wire = v1::NodeGetVolumeHealthRequest;
    type WireReply = v1::NodeGetVolumeHealthResponse;
    type Request = Volume;
    type Reply = Reply;
    type Error = NodeError;
    const METHOD: Method = Method::NodeGetVolumeHealth;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Volume, NodeError> {
        Volume::decode(wire.volume_id)
    }

    fn scope(_: &Volume) -> Scope {
        Scope::Read
    }

    async fn run(node: Arc<Node>, volume: Volume, _: Op) -> Result<Reply, NodeError> {
        let mut conditions = staged(&node, &volume).await?;
        let failed = node.health.of(&volume.key());
        let is_new = |failed: &Condition| conditions.iter().all(|c| c.severity != failed.severity);
        conditions.extend(failed.filter(is_new));
        Ok(Reply { volume, conditions })
    }

    fn encode(reply: Reply) -> Self::WireReply {
        let entry = |condition: Condition| VolumeHealthEntry {
            status: match condition.severity {
                Severity::Inaccessible => Status::Inaccessible,
                Severity::Degraded => Status::Degraded,
            }
            .into(),
            reason: condition.reason.to_owned(),
            message: condition.message,
        };
        v1::NodeGetVolumeHealthResponse {
            volume_health: Some(v1::VolumeHealth {
                volume_id: reply.volume.as_str().to_owned(),
                health_statuses: reply.conditions.into_iter().map(entry).collect(),
            }),
        }
    }
}

/// What is wrong with a volume that is staged here; nothing when it is not.
async fn staged(node: &Node, volume: &Volume) -> Result<Vec<Condition>, NodeError> {
    let record = node.records.get(&volume.key());
    let is_staged = |record: &super::record::Record| {
        !record.staging_path.is_empty() && record.mark.boot_id == node.powers.boot_id
    };
    let Some(record) = record.filter(is_staged) else {
        return Ok(Vec::new());
    };
    let table = mounted::table(node, volume.as_str())?;
    let path = Path::new(&record.staging_path);
    let mount = table.top(path);
    let devices = &node.powers.devices;
    let number = mount.map(azcsi_host::mountinfo::Mount::block_device);
    let number = number.or_else(|| DevT::parse(&record.mark.device));
    let disk = number.and_then(|number| devices.by_number(number));
    let mut seen = health::look(devices, mount, disk.as_ref());
    // A raw block volume has no mount of its own.
    seen.is_mounted |= record.fs_type.is_none();
    seen.other_in_slot = other_in_slot(node, volume, record.mark.lun).await;
    let mut conditions = health::judge(&seen);
    if conditions.is_empty() && mount.is_some() {
        conditions.extend(answers(node, path).await);
    }
    Ok(conditions)
}

/// Another disk in the volume's slot. The answer may be from the cache: the stage has put one there
/// that is younger than the attach.
async fn other_in_slot(node: &Node, volume: &Volume, lun: u8) -> Option<String> {
    let facts = tokio::time::timeout(WAIT, node.machine.facts(Look::Recent)).await;
    let facts = facts.ok()?.ok()?;
    let (_, disk) = facts.disks.iter().find(|(at, _)| at.get() == lun)?;
    let disk = disk.as_ref()?;
    (*disk != volume.uri).then(|| disk.to_string())
}

/// Asks the filesystem for anything at all.
async fn answers(node: &Node, path: &Path) -> Option<Condition> {
    let message = match tokio::time::timeout(WAIT, node.powers.usage.of(path)).await {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => azcsi_types::fault::report(&error),
        Err(_) => "The filesystem does not answer.".to_owned(),
    };
    Some(Condition {
        severity: Severity::Inaccessible,
        reason: "FilesystemUnresponsive",
        message,
    })
}
