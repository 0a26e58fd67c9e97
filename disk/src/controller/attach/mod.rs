//! The attach engine: one writer for each machine.
//!
//! | file | holds |
//! |---|---|
//! | [`state`] | the life of one wish |
//! | [`decide`] | what a wish means for a machine as it is |
//! | `batch` | the actor of one machine: takes what waits, writes once, looks, answers |
//! | `recover` | what it does when a write failed or cannot be believed |
//! | [`verify`] | what Azure reports about a machine's disks |
//! | [`machines`] | the calls to Azure |
//! | [`dangling`], [`force`], [`owner`] | disks that are elsewhere or do not come off |
//!
//! Requests that arrive while a write is under way form the next write; a lone request is written
//! at once. An actor ends when nothing waits for it, so nothing grows with the number of machines
//! ever seen, except for a bounded cache of their slots.

mod batch;
pub mod dangling;
pub mod decide;
pub mod error;
pub mod force;
pub mod machines;
pub mod owner;
mod queue;
mod recover;
pub mod state;
#[cfg(test)]
mod tests;
pub mod verify;

use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::Lun;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;
use tokio::sync::oneshot;

use batch::Actor;
use decide::{AttachSpec, How, Wish};
use error::AttachError;
use machines::Machines;
use queue::{Entry, Shared};

/// The front door: hands each wish to the actor of its machine.
#[derive(Clone, Debug)]
pub struct AttachEngine {
    machines: Arc<dyn Machines>,
    clock: Arc<dyn Clock>,
    shared: Arc<Shared>,
}

impl AttachEngine {
    /// An engine over these machines.
    #[must_use]
    pub fn new(machines: Arc<dyn Machines>, clock: Arc<dyn Clock>) -> Self {
        Self {
            machines,
            clock,
            shared: Arc::new(Shared::default()),
        }
    }

    /// Attaches a disk; the slot that Azure reported.
    ///
    /// # Errors
    /// See [`AttachError`]. If the caller goes away before anything was sent, nothing is sent.
    pub async fn attach(&self, op: &Op, vm: &VmRef, spec: AttachSpec) -> Result<Lun, AttachError> {
        let disk = spec.disk.clone();
        let lun = self.submit(op, vm, disk, Wish::Attach(spec)).await?;
        lun.ok_or_else(|| AttachError::Unproven { vm: vm.clone() })
    }

    /// Detaches a disk. A disk that is not on the machine counts as detached.
    ///
    /// # Errors
    /// See [`AttachError`]; a machine that is gone says nothing about the disk.
    pub async fn detach(
        &self,
        op: &Op,
        vm: &VmRef,
        disk: &DiskUri,
        how: How,
    ) -> Result<(), AttachError> {
        let done = self.submit(op, vm, disk.clone(), Wish::Detach(how)).await;
        match &done {
            Err(error) if error.is_stuck() => {
                self.shared.note_stuck(vm, disk, self.clock.now());
            }
            Err(_) => {}
            Ok(_) => self.shared.note_free(vm, disk),
        }
        done.map(drop)
    }

    /// For how long a disk has not come off a machine, if it was tried.
    #[must_use]
    pub fn stuck_for(&self, vm: &VmRef, disk: &DiskUri) -> Option<Duration> {
        self.shared.stuck_for(vm, disk, self.clock.now())
    }

    /// How many machines have an actor at the moment.
    #[must_use]
    pub fn actors(&self) -> usize {
        self.shared.actors()
    }

    async fn submit(
        &self,
        op: &Op,
        vm: &VmRef,
        disk: DiskUri,
        wish: Wish,
    ) -> Result<Option<Lun>, AttachError> {
        let (reply, answer) = oneshot::channel();
        let entry = Entry::new(disk, wish, op.clone(), reply);
        if self.shared.push(vm, entry) {
            let actor = Actor::new(
                vm.clone(),
                Arc::clone(&self.machines),
                Arc::clone(&self.clock),
                Arc::clone(&self.shared),
            );
            tokio::spawn(actor.run());
        }
        let late = || AttachError::Late { vm: vm.clone() };
        let remaining = op.deadline().remaining(&*self.clock);
        match tokio::time::timeout(remaining, answer).await {
            Ok(Ok(result)) => result,
            // The actor ended without an answer, or time ran out: what it did is not known.
            Ok(Err(_)) | Err(_) => Err(late()),
        }
    }
}
