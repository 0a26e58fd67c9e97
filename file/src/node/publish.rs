//! NodePublishVolume.

use std::path::Path;
use std::sync::Arc;

use azcsi_host::mount::{Unmount, Write};
use azcsi_host::mountinfo::{Mount, Table};
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::access::AccessMode;
use azcsi_types::host_path::HostPath;
use azcsi_types::op::Op;

use super::Node;
use super::connect::{self, Job};
use super::credentials::{self, Plan};
use super::error::NodeError;
use super::inline;
use super::mounted;
use super::publish_direct;
use super::share::{VolumeKey, path_guard};
use super::stage::{checked, job, stage};
use super::stage_plan::{AtTarget, Mounted, Repair, allows_another, at_target, repair};
use super::tickets;
use crate::model::volume_context::VolumeContext;

/// The RPC.
#[derive(Debug)]
pub struct NodePublishVolume;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to mount.
    pub job: Job,
    /// Where it is staged.
    pub staging: Option<HostPath>,
    /// Where to publish it.
    pub target: HostPath,
    /// The mode.
    pub mode: AccessMode,
    /// Whether nothing may be written.
    pub read_only: bool,
}

impl Handler for NodePublishVolume {
    type Ctx = Node;
    type Wire = v1::NodePublishVolumeRequest;
    type WireReply = v1::NodePublishVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodePublishVolume;

    fn decode(node: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        let volume = VolumeKey::decode(wire.volume_id)?;
        let target = validate::path("target_path", &wire.target_path)?;
        let mut capability = checked(wire.volume_capability)?;
        let staging = validate::optional_path("staging_target_path", &wire.staging_target_path)?;
        let map = validate::map("volume_context", wire.volume_context)?;
        let mut context = VolumeContext::decode(map)
            .map_err(|error| NodeError::value("volume_context", error))?;
        if context.pod.ephemeral {
            context = inline::restrict(context, node.config.inline_keys)
                .map_err(|error| NodeError::value("volume_context", error))?;
            capability.flags.extend(inline_options(&context)?);
        }
        let read_only = wire.readonly || capability.access.mode.is_read_only();
        let is_direct = context.pod.ephemeral || credentials::needs_pod(&context);
        // What is bound to a staged mount is read-only by the bind; what is mounted here, by itself.
        let mount_read_only = capability.access.mode.is_read_only() || (is_direct && read_only);
        let mode = capability.access.mode;
        let parts = (volume, context);
        let job = job(node, parts, &capability, (wire.secrets, mount_read_only))?;
        Ok(Request {
            job,
            staging,
            target,
            mode,
            read_only,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![request.job.volume.guard(), path_guard(&request.target)],
            fingerprint: format!("{request:?}"),
        }
    }

    async fn run(node: Arc<Node>, request: Request, op: Op) -> Result<(), NodeError> {
        let request = Request {
            staging: request.staging.as_ref().map(mounted::resolve),
            target: mounted::resolve(&request.target),
            ..request
        };
        let result = Box::pin(publish(&node, &op, &request)).await;
        match &result {
            Ok(()) => node.health.forget(&request.job.volume),
            Err(error) => node.health.remember(&request.job.volume, error),
        }
        result
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodePublishVolumeResponse {}
    }
}

/// The options of an inline volume, each checked against the list.
fn inline_options(context: &VolumeContext) -> Result<Vec<String>, NodeError> {
    let words = context.mount_options.iter().flat_map(|all| all.split(','));
    let words = words.map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| match inline::check_option(word) {
            Ok(()) => Ok(word.to_owned()),
            Err(error) => Err(NodeError::value("mountOptions", error)),
        })
        .collect()
}

async fn publish(node: &Node, op: &Op, request: &Request) -> Result<(), NodeError> {
    let job = &request.job;
    if job.context.pod.ephemeral || credentials::needs_pod(&job.context) {
        return publish_direct::run(node, op, request).await;
    }
    let volume = job.volume.as_str();
    let staging = request
        .staging
        .as_ref()
        .ok_or_else(|| NodeError::refused(volume, "staging_target_path is missing"))?;
    // Before anything is looked at: a mount whose ticket has ended looks dead.
    if let Plan::Ticket(by) = job.plan(node)? {
        tickets::refresh(node, op, job, &by).await?;
    }
    let table = mounted::table(node, volume)?;
    let staged = staged(node, &table, job, staging.as_path())?;
    let target = request.target.as_path();
    let read_only = request.read_only || staged.is_read_only();
    let found = target_of(node, &table, (target, staged)).await;
    match at_target(found, read_only) {
        AtTarget::Published => return Ok(()),
        AtTarget::Refuse(why) => {
            return Err(NodeError::Incompatible {
                path: target.to_owned(),
                why: why.to_owned(),
            });
        }
        AtTarget::Dead => return Err(dead(volume)),
        AtTarget::Mount => {}
    }
    let others = mounted::others(&table, staged, [staging.as_path(), target]);
    if !allows_another(request.mode, others.len()) {
        return Err(NodeError::refused(
            volume,
            "it is for a single writer and already published elsewhere on this node",
        ));
    }
    ready(node, op, request, (staging.as_path(), &others)).await?;
    let write = if read_only {
        Write::Denied
    } else {
        Write::Allowed
    };
    bind(node, op, (volume, staging.as_path(), target), write).await
}

