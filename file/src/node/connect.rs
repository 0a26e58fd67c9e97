//! Carrying out one mount of a share: credentials, directory, name, system call, proof.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use azcsi_host::HostError;
use azcsi_host::mount::MountOptions;
use azcsi_host::net_probe::Resolved;
use azcsi_host::shares::{Login, ShareKind, ShareMount};
use azcsi_types::clock::Deadline;
use azcsi_types::op::Op;

use super::Node;
use super::cause::{Cause, Who};
use super::credentials::{self, Handed, Plan};
use super::diagnose::{self, Failed};
use super::error::NodeError;
use super::login::{self, Age, Held};
use super::mounted::{self, Seen};
use super::options::Merged;
use super::record::Record;
use super::share::{Names, Share, VolumeKey};
use super::tunnel::Lease;
use crate::model::protocol::Protocol;
use crate::model::volume_context::VolumeContext;

/// Longest wait for the resolver.
const RESOLVE: Duration = Duration::from_secs(10);

/// Everything about a mount that the request says.
#[derive(Clone, Debug)]
pub struct Job {
    /// The volume.
    pub volume: VolumeKey,
    /// The share.
    pub share: Share,
    /// What else the volume says.
    pub context: VolumeContext,
    /// What kubelet handed over.
    pub handed: Handed,
    /// The options.
    pub merged: Merged,
    /// The group that the volume is to belong to.
    pub group: Option<u32>,
}

impl Job {
    /// The protocol, as the kernel knows it.
    pub(super) const fn kind(&self) -> ShareKind {
        match self.share.protocol {
            Protocol::Smb => ShareKind::Cifs,
            Protocol::Nfs => ShareKind::Nfs,
        }
    }

    /// What would be mounted, if the account is known without a Secret.
    fn source(&self) -> Option<String> {
        let account = self.share.account.as_ref();
        let host = self.share.host(account, self.names())?;
        Some(self.share.source(&host, account))
    }

    const fn names(&self) -> Names {
        if self.context.identity.mount.is_some() {
            Names::Canonical
        } else {
            Names::AsGiven
        }
    }

    /// Whether the volume wants NFS through TLS.
    pub(super) const fn encrypts(&self) -> bool {
        self.context.encrypt_in_transit || self.merged.encrypt
    }

    /// The plan for its credentials.
    pub(super) fn plan(&self, node: &Node) -> Result<Plan, NodeError> {
        let own = node.config.own_identity.as_deref();
        credentials::plan(&self.share, &self.context, &self.handed, own)
            .map_err(|error| NodeError::value("the volume's credentials", error))
    }
}

/// A mount that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// What was mounted.
    pub(super) source: String,
}

/// Mounts the share at a path where nothing is mounted. After a failure nothing is left there.
pub(super) async fn mount(
    node: &Node,
    op: &Op,
    job: &Job,
    (target, options): (&Path, &MountOptions),
) -> Result<Made, NodeError> {
    let op = &op.within(Deadline::after(&*node.clock, node.config.mount_wait));
    let held = login::hold(node, op, job, job.plan(node)?).await?;
    let age = held.age;
    let first = Box::pin(attempt(node, op, job, (target, options, held))).await;
    match &first {
        Err(NodeError::Mount {
            cause: Cause::KeyRefused | Cause::Denied,
            ..
        }) if age == Age::Kept => {
            // The key was rotated since it was kept, and is forgotten now.
            let plan = login::anew(job.plan(node)?);
            match login::hold(node, op, job, plan).await {
                Ok(held) => Box::pin(attempt(node, op, job, (target, options, held))).await,
                // That it was refused says more than that no other can be had.
                Err(_) => first,
            }
        }
        _ => first,
    }
}

/// Mounts with the credentials that are there.
async fn attempt(
    node: &Node,
    op: &Op,
    job: &Job,
    (target, options, held): (&Path, &MountOptions, Held),
) -> Result<Made, NodeError> {
    let account = held.account.as_ref();
    let host = job.share.host(account, job.names());
    let host = host.ok_or_else(|| {
        NodeError::value(
            "the volume",
            "nothing names the storage account or the server",
        )
    })?;
    let source = job.share.source(&host, account);
    make_folder(node, op, job, &held).await?;
    let tried = Failed {
        who: who(&held.login),
        name: node.powers.shares.resolve(&host, RESOLVE).await,
        source: source.clone(),
        account: held.account,
        key: held.key,
        host,
    };
    let Some(address) = first(&tried.name) else {
        return Err(diagnose::unresolved(job, tried));
    };
    let mut wanted = ShareMount {
        kind: job.kind(),
        source: source.clone(),
        address,
        target: target.to_owned(),
        options: options.clone(),
        login: held.login,
    };
    // Kept until the mount is in the mount table.
    let _tunnel = match job.encrypts() {
        true => Some(through_tls(node, job, (&tried.host, &mut wanted)).await?),
        false => None,
    };
    carry_out(node, op, job, (wanted, tried)).await?;
    Ok(Made { source })
}

