//! NodeStageVolume.

use std::path::Path;
use std::sync::Arc;

use azcsi_host::mount::Unmount;
use azcsi_host::mountinfo::Table;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::access::{Access, VolumeMode};
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;

use super::Node;
use super::connect::{self, Job};
use super::credentials::{self, Handed};
use super::error::NodeError;
use super::mounted::{self, Seen};
use super::options::{self, Asked};
use super::ownership;
use super::share::{Share, VolumeKey, path_guard};
use super::stage_plan::{AtStaging, at_staging};
use super::vhd;
use crate::model::protocol::Protocol;
use crate::model::volume_context::VolumeContext;

/// The RPC.
#[derive(Debug)]
pub struct NodeStageVolume;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to mount.
    pub job: Job,
    /// Where.
    pub staging: HostPath,
}

impl Handler for NodeStageVolume {
    type Ctx = Node;
    type Wire = v1::NodeStageVolumeRequest;
    type WireReply = v1::NodeStageVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodeStageVolume;

    fn decode(node: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        let volume = VolumeKey::decode(wire.volume_id)?;
        let staging = validate::path("staging_target_path", &wire.staging_target_path)?;
        let capability = checked(wire.volume_capability)?;
        let map = validate::map("volume_context", wire.volume_context)?;
        let context = VolumeContext::decode(map)
            .map_err(|error| NodeError::value("volume_context", error))?;
        let read_only = capability.access.mode.is_read_only();
        let job = job(
            node,
            (volume, context),
            &capability,
            (wire.secrets, read_only),
        )?;
        Ok(Request { job, staging })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![request.job.volume.guard(), path_guard(&request.staging)],
            fingerprint: format!("{request:?}"),
        }
    }

    async fn run(node: Arc<Node>, request: Request, op: Op) -> Result<(), NodeError> {
        let job = &request.job;
        let is_waiting = credentials::needs_pod(&job.context)
            && credentials::tokens(&job.context, &job.handed).is_none();
        if is_waiting {
            // Kubelet hands the token over at publish only; the mount happens there.
            return Ok(());
        }
        let staging = mounted::resolve(&request.staging);
        let result = Box::pin(stage(&node, &op, job, staging.as_path())).await;
        match &result {
            Ok(()) => node.health.forget(&job.volume),
            Err(error) => node.health.remember(&job.volume, error),
        }
        result
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodeStageVolumeResponse {}
    }
}

/// A capability that a share can have.
#[derive(Clone, Debug)]
pub(super) struct Capability {
    /// Mode and flags.
    pub(super) access: Access,
    /// Mount flags.
    pub(super) flags: Vec<String>,
    /// The group that the volume is to belong to.
    pub(super) group: String,
}

/// Checks a capability.
pub(super) fn checked(wire: Option<v1::VolumeCapability>) -> Result<Capability, NodeError> {
    use v1::volume_capability::AccessType;
    let group = match wire.as_ref().and_then(|wire| wire.access_type.as_ref()) {
        Some(AccessType::Mount(mount)) => mount.volume_mount_group.clone(),
        _ => String::new(),
    };
    let access = validate::capability(wire)?;
    let VolumeMode::Filesystem { mount_flags, .. } = &access.volume else {
        return Err(NodeError::value(
            "volume_capability",
            "a file share has no block mode: set volumeMode to Filesystem",
        ));
    };
    Ok(Capability {
        flags: mount_flags.clone(),
        access,
        group,
    })
}

/// Puts the parts of a request together.
pub(super) fn job(
    node: &Node,
    (volume, context): (VolumeKey, VolumeContext),
    capability: &Capability,
    (secrets, read_only): (std::collections::HashMap<String, String>, bool),
) -> Result<Job, NodeError> {
    let handed = Handed::decode(validate::map("secrets", secrets)?)
        .map_err(|error| NodeError::value("secrets", error))?;
    let share = Share::find(&volume, &context, &node.config.suffix)
        .map_err(|error| NodeError::value("the volume", error))?;
    let group = Some(capability.group.as_str()).filter(|_| node.config.mount_group);
    let wrong = |error| NodeError::value("the mount options", error);
    let items = azcsi_host::mount::MountOptions::parse(&capability.flags)
        .map_err(|error| NodeError::value("the mount options", error))?;
    let asked = Asked {
        protocol: share.protocol,
        options: items,
        group: group.filter(|_| share.disk.is_none()),
        read_only,
    };
    let merged = if share.disk.is_some() {
        options::for_disk(&asked)
    } else {
        options::merge(&asked, &node.config.options).map_err(wrong)?
    };
    Ok(Job {
        volume,
        share,
        context,
        handed,
        merged,
        group: group.and_then(|group| group.parse().ok()),
    })
}

