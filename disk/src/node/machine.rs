//! What the node knows about the virtual machine that it runs on, and from where.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::Lun;
use futures_util::future::BoxFuture;

/// How old an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// From a cache.
    Recent,
    /// Asked now.
    Fresh,
}

/// What the instance metadata service says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// Name of the virtual machine, or `{set}_{instance}`.
    pub name: String,
    /// Whether it is an instance of a scale set.
    pub in_scale_set: bool,
    /// Its size, such as `Standard_D4s_v5`.
    pub size: String,
    /// Its region.
    pub location: String,
    /// Its zone number; empty when it has none.
    pub zone: String,
    /// Attached data disks; `None` for a disk whose id is not given or not readable.
    pub disks: BTreeMap<Lun, Option<DiskUri>>,
}

impl MachineFacts {
    /// The slot of a disk.
    #[must_use]
    pub fn lun_of(&self, volume: &DiskUri) -> Option<Lun> {
        let is_it = |disk: &Option<DiskUri>| disk.as_ref() == Some(volume);
        self.disks
            .iter()
            .find(|(_, disk)| is_it(disk))
            .map(|(&lun, _)| lun)
    }
}

/// Why nothing is known.
#[derive(Debug, thiserror::Error)]
#[error("the {source_name} did not answer")]
pub struct Unanswered {
    /// Who was asked.
    pub source_name: &'static str,
    /// Why there was no answer.
    #[source]
    pub source: Box<dyn Error + Send + Sync>,
}

/// The instance metadata service.
pub trait Machine: Debug + Send + Sync + 'static {
    /// Asks it.
    fn facts(&self, look: Look) -> BoxFuture<'_, Result<Arc<MachineFacts>, Unanswered>>;
}

/// Labels of the Node object, as far as the driver reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// `topology.kubernetes.io/zone`.
    pub zone: Option<String>,
    /// `node.kubernetes.io/instance-type`.
    pub instance_type: Option<String>,
}

/// The Node object.
pub trait NodeLabels: Debug + Send + Sync + 'static {
    /// Reads its labels.
    fn labels(&self) -> BoxFuture<'_, Result<Labels, Unanswered>>;
    /// Which disks this driver has attached here, as VolumeAttachments say; `None` when that cannot
    /// be told, and then no disk counts as somebody else's.
    fn attached(&self) -> BoxFuture<'_, Option<Vec<DiskUri>>>;
}

/// No cluster: nothing has labels.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLabels;

impl NodeLabels for NoLabels {
    fn labels(&self) -> BoxFuture<'_, Result<Labels, Unanswered>> {
        Box::pin(async {
            Err(Unanswered {
                source_name: "Kubernetes API",
                source: "no cluster is configured".into(),
            })
        })
    }

    fn attached(&self) -> BoxFuture<'_, Option<Vec<DiskUri>>> {
        Box::pin(async { None })
    }
}