/// Leads a mount through the tunnel to its server. Its ends are on this machine: only root may use
/// it, so the client has to come from a port that only root can have.
async fn through_tls<'a>(
    node: &'a Node,
    job: &Job,
    (host, wanted): (&str, &mut ShareMount),
) -> Result<Lease<'a>, NodeError> {
    let volume = job.volume.as_str();
    let refused = |why| NodeError::refused(volume, why);
    if job.share.protocol == Protocol::Smb {
        return Err(refused(
            "encryptInTransit is for NFS: SMB encrypts by the account's own setting",
        ));
    }
    let tunnels = node.tunnels.as_ref();
    let tunnels =
        tunnels.ok_or_else(|| refused("encryptInTransit is switched off on this node"))?;
    let tunnel = tunnels.open(host).await;
    let tunnel = tunnel.map_err(|error| NodeError::step("opening the tunnel", volume, error))?;
    wanted.address = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    wanted.options.take("noresvport");
    wanted.options.add("resvport");
    wanted.options.add(&format!("port={}", tunnel.port));
    Ok(tunnel)
}

async fn carry_out(
    node: &Node,
    op: &Op,
    job: &Job,
    (wanted, tried): (ShareMount, Failed),
) -> Result<(), NodeError> {
    let volume = job.volume.as_str();
    let (target, source) = (wanted.target.clone(), wanted.source.clone());
    let made = mounted::make(&target, volume)?;
    let result = match start(node, op, job, wanted).await {
        Ok(()) => {
            let (kind, source) = (job.kind(), source.as_str());
            mounted::prove(node, op, volume, (&target, Seen { kind, source })).await
        }
        Err(error) => Err(diagnose::failed(node, op, job, (tried, error)).await),
    };
    // A call that has not ended finds the folder gone, and mounts nothing.
    let is_free = || mounted::table(node, volume).is_ok_and(|t| t.top(&target).is_none());
    if result.is_err() && made && is_free() {
        let _ = std::fs::remove_dir(&target);
    }
    result
}

/// Mounts, unless that would only hang: the kernel's NFS client tries for minutes.
async fn start(node: &Node, op: &Op, job: &Job, wanted: ShareMount) -> Result<(), HostError> {
    if wanted.kind == ShareKind::Nfs && !job.encrypts() {
        let port = diagnose::knock(node, job, wanted.address).await;
        if let Some(number) = diagnose::number_of_port(port) {
            return Err(HostError::io("mount", &wanted.target, number));
        }
    }
    node.powers.shares.mount(op, wanted).await
}

fn first(name: &Resolved) -> Option<IpAddr> {
    match name {
        Resolved::Addresses(addresses) => addresses.first().copied(),
        Resolved::Unknown(_) | Resolved::Silent => None,
    }
}

const fn who(login: &Login) -> Who {
    match login {
        Login::None => Who::Nobody,
        Login::Password { .. } => Who::Key,
        Login::Ticket { .. } => Who::Ticket,
    }
}

/// Makes the directory, if that is asked for. A failure is the failure of the mount: what would
/// follow is only a worse message.
async fn make_folder(node: &Node, op: &Op, job: &Job, held: &Held) -> Result<(), NodeError> {
    if !job.context.create_folder || job.share.folder.is_none() {
        return Ok(());
    }
    let (Some(account), Some(key)) = (&held.account, &held.key) else {
        return Err(NodeError::refused(
            job.volume.as_str(),
            "createFolderIfNotExist needs the account's key, which this mount has not",
        ));
    };
    let share = diagnose::share_ref(&job.share, account);
    let made = node.ports.make_folder(op, &share, key).await;
    made.map_err(|error| NodeError::step("making the directory", job.volume.as_str(), error))
}

/// What is mounted of the volume, by its record; else what would be. A Secret may have named another
/// account than the volume's id does.
pub(super) fn known_source(node: &Node, job: &Job) -> Option<String> {
    let record = node.records.get(&job.volume);
    let known = record.map(|record| record.source);
    known
        .filter(|source| !source.is_empty())
        .or_else(|| job.source())
}

/// Writes down what is mounted, keeping what is known of a ticket.
pub(super) fn remember(
    node: &Node,
    job: &Job,
    change: impl FnOnce(&mut Record),
) -> Result<(), NodeError> {
    let mut record = node.records.get(&job.volume).unwrap_or_default();
    record.kind = job.kind().fs_type().to_owned();
    record.time = node.now();
    change(&mut record);
    node.records
        .put(&job.volume, record)
        .map_err(|error| NodeError::step("writing the record", job.volume.as_str(), error))
}
