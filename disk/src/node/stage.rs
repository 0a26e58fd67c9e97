//! NodeStageVolume.

use std::sync::Arc;

use azcsi_host::mount::MountOptions;
use azcsi_host::probe::FsKind;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::access::{Access, VolumeMode};
use azcsi_types::host_path::HostPath;
use azcsi_types::lun::Lun;
use azcsi_types::op::Op;

use super::Node;
use super::context::{PublishContext, VolumeContext};
use super::device::{self, Expected, Proven};
use super::error::NodeError;
use super::mounted;
use super::record::{Intent, Record};
use super::stage_disk;
use super::tune;
use super::volume::{Volume, path_guard};

/// The RPC.
#[derive(Debug)]
pub struct NodeStageVolume;

/// How the volume is to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As a raw device.
    Block,
    /// As a filesystem.
    Filesystem(Wish),
}

/// A filesystem that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Which.
    pub kind: FsKind,
    /// Mount options.
    pub options: MountOptions,
    /// Neither look at the disk nor check or make a filesystem (the mount flag `directmount`).
    pub direct: bool,
    /// Nothing is to be written.
    pub read_only: bool,
}

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The volume.
    pub volume: Volume,
    /// Where to mount it.
    pub staging: HostPath,
    /// Its slot.
    pub lun: Lun,
    /// How.
    pub mode: Mode,
    /// From the volume.
    pub context: VolumeContext,
    /// From the attach.
    pub published: PublishContext,
}

impl Handler for NodeStageVolume {
    type Ctx = Node;
    type Wire = v1::NodeStageVolumeRequest;
    type WireReply = v1::NodeStageVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodeStageVolume;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let staging = validate::path("staging_target_path", &wire.staging_target_path)?;
        let access = validate::capability(wire.volume_capability)?;
        let volume = Volume::decode(id)?;
        let context = VolumeContext::decode(wire.volume_context)?;
        access
            .on_disk(context.shares)
            .map_err(|error| NodeError::value("volume_capability", error))?;
        let mode = mode(&access, &context)?;
        let published = PublishContext::decode(wire.publish_context)?;
        Ok(Request {
            volume,
            staging,
            lun: published.needed_lun()?,
            mode,
            context,
            published,
        })
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

/// The filesystem that counts: the volume's own word, the capability's, ext4.
fn mode(access: &Access, context: &VolumeContext) -> Result<Mode, NodeError> {
    let VolumeMode::Filesystem {
        fs_type,
        mount_flags,
    } = &access.volume
    else {
        return Ok(Mode::Block);
    };
    let named = context
        .fs_type
        .as_deref()
        .or(Some(fs_type.as_str()))
        .filter(|name| !name.is_empty())
        .unwrap_or("ext4");
    let kind: FsKind = named
        .parse()
        .map_err(|error| NodeError::value("the filesystem type", error))?;
    let mut options = MountOptions::parse(mount_flags)
        .map_err(|error| NodeError::value("volume_capability.mount_flags", error))?;
    let direct = options.take("directmount");
    if kind == FsKind::Xfs {
        // A clone has the UUID of its source, and the kernel mounts only one of the two without.
        options.add("nouuid");
    }
    if access.mode.is_read_only() && !options.is_read_only() {
        options.take("rw");
        options.add("ro");
    }
    Ok(Mode::Filesystem(Wish {
        kind,
        direct,
        read_only: options.is_read_only(),
        options,
    }))
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

/// Takes back the word that a filesystem is being made, before anybody may write to the volume. That
/// word is a right to overwrite what is on the disk, so here a record that cannot be written counts.
pub(super) fn end_formatting(
    node: &Node,
    request: &Request,
    record: impl FnOnce() -> Record,
) -> Result<(), NodeError> {
    let key = request.volume.key();
    match node.records.get(&key) {
        Some(earlier) if earlier.intent == Intent::Formatting => {
            let written = node.records.put(&key, record());
            written.map_err(|error| {
                NodeError::io("writing the record", request.volume.as_str(), error)
            })
        }
        _ => Ok(()),
    }
}

/// Writes a record that only makes later checks easier.
pub(super) fn remember(node: &Node, request: &Request, record: Record) {
    if let Err(error) = node.records.put(&request.volume.key(), record) {
        tracing::warn!(
            error = azcsi_types::fault::report(&error),
            "a record was not written"
        );
    }
}

#[cfg(test)]
mod tests {
    use azcsi_host::probe::FsKind;
    use azcsi_types::access::{Access, AccessMode, VolumeMode};

    use super::{Mode, VolumeContext, Wish, mode};

    fn wish(in_context: Option<&str>, in_capability: &str, flags: &[&str]) -> Wish {
        let mut context = VolumeContext::decode(std::collections::HashMap::new()).unwrap();
        context.fs_type = in_context.map(str::to_owned);
        let access = Access {
            mode: AccessMode::SingleNodeWriter,
            volume: VolumeMode::Filesystem {
                fs_type: in_capability.to_owned(),
                mount_flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            },
        };
        match mode(&access, &context).unwrap() {
            Mode::Filesystem(wish) => wish,
            Mode::Block => panic!("block"),
        }
    }

    #[test]
    fn the_volume_s_word_wins_and_xfs_never_looks_at_the_uuid() {
        for (context, capability, kind) in [
            (None, "", FsKind::Ext4),
            (None, "xfs", FsKind::Xfs),
            (Some("XFS"), "", FsKind::Xfs),
            (Some("xfs"), "ext4", FsKind::Xfs),
            (Some("ext4"), "xfs", FsKind::Ext4),
        ] {
            let wish = wish(context, capability, &[]);
            assert_eq!(wish.kind, kind);
            assert_eq!(wish.options.has("nouuid"), kind == FsKind::Xfs);
        }
    }

    #[test]
    fn flags_are_taken_apart() {
        let wish = wish(None, "ext4", &["ro,noatime", "directmount"]);
        assert!(wish.read_only && wish.direct);
        assert_eq!(wish.options.words(), ["ro", "noatime"]);
    }
}
