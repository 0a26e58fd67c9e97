//! Kerberos tickets: one cache for each volume.
//!
//! The kernel's helper looks for the cache of a user id. So each volume has a user id of its own, out
//! of a range that nobody else uses, and the ticket of one identity never takes the place of
//! another's. A ticket is got anew before it ends, when the token it came from has changed, and when
//! its cache is gone; kubelet publishes again and again, which is the clock of that.

use azcsi_host::krb;
use azcsi_host::shares::Login;
use azcsi_types::fault::Fault;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use sha2::{Digest, Sha256};

use super::Node;
use super::connect::Job;
use super::credentials::TicketBy;
use super::error::NodeError;
use super::ports::{Identity, Unanswered};
use super::record::Record;
use super::share::{Names, VolumeKey};

/// The first user id of caches.
const FIRST: u32 = 0x7000_0000;
/// How many there are.
const COUNT: u32 = 0x0100_0000;
/// A ticket is renewed when it has less than this left, in seconds.
const MARGIN: u64 = 600;

/// The login for a mount, with a ticket that is good for a while.
pub(super) async fn login(
    node: &Node,
    op: &Op,
    job: &Job,
    by: &TicketBy,
) -> Result<Login, NodeError> {
    let owner = refresh(node, op, job, by).await?;
    let user = match by {
        TicketBy::Identity(Identity::Managed(client)) => Some(client.clone()),
        _ => None,
    };
    Ok(Login::Ticket { owner, user })
}

/// Gets a new ticket when it is time; tells the owner of the cache.
pub(super) async fn refresh(
    node: &Node,
    op: &Op,
    job: &Job,
    by: &TicketBy,
) -> Result<u32, NodeError> {
    let volume = job.volume.as_str();
    let failed = |source| NodeError::Credentials {
        volume: volume.to_owned(),
        source,
    };
    let identity = identity(node, op, by).await.map_err(failed)?;
    let token = fingerprint(&identity);
    let record = node.records.get(&job.volume).unwrap_or_default();
    let owner = record
        .ticket_owner
        .unwrap_or_else(|| owner(&job.volume, &node.records.all()));
    let path = node.config.tickets.join(format!("krb5cc_{owner}"));
    if path.exists() && is_good(&record, token.as_deref(), node.now()) {
        return Ok(owner);
    }
    let tickets = granted(node, op, job, &identity).await?;
    krb::write_cache(&path, owner, &tickets)
        .map_err(|error| NodeError::step("keeping the ticket", volume, error))?;
    let record = Record {
        ticket_owner: Some(owner),
        ticket_ends: tickets.iter().map(|ticket| u64::from(ticket.ends)).min(),
        ticket_token: token,
        time: node.now(),
        ..record
    };
    node.records
        .put(&job.volume, record)
        .map_err(|error| NodeError::step("writing the record", volume, error))?;
    Ok(owner)
}

/// Asks the account for a ticket. It knows only its own name.
async fn granted(
    node: &Node,
    op: &Op,
    job: &Job,
    identity: &Identity,
) -> Result<Vec<krb::Ticket>, NodeError> {
    let failed = |source| NodeError::Credentials {
        volume: job.volume.as_str().to_owned(),
        source,
    };
    let account = job.share.account.as_ref();
    let host = account.map(|account| job.share.canonical_host(account));
    let host = host.or_else(|| job.share.host(None, Names::Canonical));
    let host = host.ok_or_else(|| {
        NodeError::value(
            "the volume",
            "nothing names the account that a ticket is for",
        )
    })?;
    let granted = node.ports.ticket(op, &host, identity).await;
    let granted = granted.map_err(failed)?;
    krb::read_message(granted.message.as_bytes()).map_err(|error| {
        failed(Unanswered {
            what: format!("the ticket for {host} cannot be used"),
            fault: Fault::Internal,
            source: Some(Box::new(error)),
        })
    })
}

async fn identity(node: &Node, op: &Op, by: &TicketBy) -> Result<Identity, Unanswered> {
    match by {
        TicketBy::Identity(identity) => Ok(identity.clone()),
        TicketBy::Secret(at) => {
            let missing = || {
                let what = format!("the Secret {}/{} holds no token", at.namespace, at.name);
                Unanswered::because(what, Fault::Precondition)
            };
            let token = node.ports.token(op, at).await?;
            Ok(Identity::Token(token.ok_or_else(missing)?))
        }
    }
}

/// Changes when the token does. Not the token, and nothing that it could be had from.
fn fingerprint(identity: &Identity) -> Option<String> {
    let token: &Secret = match identity {
        Identity::Token(token) | Identity::Workload { token, .. } => token,
        Identity::Node | Identity::Managed(_) => return None,
    };
    let digest = Sha256::digest(token.as_bytes());
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn is_good(record: &Record, token: Option<&str>, now: u64) -> bool {
    let lasts = record.ticket_ends.is_some_and(|ends| ends > now + MARGIN);
    lasts && record.ticket_token.as_deref() == token
}

/// A user id that no other volume has.
fn owner(volume: &VolumeKey, others: &[Record]) -> u32 {
    let digest = Sha256::digest(volume.record().as_bytes());
    let mut number = [0; 4];
    number.copy_from_slice(&digest[..4]);
    let start = u32::from_le_bytes(number) % COUNT;
    let is_free = |id: &u32| others.iter().all(|record| record.ticket_owner != Some(*id));
    (0..COUNT)
        .map(|step| FIRST + (start + step) % COUNT)
        .find(is_free)
        .unwrap_or(FIRST + start)
}

/// Removes the cache of a volume that is gone.
pub(super) fn forget(node: &Node, record: &Record) {
    let Some(owner) = record.ticket_owner else {
        return;
    };
    let path = node.config.tickets.join(format!("krb5cc_{owner}"));
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, "a ticket cache was not removed");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use azcsi_types::secret::Secret;

    use super::{COUNT, FIRST, fingerprint, is_good, owner};
    use crate::node::ports::Identity;
    use crate::node::record::Record;
    use crate::node::share::VolumeKey;

    #[test]
    fn each_volume_has_a_cache_of_its_own() {
        let key = VolumeKey::decode("rg#acct1#share1#".to_owned()).unwrap();
        let first = owner(&key, &[]);
        assert!((FIRST..FIRST + COUNT).contains(&first));
        let taken = Record {
            ticket_owner: Some(first),
            ..Record::default()
        };
        assert_ne!(owner(&key, &[taken]), first);
    }

    #[test]
    fn a_ticket_is_renewed_before_it_ends_and_when_its_token_changes() {
        let record = Record {
            ticket_ends: Some(10_000),
            ticket_token: Some("a".to_owned()),
            ..Record::default()
        };
        for (token, now, good) in [
            (Some("a"), 9_000, true),
            (Some("a"), 9_400, false),
            (Some("b"), 9_000, false),
            (None, 9_000, false),
        ] {
            assert_eq!(is_good(&record, token, now), good, "{token:?} {now}");
        }
        assert!(!is_good(&Record::default(), None, 0));
    }

    #[test]
    fn a_fingerprint_is_not_the_token() {
        let print = fingerprint(&Identity::Token(Secret::new("marker"))).unwrap();
        assert!(!print.contains("marker"));
        assert_eq!(fingerprint(&Identity::Managed("c".to_owned())), None);
    }
}
