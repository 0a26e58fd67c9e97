//! The ports of controller and node over the Kubernetes API, and what stands in without one.

pub mod conversions;
pub mod notices;
pub mod own_node;

use std::sync::Arc;

use azcsi_kube::Kube;
use azcsi_kube::attachments::{Attachments as Followed, STALE};
use azcsi_kube::nodes::{Machines, Node as NodeObject};
use azcsi_kube::watch::Watched;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::report;
use azcsi_types::lun::LunSet;
use azcsi_types::node::{NodeName, VmRef};
use azcsi_types::op::Op;
use futures_util::future::BoxFuture;

use crate::controller::ports::{Attachments, Claim, NodeDirectory, NodeState, PortError};
use crate::machines::AzureMachines;

/// Machines of nodes by the Node objects; by Azure where Kubernetes does not know.
#[derive(Debug)]
pub struct Directory {
    kube: Kube,
    followed: Watched<Machines>,
    azure: AzureMachines,
}

impl Directory {
    /// Begins to follow the nodes.
    #[must_use]
    pub fn start(kube: Kube, azure: AzureMachines) -> Self {
        Self {
            followed: Watched::start(&kube, Machines::default),
            kube,
            azure,
        }
    }

    /// The machine that the Node object names; `None` if it names none or does not exist.
    async fn by_object(&self, node: &NodeName) -> Result<Option<VmRef>, PortError> {
        let known = self
            .followed
            .read(STALE, |known| known.machine(node).cloned());
        if let Some(Some(machine)) = known {
            return Ok(Some(machine));
        }
        match self.kube.node(node).await {
            Ok(object) => Ok(machine_of(&object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(PortError::because(format!("node {node}"), error)),
        }
    }
}

fn machine_of(object: &NodeObject) -> Option<VmRef> {
    VmRef::from_provider_id(object.provider_id()?).ok()
}

impl NodeDirectory for Directory {
    fn machine<'a>(
        &'a self,
        op: &'a Op,
        node: &'a NodeName,
    ) -> BoxFuture<'a, Result<Option<VmRef>, PortError>> {
        Box::pin(async move {
            match self.by_object(node).await? {
                Some(machine) => Ok(Some(machine)),
                // A node that is gone may have a machine that is not.
                None => self.azure.machine(op, node).await,
            }
        })
    }

    fn node<'a>(
        &'a self,
        op: &'a Op,
        machine: &'a VmRef,
    ) -> BoxFuture<'a, Result<Option<NodeName>, PortError>> {
        Box::pin(async move {
            let known = self
                .followed
                .read(STALE, |known| known.node(machine).map(str::to_owned));
            match known.flatten() {
                Some(name) => Ok(name.parse().ok()),
                None => self.azure.node(op, machine).await,
            }
        })
    }

    fn state<'a>(&'a self, node: &'a NodeName) -> BoxFuture<'a, NodeState> {
        Box::pin(async move {
            match self.kube.node(node).await {
                Ok(object) => state_of(&object),
                Err(error) if error.is_not_found() => NodeState::Absent,
                Err(error) => {
                    tracing::warn!("state of node {node}: {}", report(&error));
                    NodeState::Unknown
                }
            }
        })
    }
}

fn state_of(object: &NodeObject) -> NodeState {
    if object.out_of_service() {
        NodeState::OutOfService
    } else if object.ready() == Some(true) {
        NodeState::Ready
    } else {
        NodeState::NotReady
    }
}

/// Without Kubernetes: machines by their names in Azure, and no word on the state of a node.
#[derive(Debug)]
pub struct AzureDirectory(pub AzureMachines);

impl NodeDirectory for AzureDirectory {
    fn machine<'a>(
        &'a self,
        op: &'a Op,
        node: &'a NodeName,
    ) -> BoxFuture<'a, Result<Option<VmRef>, PortError>> {
        Box::pin(self.0.machine(op, node))
    }

    fn node<'a>(
        &'a self,
        op: &'a Op,
        machine: &'a VmRef,
    ) -> BoxFuture<'a, Result<Option<NodeName>, PortError>> {
        Box::pin(self.0.node(op, machine))
    }

    fn state<'a>(&'a self, _: &'a NodeName) -> BoxFuture<'a, NodeState> {
        Box::pin(std::future::ready(NodeState::Unknown))
    }
}

