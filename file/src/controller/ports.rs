//! What the controller asks of Kubernetes: implemented where the program starts. Without Kubernetes
//! nothing is known, and every decision here takes that for the careful case.

use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use azcsi_types::account::AccountName;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use azcsi_types::share_handle::ShareHandle;
use futures_util::future::BoxFuture;

/// Something in Kubernetes that could not be read or written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{what}")]
pub struct PortError {
    what: String,
    fault: Fault,
    #[source]
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl PortError {
    /// What failed, for a known reason.
    #[must_use]
    pub fn because<E: Faulty>(what: impl Into<String>, cause: E) -> Self {
        Self {
            what: what.into(),
            fault: cause.fault(),
            cause: Some(Arc::new(cause)),
        }
    }

    /// What the state of the cluster forbids.
    #[must_use]
    pub fn forbidden(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fault: Fault::Precondition,
            cause: None,
        }
    }
}

impl Faulty for PortError {
    fn fault(&self) -> Fault {
        match self.fault {
            Fault::Denied | Fault::Unauthenticated | Fault::Precondition => self.fault,
            // "not found" would be taken for a proof about the volume.
            _ => Fault::Unavailable,
        }
    }
}

/// Name and namespace of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SecretName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Keys of accounts in Secrets.
pub trait KeySecrets: Debug + Send + Sync + 'static {
    /// Whether there is a cluster to keep them in.
    fn available(&self) -> bool;

    /// The key of an account from a Secret; `None` if there is no such Secret, or it is another
    /// account's.
    fn read<'a>(
        &'a self,
        op: &'a Op,
        at: &'a SecretName,
        account: &'a AccountName,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>>;

    /// Writes the key of an account. A Secret that somebody else made is left as it is; one of the
    /// driver's own gets the key if it holds another.
    fn write<'a>(
        &'a self,
        op: &'a Op,
        at: &'a SecretName,
        key: (&'a AccountName, &'a Secret),
    ) -> BoxFuture<'a, Result<(), PortError>>;
}

/// Whether something else uses a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// Another volume does.
    Shared,
    /// Nothing else does.
    Alone,
    /// It cannot be told, now or later: there is no cluster.
    Unknown,
    /// The cluster has not said it yet.
    Unread,
}

/// What the PersistentVolumes of this driver say.
pub trait Volumes: Debug + Send + Sync + 'static {
    /// Whether a PersistentVolume other than this one's is in the same share; for a volume that is a
    /// directory, whether one is in that directory.
    fn others<'a>(&'a self, volume: &'a ShareHandle) -> BoxFuture<'a, Use>;
}

/// No cluster: no Secrets, nothing known of volumes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCluster;

impl KeySecrets for NoCluster {
    fn available(&self) -> bool {
        false
    }

    fn read<'a>(
        &'a self,
        _: &'a Op,
        _: &'a SecretName,
        _: &'a AccountName,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        Box::pin(async { Ok(None) })
    }

    fn write<'a>(
        &'a self,
        _: &'a Op,
        _: &'a SecretName,
        _: (&'a AccountName, &'a Secret),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async { Ok(()) })
    }
}

impl Volumes for NoCluster {
    fn others<'a>(&'a self, _: &'a ShareHandle) -> BoxFuture<'a, Use> {
        Box::pin(async { Use::Unknown })
    }
}
