//! Getting the credentials that a plan names.

use azcsi_host::shares::Login as HostLogin;
use azcsi_types::account::AccountName;
use azcsi_types::fault::Fault;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;

use super::Node;
use super::connect::Job;
use super::credentials::Plan;
use super::error::NodeError;
use super::ports::{Identity, KeyOf, Login, SecretRef, Unanswered};
use super::tickets;

/// Credentials, and the account that they are for.
#[derive(Debug)]
pub(super) struct Held {
    /// For the kernel.
    pub(super) login: HostLogin,
    /// The account; a Secret may have named it.
    pub(super) account: Option<AccountName>,
    /// The key, for questions to the account.
    pub(super) key: Option<Secret>,
    /// How old the key may be.
    pub(super) age: Age,
}

/// How old a key may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// As its source has it now.
    Fresh,
    /// Fetched some time ago, or from a Secret that nobody has to keep up to date: it may have been
    /// rotated since.
    Kept,
}

/// Gets them.
pub(super) async fn hold(node: &Node, op: &Op, job: &Job, plan: Plan) -> Result<Held, NodeError> {
    let volume = job.volume.as_str();
    let failed = |source| NodeError::Credentials {
        volume: volume.to_owned(),
        source,
    };
    let login = match plan {
        Plan::Nobody => {
            return Ok(Held {
                login: HostLogin::None,
                account: job.share.account.clone(),
                key: None,
                age: Age::Fresh,
            });
        }
        Plan::Ticket(by) => {
            let account = job.share.account.clone();
            let login = tickets::login(node, op, job, &by).await?;
            return Ok(Held {
                login,
                account,
                key: None,
                age: Age::Fresh,
            });
        }
        Plan::Given(login) => (login, Age::Fresh),
        Plan::Fetched { of, by } => fetched(node, op, &of, &by).await.map_err(failed)?,
        Plan::Secret { at, instead } => {
            from_secret(node, op, &at, instead).await.map_err(failed)?
        }
    };
    Ok(by_key(job, login))
}

/// The plan when a key was refused that may have been rotated: whoever may fetch it does.
pub(super) fn anew(plan: Plan) -> Plan {
    match plan {
        Plan::Secret {
            instead: Some(of), ..
        } => Plan::Fetched {
            of,
            by: Identity::Node,
        },
        other => other,
    }
}

/// A login with a key. With a server that the volume names, the user may be anybody's.
fn by_key(job: &Job, (login, age): (Login, Age)) -> Held {
    let account = login.user.parse().ok().or(job.share.account.clone());
    let is_nfs = job.share.protocol == crate::model::protocol::Protocol::Nfs;
    Held {
        login: if is_nfs {
            // The key is for making the directory; NFS itself has no login.
            HostLogin::None
        } else {
            HostLogin::Password {
                user: login.user,
                password: login.key.clone(),
            }
        },
        account,
        key: Some(login.key),
        age,
    }
}

async fn from_secret(
    node: &Node,
    op: &Op,
    at: &SecretRef,
    instead: Option<KeyOf>,
) -> Result<(Login, Age), Unanswered> {
    let read = node.ports.secret(op, at).await;
    let problem = match read {
        Ok(Some(login)) if instead.is_some() => return Ok((login, Age::Kept)),
        Ok(Some(login)) => return Ok((login, Age::Fresh)),
        Ok(None) => Unanswered::because(
            format!("the Secret {}/{} does not exist", at.namespace, at.name),
            Fault::Precondition,
        ),
        Err(error) => error,
    };
    match instead {
        Some(of) => {
            let why = azcsi_types::fault::report(&problem);
            tracing::info!(why, "the key is fetched with the node's identity");
            fetched(node, op, &of, &Identity::Node)
                .await
                .map_err(|error| Unanswered {
                    what: format!("{}, and {}", problem.what, error.what),
                    ..error
                })
        }
        None => Err(problem),
    }
}

async fn fetched(
    node: &Node,
    op: &Op,
    of: &KeyOf,
    by: &Identity,
) -> Result<(Login, Age), Unanswered> {
    let (key, age) = match node.keys.get(&*node.clock, of, by) {
        Some(key) => (key, Age::Kept),
        None => {
            let key = node.ports.account_key(op, of, by).await?;
            node.keys.put(&*node.clock, of, by, &key);
            (key, Age::Fresh)
        }
    };
    let user = of.account.to_string();
    Ok((Login { user, key }, age))
}