/// Whether slots that VolumeAttachments claim are kept free (`check-disk-lun-collision`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// They are.
    Kept,
    /// They are not.
    Ignored,
}

/// What VolumeAttachments say.
#[derive(Debug)]
pub struct Claims {
    kube: Kube,
    driver: String,
    followed: Arc<Followed>,
    slots: Slots,
}

impl Claims {
    /// Begins to follow the attachments of `driver`.
    #[must_use]
    pub fn start(kube: Kube, driver: &str, slots: Slots) -> Self {
        Self {
            followed: Arc::new(Followed::start(&kube, driver)),
            kube,
            driver: driver.to_owned(),
            slots,
        }
    }

    /// What is followed, for others who need it.
    #[must_use]
    pub fn followed(&self) -> Arc<Followed> {
        Arc::clone(&self.followed)
    }

    /// What is in memory says; a claim that is there is enough.
    fn remembered(&self, disk: &DiskUri, node: &NodeName) -> Claim {
        let Some(claims) = self.followed.of_volume(disk.as_str()) else {
            return Claim::Unknown;
        };
        let live = |claim: &azcsi_kube::attachments::Claim| {
            claim.attachment.node == *node && !claim.attachment.deleting
        };
        if claims.iter().any(live) {
            Claim::Live
        } else {
            Claim::None
        }
    }

    /// The server's present word, for each spelling of the disk that a volume may have.
    async fn asked(&self, disk: &DiskUri, node: &NodeName) -> Claim {
        let Some(spellings) = self.followed.spellings(disk.as_str()) else {
            return Claim::Unknown;
        };
        for handle in spellings {
            match self.kube.attachment(&self.driver, &handle, node).await {
                Ok(Some(found)) if !found.deleting => return Claim::Live,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!("claims on {disk}: {}", report(&error));
                    return Claim::Unknown;
                }
            }
        }
        Claim::None
    }
}

impl Attachments for Claims {
    fn claim<'a>(&'a self, disk: &'a DiskUri, node: &'a NodeName) -> BoxFuture<'a, Claim> {
        Box::pin(async move {
            match self.remembered(disk, node) {
                // A watch lags; somebody may have claimed the disk a moment ago.
                Claim::None => self.asked(disk, node).await,
                known => known,
            }
        })
    }

    fn slots<'a>(&'a self, node: &'a NodeName, except: &'a [DiskUri]) -> BoxFuture<'a, LunSet> {
        let mut taken = LunSet::EMPTY;
        if self.slots == Slots::Kept {
            let except: Vec<String> = except.iter().map(DiskUri::folded).collect();
            for claim in self.followed.on_node(node).unwrap_or_default() {
                let other = claim.handle.is_none_or(|handle| !except.contains(&handle));
                if let (true, true, Some(lun)) =
                    (other, claim.attachment.attached, claim.attachment.lun)
                {
                    taken.insert(lun);
                }
            }
        }
        Box::pin(std::future::ready(taken))
    }

    fn groups(&self) -> BoxFuture<'_, Vec<(String, String)>> {
        let group = |handle: &str| {
            let disk: DiskUri = handle.parse().ok()?;
            Some((
                disk.subscription().to_owned(),
                disk.resource_group().to_owned(),
            ))
        };
        let groups = self.followed.of_handles(group).into_iter().collect();
        Box::pin(std::future::ready(groups))
    }
}

/// Without Kubernetes nothing is known about claims.
#[derive(Clone, Copy, Debug)]
pub struct NoClaims;

impl Attachments for NoClaims {
    fn claim<'a>(&'a self, _: &'a DiskUri, _: &'a NodeName) -> BoxFuture<'a, Claim> {
        Box::pin(std::future::ready(Claim::Unknown))
    }

    fn slots<'a>(&'a self, _: &'a NodeName, _: &'a [DiskUri]) -> BoxFuture<'a, LunSet> {
        Box::pin(std::future::ready(LunSet::EMPTY))
    }

    fn groups(&self) -> BoxFuture<'_, Vec<(String, String)>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

#[cfg(test)]
mod tests;
