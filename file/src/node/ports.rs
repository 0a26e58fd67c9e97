//! What the node asks of Kubernetes and Azure, and only for the volumes that need it: a volume with a
//! Secret from kubelet, and one over NFS, ask nobody.

use azcsi_types::account::AccountName;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use futures_util::future::BoxFuture;

use super::cause::ShareSays;

/// A question that was not answered.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Unanswered {
    /// What was asked.
    pub what: String,
    /// The kind of failure.
    pub fault: Fault,
    /// Why.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Unanswered {
    /// From an error that knows its kind.
    pub fn of(what: impl Into<String>, source: impl Faulty) -> Self {
        Self {
            what: what.into(),
            fault: source.fault(),
            source: Some(Box::new(source)),
        }
    }

    /// Without a deeper cause.
    pub fn because(what: impl Into<String>, fault: Fault) -> Self {
        Self {
            what: what.into(),
            fault,
            source: None,
        }
    }
}

impl Faulty for Unanswered {
    fn fault(&self) -> Fault {
        self.fault
    }
}

/// An account and its key, as a Secret holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The account, or the user of a server that is not Azure's.
    pub user: String,
    /// The key.
    pub key: Secret,
}

/// A Secret of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Which account's key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyOf {
    /// Its subscription; `None` for the node's.
    pub subscription: Option<String>,
    /// Its resource group; `None` for the node's.
    pub resource_group: Option<String>,
    /// The account.
    pub account: AccountName,
    /// The newer of its keys instead of the first.
    pub latest: bool,
}

/// Who asks Azure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The node's own identity.
    Node,
    /// A managed identity of the node.
    Managed(String),
    /// The pod's service account, through an application of the directory.
    Workload {
        /// The application.
        client_id: String,
        /// Its tenant; `None` for the node's.
        tenant_id: Option<String>,
        /// The token of the service account.
        token: Secret,
    },
    /// A token for storage that somebody else got.
    Token(Secret),
}

/// A ticket as Azure gives it.
#[derive(Clone, Debug)]
pub struct Granted {
    /// The message (KRB-CRED), out of its base64.
    pub message: Secret,
}

/// A share, for a question to its account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareRef {
    /// The account.
    pub account: AccountName,
    /// The suffix of its host, without the account and `file`.
    pub suffix: String,
    /// The share.
    pub share: String,
    /// A directory in it.
    pub folder: Option<String>,
}

/// What the node asks. Every answer comes before the deadline of the operation.
pub trait Ports: std::fmt::Debug + Send + Sync {
    /// Reads the login in a Secret; `None` if there is no such Secret.
    fn secret<'a>(
        &'a self,
        op: &'a Op,
        of: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<Login>, Unanswered>>;

    /// Reads a token in a Secret, key `azurestorageaccounttoken`; `None` if there is no such Secret.
    fn token<'a>(
        &'a self,
        op: &'a Op,
        of: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<Secret>, Unanswered>>;

    /// The key of an account, by an identity that may list it.
    fn account_key<'a>(
        &'a self,
        op: &'a Op,
        of: &'a KeyOf,
        by: &'a Identity,
    ) -> BoxFuture<'a, Result<Secret, Unanswered>>;

    /// A Kerberos ticket for the host of an account.
    fn ticket<'a>(
        &'a self,
        op: &'a Op,
        host: &'a str,
        by: &'a Identity,
    ) -> BoxFuture<'a, Result<Granted, Unanswered>>;

    /// What the account says of a share, asked with its key.
    fn ask_share<'a>(
        &'a self,
        op: &'a Op,
        share: &'a ShareRef,
        key: &'a Secret,
    ) -> BoxFuture<'a, ShareSays>;

    /// Makes the directory of a share, with its parents; it may be there.
    fn make_folder<'a>(
        &'a self,
        op: &'a Op,
        share: &'a ShareRef,
        key: &'a Secret,
    ) -> BoxFuture<'a, Result<(), Unanswered>>;

    /// Whether a service account may read a Secret (SubjectAccessReview).
    fn may_read<'a>(
        &'a self,
        op: &'a Op,
        account: (&'a str, &'a str),
        of: &'a SecretRef,
    ) -> BoxFuture<'a, Result<bool, Unanswered>>;
}