/// The mount at the staging path. A folder that is none would let the pod write to the disk of the
/// node.
fn staged<'a>(
    node: &Node,
    table: &'a Table,
    job: &Job,
    staging: &Path,
) -> Result<&'a Mount, NodeError> {
    let volume = job.volume.as_str();
    let refused = |why: String| NodeError::refused(volume, why);
    let mount = table
        .top(staging)
        .ok_or_else(|| refused(format!("it is not staged at '{}'", staging.display())))?;
    if job.share.disk.is_some() {
        return Ok(mount);
    }
    match connect::known_source(node, job) {
        Some(source) if !node.powers.shares.is_of(mount, job.kind(), &source) => Err(refused(
            "another share is mounted at its staging path".to_owned(),
        )),
        _ => Ok(mount),
    }
}

async fn target_of(
    node: &Node,
    table: &Table,
    (target, staged): (&Path, &Mount),
) -> Option<Mounted> {
    let mount = table.top(target)?;
    Some(Mounted {
        is_volume: mount.device == staged.device && mount.root == staged.root,
        life: node.powers.shares.ask(target, mounted::ASK).await,
        read_only: mount.is_read_only(),
    })
}

pub(super) fn dead(volume: &str) -> NodeError {
    NodeError::stale(
        volume,
        "its mount is dead (server lost, key rotated or share gone); it is left in place, because \
         an unmount under a running pod would send its writes to the node's disk: restart the pod",
    )
}

/// Makes sure that what is staged works, mounting it anew where nobody has it.
async fn ready(
    node: &Node,
    op: &Op,
    request: &Request,
    (staging, others): (&Path, &[&Mount]),
) -> Result<(), NodeError> {
    let job = &request.job;
    let volume = job.volume.as_str();
    let life = node.powers.shares.ask(staging, mounted::ASK).await;
    match repair(life, others.len()) {
        Repair::Use => Ok(()),
        Repair::Wait => Err(NodeError::NotReady {
            volume: volume.to_owned(),
            why: "its server does not answer; the mount recovers when it does".to_owned(),
        }),
        Repair::Report => Err(NodeError::stale(
            volume,
            format!(
                "its staged mount is dead and {} pods of this node have it: it is mounted anew when \
                 they are gone",
                others.len()
            ),
        )),
        Repair::Restage => {
            tracing::warn!(
                volume,
                "a dead staged mount that nobody has is mounted anew"
            );
            stage(node, op, job, staging).await
        }
    }
}

/// Binds the staged mount. After a failure nothing is left that was not there before.
async fn bind(
    node: &Node,
    op: &Op,
    (volume, staging, target): (&str, &Path, &Path),
    write: Write,
) -> Result<(), NodeError> {
    let made = mounted::make(target, volume)?;
    let mounter = &node.powers.mounter;
    let bound = mounter.bind(op, staging, target, write).await;
    let result = match bound {
        Ok(()) => check_bound(node, (volume, staging, target), write),
        Err(error) => Err(NodeError::step("publishing", volume, error)),
    };
    let Err(error) = result else {
        return Ok(());
    };
    if mounter
        .unmount_all(op, target, Unmount::Plain)
        .await
        .is_err()
    {
        return Err(NodeError::LeftMounted {
            volume: volume.to_owned(),
            path: target.to_owned(),
            source: Box::new(error),
        });
    }
    if made {
        let _ = std::fs::remove_dir(target);
    }
    Err(error)
}

fn check_bound(
    node: &Node,
    (volume, staging, target): (&str, &Path, &Path),
    write: Write,
) -> Result<(), NodeError> {
    let table = mounted::table(node, volume)?;
    let is_right = match (table.top(staging), table.top(target)) {
        (Some(from), Some(to)) => {
            let same = from.device == to.device && from.root == to.root;
            same && (write == Write::Allowed || to.is_read_only())
        }
        _ => false,
    };
    if is_right {
        Ok(())
    } else {
        Err(NodeError::NotReady {
            volume: volume.to_owned(),
            why: "what is mounted at the target is not what was bound there".to_owned(),
        })
    }
}
