//! Publishing a volume that is mounted at each target: inline volumes, and those that are mounted with
//! the token of the pod.

use azcsi_types::op::Op;

use super::InlineSecrets;
use super::Node;
use super::connect::{self, Job};
use super::credentials::Plan;
use super::error::NodeError;
use super::mounted::{self, Seen};
use super::ports::SecretRef;
use super::publish::{Request, dead};
use super::stage_plan::{AtTarget, at_target};
use super::tickets;

/// Publishes one.
pub(super) async fn run(node: &Node, op: &Op, request: &Request) -> Result<(), NodeError> {
    let job = &request.job;
    let volume = job.volume.as_str();
    let target = request.target.as_path();
    if job.share.disk.is_some() {
        let why = "a disk in a file cannot be mounted with the token of a pod";
        return Err(NodeError::refused(volume, why));
    }
    let plan = job.plan(node)?;
    if let Plan::Ticket(by) = &plan {
        tickets::refresh(node, op, job, by).await?;
    }
    let source = connect::known_source(node, job);
    let seen = source.as_deref().map(|source| Seen {
        kind: job.kind(),
        source,
    });
    let table = mounted::table(node, volume)?;
    let found = mounted::look(node, &table, target, seen).await;
    match at_target(found, job.merged.options.is_read_only()) {
        AtTarget::Published => return Ok(()),
        AtTarget::Dead => return Err(dead(volume)),
        AtTarget::Refuse(why) => {
            return Err(NodeError::Incompatible {
                path: target.to_owned(),
                why: why.to_owned(),
            });
        }
        AtTarget::Mount => {}
    }
    if let (true, Plan::Secret { at, .. }) = (job.context.pod.ephemeral, &plan) {
        authorize(node, op, job, at).await?;
    }
    let made = connect::mount(node, op, job, (target, &job.merged.options)).await?;
    connect::remember(node, job, |record| {
        record.source.clone_from(&made.source);
        let path = target.display().to_string();
        if !record.targets.contains(&path) {
            record.targets.push(path);
        }
    })
}

/// Whether the pod itself might read the Secret that the node reads for it.
async fn authorize(node: &Node, op: &Op, job: &Job, at: &SecretRef) -> Result<(), NodeError> {
    let rule = node.config.inline_secrets;
    if rule == InlineSecrets::Off {
        return Ok(());
    }
    let volume = job.volume.as_str();
    let pod = &job.context.pod;
    let (Some(namespace), Some(account)) = (&pod.namespace, &pod.service_account) else {
        return Err(NodeError::refused(
            volume,
            "kubelet does not tell the pod's service account",
        ));
    };
    let asked = node.ports.may_read(op, (namespace, account), at).await;
    let may = asked.map_err(|source| NodeError::Credentials {
        volume: volume.to_owned(),
        source,
    })?;
    if may {
        return Ok(());
    }
    let why = format!(
        "the service account {namespace}/{account} may not get the Secret {}/{}",
        at.namespace, at.name
    );
    if rule == InlineSecrets::Enforce {
        return Err(NodeError::Forbidden {
            volume: volume.to_owned(),
            why,
        });
    }
    tracing::warn!(volume, why, "an inline volume uses a Secret all the same");
    Ok(())
}
