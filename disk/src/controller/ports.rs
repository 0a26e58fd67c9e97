//! What the controller asks of Kubernetes: two small ports, implemented where the program starts.
//!
//! Without Kubernetes the implementations fall back to lookups in Azure and to "unknown"; every
//! decision here treats unknown as the careful case.

use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::lun::LunSet;
use azcsi_types::node::{NodeName, VmRef};
use azcsi_types::op::Op;
use futures_util::future::BoxFuture;

/// A lookup failed; nothing is known about what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{what} could not be looked up")]
pub struct PortError {
    what: String,
    fault: Fault,
    #[source]
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl PortError {
    /// A lookup of `what` that failed for a known reason.
    #[must_use]
    pub fn because<E: Faulty>(what: impl Into<String>, cause: E) -> Self {
        Self {
            what: what.into(),
            fault: cause.fault(),
            cause: Some(Arc::new(cause)),
        }
    }

    /// A lookup of `what` that cannot be made at the moment.
    #[must_use]
    pub fn unavailable(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fault: Fault::Unavailable,
            cause: None,
        }
    }
}

impl Faulty for PortError {
    fn fault(&self) -> Fault {
        match self.fault {
            // "not found" would be taken for a proof about the volume.
            Fault::Denied | Fault::Unauthenticated => self.fault,
            _ => Fault::Unavailable,
        }
    }
}

/// What Kubernetes says about a node as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeState {
    /// Its kubelet reports.
    Ready,
    /// Its kubelet does not report, nobody has fenced it.
    NotReady,
    /// It carries the taint `node.kubernetes.io/out-of-service`: an operator has fenced it.
    OutOfService,
    /// There is no such node object.
    Absent,
    /// It cannot be told.
    Unknown,
}

/// Which machine is behind a node, and back.
pub trait NodeDirectory: Debug + Send + Sync + 'static {
    /// The machine of a node; `None` only if it is proven that there is none.
    fn machine<'a>(
        &'a self,
        op: &'a Op,
        node: &'a NodeName,
    ) -> BoxFuture<'a, Result<Option<VmRef>, PortError>>;

    /// The node that runs on a machine; `None` if no node is known there.
    fn node<'a>(
        &'a self,
        op: &'a Op,
        machine: &'a VmRef,
    ) -> BoxFuture<'a, Result<Option<NodeName>, PortError>>;

    /// The state of a node; only the rule of forced detaches needs it.
    fn state<'a>(&'a self, node: &'a NodeName) -> BoxFuture<'a, NodeState>;
}

/// Whether Kubernetes wants a disk on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// A VolumeAttachment says so.
    Live,
    /// None does.
    None,
    /// It cannot be told, for example because there is no Kubernetes.
    Unknown,
}

/// Whose the watch over a conversion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    /// This process's. So it is as long as there is no PersistentVolume that could say otherwise.
    Ours,
    /// Another process's, which has renewed its mark lately.
    Others,
}

/// Marks on PersistentVolumes that say which disks are being converted, and who watches.
pub trait ConversionMarks: Debug + Send + Sync + 'static {
    /// Sets or renews the mark of this process.
    fn hold<'a>(&'a self, disk: &'a DiskUri) -> BoxFuture<'a, Result<Hold, PortError>>;

    /// Takes the mark away: there is nothing left to watch.
    fn release<'a>(&'a self, disk: &'a DiskUri) -> BoxFuture<'a, Result<(), PortError>>;

    /// Marked disks that no other process watches.
    fn unwatched(&self) -> BoxFuture<'_, Result<Vec<DiskUri>, PortError>>;
}

/// What the VolumeAttachments of this driver say.
pub trait Attachments: Debug + Send + Sync + 'static {
    /// Whether a VolumeAttachment puts the disk on the node.
    fn claim<'a>(&'a self, disk: &'a DiskUri, node: &'a NodeName) -> BoxFuture<'a, Claim>;

    /// The slots that VolumeAttachments of other disks claim on the node, each with its disk.
    /// Empty when it cannot be told.
    fn slots<'a>(&'a self, node: &'a NodeName, except: &'a [DiskUri]) -> BoxFuture<'a, LunSet>;

    /// Subscriptions and resource groups that hold disks of known volumes, besides the configured
    /// one. Empty when it cannot be told.
    fn groups(&self) -> BoxFuture<'_, Vec<(String, String)>>;
}