/// Stages a volume, or finds it staged.
pub(super) async fn stage(
    node: &Node,
    op: &Op,
    job: &Job,
    staging: &Path,
) -> Result<(), NodeError> {
    let volume = job.volume.as_str();
    if let Some(theirs) = &job.merged.other_group {
        tracing::warn!(
            volume,
            group = theirs,
            "the class names another group than the pod"
        );
    }
    let table = mounted::table(node, volume)?;
    if job.share.disk.is_some() {
        return vhd::stage(node, op, job, staging).await;
    }
    if !clean(node, op, job, (&table, staging)).await? {
        return give(node, op, job, staging).await;
    }
    let made = connect::mount(node, op, job, (staging, &job.merged.options)).await?;
    connect::remember(node, job, |record| {
        record.staging_path = staging.display().to_string();
        record.source.clone_from(&made.source);
    })?;
    if job.share.protocol == Protocol::Nfs {
        mode(node, op, job, staging).await?;
    }
    give(node, op, job, staging).await
}

/// Looks at the staging path; tells whether the share is still to be mounted there.
async fn clean(
    node: &Node,
    op: &Op,
    job: &Job,
    (table, staging): (&Table, &Path),
) -> Result<bool, NodeError> {
    let volume = job.volume.as_str();
    let source = connect::known_source(node, job);
    let seen = source.as_deref().map(|source| Seen {
        kind: job.kind(),
        source,
    });
    let found = mounted::look(node, table, staging, seen).await;
    match at_staging(found, job.merged.options.is_read_only()) {
        AtStaging::Mount => Ok(true),
        AtStaging::Staged => Ok(false),
        AtStaging::Wait => Err(NodeError::NotReady {
            volume: volume.to_owned(),
            why: "the server of its mount does not answer; the mount recovers when it does"
                .to_owned(),
        }),
        AtStaging::Refuse(why) => Err(NodeError::Incompatible {
            path: staging.to_owned(),
            why: why.to_owned(),
        }),
        AtStaging::Replace => {
            report_users(table, staging, volume);
            let mounter = &node.powers.mounter;
            let gone = mounter.unmount_all(op, staging, Unmount::DeviceGone).await;
            gone.map_err(|error| NodeError::step("removing the dead mount", volume, error))?;
            Ok(true)
        }
    }
}

/// Pods that have the dead mount keep it: their binds are not touched. They have to be restarted, and
/// this is where that is said.
fn report_users(table: &Table, staging: &Path, volume: &str) {
    let Some(mount) = table.top(staging) else {
        return;
    };
    let others = mounted::others(table, mount, [staging, staging]);
    tracing::warn!(
        volume,
        pods = others.len(),
        "a dead mount is replaced; pods that have it must be restarted"
    );
}

async fn mode(node: &Node, op: &Op, job: &Job, staging: &Path) -> Result<(), NodeError> {
    let mode = job.context.mount_permissions;
    let mode = mode.unwrap_or(node.config.permissions);
    if mode == 0 || job.merged.options.is_read_only() {
        return Ok(());
    }
    let left = op.deadline().remaining(&*node.clock);
    let set = ownership::set_mode(&node.walks, staging, mode, left).await;
    set.map_err(|error| NodeError::step("setting the mode", job.volume.as_str(), error))
}

/// Gives an NFS share to the pod's group; SMB has it from its options.
pub(super) async fn give(node: &Node, op: &Op, job: &Job, root: &Path) -> Result<(), NodeError> {
    let has_own = job.share.protocol == Protocol::Nfs || job.share.disk.is_some();
    let (Some(group), true) = (job.group, has_own && !job.merged.options.is_read_only()) else {
        return Ok(());
    };
    let policy = job.context.group_change;
    let policy = policy.unwrap_or(node.config.group_change);
    let left = op.deadline().remaining(&*node.clock);
    let given = ownership::give(&node.walks, root, (group, policy), left).await;
    given.map_err(|error| NodeError::step("changing the group", job.volume.as_str(), error))
}
