//! The calls of the engine to Azure, as a port: one implementation for Azure, a scripted one in tests.

use std::fmt::Debug;
use std::sync::Arc;

use azcsi_cloud::{ArmError, Azure, DataDiskChanges};
use azcsi_types::clock::Clock;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;
use futures_util::future::BoxFuture;

use super::error::VmError;
use super::verify::VmView;

/// Reads and updates machines.
pub trait Machines: Debug + Send + Sync + 'static {
    /// The machine as Azure has it.
    fn read<'a>(&'a self, op: &'a Op, vm: &'a VmRef) -> BoxFuture<'a, Result<VmView, VmError>>;

    /// Attaches and detaches disks, leaving all others alone; the machine afterwards.
    fn write<'a>(
        &'a self,
        op: &'a Op,
        vm: &'a VmRef,
        changes: &'a DataDiskChanges,
    ) -> BoxFuture<'a, Result<VmView, VmError>>;

    /// Makes Azure work on the machine's model again.
    fn refresh<'a>(&'a self, op: &'a Op, vm: &'a VmRef) -> BoxFuture<'a, Result<(), VmError>>;

    /// Whether the disk itself says that the machine holds it.
    fn holds<'a>(
        &'a self,
        op: &'a Op,
        vm: &'a VmRef,
        disk: &'a DiskUri,
    ) -> BoxFuture<'a, Result<bool, VmError>>;

    /// Whether the disk exists. Only the plain answer of its provider that it does not counts.
    fn exists<'a>(&'a self, op: &'a Op, disk: &'a DiskUri)
    -> BoxFuture<'a, Result<bool, ArmError>>;
}

/// Machines of Azure.
#[derive(Clone, Debug)]
pub struct AzureMachines {
    azure: Azure,
    clock: Arc<dyn Clock>,
}

impl AzureMachines {
    /// The machines that `azure` knows.
    #[must_use]
    pub fn new(azure: Azure, clock: Arc<dyn Clock>) -> Self {
        Self { azure, clock }
    }

    fn is_stack(&self) -> bool {
        self.azure.environment().api_versions.is_stack()
    }

    async fn change(
        &self,
        op: &Op,
        vm: &VmRef,
        changes: &DataDiskChanges,
    ) -> Result<VmView, ArmError> {
        if self.is_stack() {
            // That cloud knows neither the action nor a disk that is marked as leaving.
            return self.model(op, vm, changes).await;
        }
        match self.azure.vms().attach_detach(op, vm, changes).await {
            Ok(profile) => Ok(VmView::of_profile(&profile, self.clock.now())),
            Err(error) if error.is_action_unavailable() => self.model(op, vm, changes).await,
            Err(error) => Err(error),
        }
    }

    /// The way of clouds and roles without the action: the complete list, read just before and
    /// guarded by its version, so that nobody else's disk is lost.
    async fn model(
        &self,
        op: &Op,
        vm: &VmRef,
        changes: &DataDiskChanges,
    ) -> Result<VmView, ArmError> {
        let vms = self.azure.vms();
        let before = vms.get(op, vm).await?;
        let mut list = before.data_disks().clone();
        for disk in &changes.detach {
            if self.is_stack() {
                list.leave_out(&disk.disk_id);
            } else {
                list.detach(disk);
            }
        }
        for disk in &changes.attach {
            let slot = disk.lun.filter(|lun| !list.luns().contains(*lun));
            if let Some(lun) = slot.or_else(|| list.luns().lowest_free()) {
                list.attach(disk, lun);
            }
        }
        if list == *before.data_disks() {
            return Ok(VmView::of_vm(&before, self.clock.now()));
        }
        let after = vms
            .update_data_disks(op, vm, &list, before.etag.as_ref())
            .await?;
        Ok(VmView::of_vm(&after, self.clock.now()))
    }
}

impl Machines for AzureMachines {
    fn read<'a>(&'a self, op: &'a Op, vm: &'a VmRef) -> BoxFuture<'a, Result<VmView, VmError>> {
        Box::pin(async move {
            let read = self.azure.vms().get(op, vm).await;
            read.map(|read| VmView::of_vm(&read, self.clock.now()))
                .map_err(|error| VmError::new(vm, error))
        })
    }

    fn write<'a>(
        &'a self,
        op: &'a Op,
        vm: &'a VmRef,
        changes: &'a DataDiskChanges,
    ) -> BoxFuture<'a, Result<VmView, VmError>> {
        Box::pin(async move {
            self.change(op, vm, changes)
                .await
                .map_err(|error| VmError::new(vm, error))
        })
    }

    fn refresh<'a>(&'a self, op: &'a Op, vm: &'a VmRef) -> BoxFuture<'a, Result<(), VmError>> {
        Box::pin(async move {
            let done = self.azure.vms().refresh(op, vm).await;
            done.map_err(|error| VmError::new(vm, error))
        })
    }

    fn holds<'a>(
        &'a self,
        op: &'a Op,
        vm: &'a VmRef,
        disk: &'a DiskUri,
    ) -> BoxFuture<'a, Result<bool, VmError>> {
        Box::pin(async move {
            match self.azure.disks().get(op, disk).await {
                Ok(read) => Ok(read.is_held_by(vm)),
                Err(error) if error.is_not_found() => Ok(false),
                Err(error) => Err(VmError::new(vm, error)),
            }
        })
    }

    fn exists<'a>(
        &'a self,
        op: &'a Op,
        disk: &'a DiskUri,
    ) -> BoxFuture<'a, Result<bool, ArmError>> {
        Box::pin(async move {
            match self.azure.disks().get(op, disk).await {
                Ok(_) => Ok(true),
                Err(error) if error.is_not_found() => Ok(false),
                Err(error) => Err(error),
            }
        })
    }
}

#[cfg(test)]
mod tests;
