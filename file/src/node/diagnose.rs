//! Finding the cause of a failed mount: the questions, asked side by side and in little time.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use azcsi_host::HostError;
use azcsi_host::net_probe::{Port, Resolved};
use azcsi_types::account::AccountName;
use azcsi_types::clock::Deadline;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use nix::libc;

use super::Node;
use super::cause::{Cause, Facts, ShareSays, Who, judge};
use super::connect::Job;
use super::error::NodeError;
use super::ports::ShareRef;
use super::share::Share;

/// Longest wait for the port, and for the account.
const ASK: Duration = Duration::from_secs(5);

/// What was tried.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    /// The server.
    pub(super) host: String,
    /// What was mounted.
    pub(super) source: String,
    /// Who mounted.
    pub(super) who: Who,
    /// The account.
    pub(super) account: Option<AccountName>,
    /// Its key.
    pub(super) key: Option<Secret>,
    /// What the resolver said.
    pub(super) name: Resolved,
}

/// The share, for a question to its account.
pub(super) fn share_ref(share: &Share, account: &AccountName) -> ShareRef {
    ShareRef {
        account: account.clone(),
        suffix: share.suffix.clone(),
        share: share.name.clone(),
        folder: share.folder.clone(),
    }
}

/// The error when there was no address to mount from.
pub(super) fn unresolved(job: &Job, failed: Failed) -> NodeError {
    let (cause, why) = match failed.name {
        Resolved::Silent => (Cause::ResolverSilent, "no answer in time".to_owned()),
        Resolved::Unknown(why) => (Cause::NameUnknown, why),
        Resolved::Addresses(_) => (Cause::Unclear, String::new()),
    };
    NodeError::Mount {
        volume: job.volume.as_str().to_owned(),
        from: failed.source,
        cause,
        source: HostError::Lost {
            what: format!("resolving '{}' ({why})", failed.host),
        },
    }
}

/// The error of a mount that failed.
pub(super) async fn failed(
    node: &Node,
    op: &Op,
    job: &Job,
    (failed, error): (Failed, HostError),
) -> NodeError {
    // Even when the mount has used up its time, the answer to why may take a little more.
    let op = Op::start(op.id(), Deadline::after(&*node.clock, ASK));
    let (port, share) = tokio::join!(
        port(node, job, &failed.name),
        share(node, &op, job, &failed)
    );
    let errno = number_of(&error);
    let cause = judge(&Facts {
        protocol: job.share.protocol,
        errno,
        name: failed.name,
        port,
        share,
        who: failed.who,
        in_folder: job.share.folder.is_some(),
        has_filesystem: errno != Some(libc::ENODEV),
        is_fips: node.powers.is_fips,
    });
    if let (Cause::KeyRefused | Cause::Denied | Cause::ServerLost, Some(account)) =
        (cause, &failed.account)
    {
        node.keys.refused(account.as_str());
    }
    NodeError::Mount {
        volume: job.volume.as_str().to_owned(),
        from: failed.source,
        cause,
        source: error,
    }
}

/// The kernel's number, or one that means the same; `None` for a call that has not ended.
fn number_of(error: &HostError) -> Option<i32> {
    match error {
        HostError::TimedOut { .. } | HostError::Hanging { .. } => None,
        // Refused before the kernel was asked: something could not be written into the call.
        HostError::Io { source, .. } => Some(source.raw_os_error().unwrap_or(libc::EINVAL)),
        HostError::Unreadable { .. } | HostError::Lost { .. } => Some(libc::EIO),
    }
}

/// What the number of the kernel would be; `None` for a port that answers.
pub(super) fn number_of_port(port: Port) -> Option<io::Error> {
    let number = match port {
        Port::Open => return None,
        Port::Refused => libc::ECONNREFUSED,
        Port::Silent => libc::ETIMEDOUT,
        Port::Unreachable => libc::EHOSTUNREACH,
    };
    Some(io::Error::from_raw_os_error(number))
}

/// Asks the port that the mount uses.
pub(super) async fn knock(node: &Node, job: &Job, address: IpAddr) -> Port {
    let said = job.merged.options.words().iter();
    let said = said.filter_map(|word| word.strip_prefix("port="));
    let number = said.filter_map(|text| text.parse().ok()).next_back();
    let number = number.unwrap_or(job.kind().port());
    node.powers.shares.knock(address, number, ASK).await
}

async fn port(node: &Node, job: &Job, name: &Resolved) -> Port {
    match name {
        Resolved::Addresses(addresses) if !addresses.is_empty() => {
            knock(node, job, addresses[0]).await
        }
        _ => Port::Unreachable,
    }
}

async fn share(node: &Node, op: &Op, job: &Job, failed: &Failed) -> ShareSays {
    match (&failed.account, &failed.key) {
        // A server that the volume names need not be the account's.
        (Some(account), Some(key)) if failed.host.starts_with(account.as_str()) => {
            let asked = share_ref(&job.share, account);
            let answer = node.ports.ask_share(op, &asked, key);
            let answer = tokio::time::timeout(ASK, answer).await;
            answer.unwrap_or(ShareSays::Unknown)
        }
        _ => ShareSays::Unknown,
    }
}
