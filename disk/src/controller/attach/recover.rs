//! What the actor does when a write failed or cannot be believed: look, heal, try again, or answer.

use std::time::Duration;

use azcsi_cloud::{DataDiskChanges, DetachDisk};
use azcsi_types::clock::Deadline;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::op::Op;

use super::batch::{Actor, confirm, fail, listed, requeued};
use super::decide::{Wish, fulfilled};
use super::error::{VmError, VmErrorKind};
use super::queue::Entry;
use super::verify::{VmView, Worth};

/// How often a conflict is retried within one request.
const TRIES: u32 = 5;

impl Actor {
    /// Takes disks off the list of a failed machine that are not there in truth, so that they are
    /// neither reported as attached nor fail every later update.
    pub(super) async fn drop_phantoms(
        &self,
        op: &Op,
        group: &[Entry],
        view: &mut VmView,
    ) -> Result<(), VmError> {
        let phantoms = listed(view, group).map(|disk| DetachDisk {
            disk_id: disk.clone(),
            detach_option: None,
        });
        let changes = DataDiskChanges {
            detach: phantoms.collect(),
            ..DataDiskChanges::default()
        };
        if !changes.is_empty() {
            *view = self.machines.write(op, &self.vm, &changes).await?;
        }
        Ok(())
    }

    /// A write failed. What it did all the same is looked up; the rest is tried again where that
    /// can help, apart from what Azure names as the cause.
    pub(super) async fn after_failure(
        &self,
        op: &Op,
        error: VmError,
        sent: Vec<Entry>,
        groups: &mut Vec<Vec<Entry>>,
    ) {
        self.shared.forget(&self.vm);
        if matches!(error.kind, VmErrorKind::Gone | VmErrorKind::Throttled) {
            return fail(sent, &error);
        }
        // The write's own time may be over; looking gets a little of its own.
        let look = Op::start(
            op.id(),
            Deadline::after(&*self.clock, Duration::from_secs(30)),
        );
        let Ok(view) = self.read(&look, &sent).await else {
            return fail(sent, &error);
        };
        let missing = self.confirm_each(&look, &view, sent).await;
        match error.kind {
            VmErrorKind::Uncertain => fail(missing, &error),
            VmErrorKind::DiskMissing if self.bury(&look, &view, (&error, &missing)).await => {
                groups.push(requeued(missing));
            }
            VmErrorKind::Conflict => self.retry(&error, missing, groups).await,
            _ => self.isolate(&error, missing, groups),
        }
    }

    /// Takes disks off the list that do not exist any more: such an entry, left by an update that never
    /// came to its end, makes Azure refuse every later one. Whether something was taken off.
    async fn bury(&self, op: &Op, view: &VmView, (error, missing): (&VmError, &[Entry])) -> bool {
        if missing.is_empty() || missing.iter().any(|entry| entry.tries >= TRIES) {
            return false;
        }
        let wanted = |disk: &DiskUri| missing.iter().any(|entry| entry.disk == *disk);
        let listed = view.slots.iter().filter_map(|slot| slot.disk.clone());
        let others = listed.filter_map(|id| DiskUri::try_from(id).ok());
        let (named, rest): (Vec<_>, Vec<_>) = others
            .filter(|disk| !wanted(disk))
            .partition(|disk| error.names(disk));
        let mut changes = DataDiskChanges::default();
        for disk in if named.is_empty() { rest } else { named } {
            if matches!(self.machines.exists(op, &disk).await, Ok(false)) {
                tracing::warn!(vm = %self.vm, %disk, "taking a disk off the machine's list that does not exist");
                changes.detach.push(DetachDisk {
                    disk_id: disk,
                    detach_option: None,
                });
            }
        }
        if changes.is_empty() {
            return false;
        }
        let written = self.machines.write(op, &self.vm, &changes).await;
        written.is_ok()
    }

    /// Answers what is fulfilled. Where the list is no fact, a disk that it lacks has to say itself
    /// that it is free.
    async fn confirm_each(&self, op: &Op, view: &VmView, sent: Vec<Entry>) -> Vec<Entry> {
        if view.worth == Worth::Fact {
            return confirm(view, sent);
        }
        let mut missing = Vec::new();
        for entry in sent {
            let Some(lun) = fulfilled(view, &entry.disk, &entry.wish) else {
                missing.push(entry);
                continue;
            };
            let certain = match entry.wish {
                Wish::Attach(_) => true,
                Wish::Detach(_) => {
                    let held = self.machines.holds(op, &self.vm, &entry.disk).await;
                    matches!(held, Ok(false))
                }
            };
            if certain {
                entry.settle(Ok(lun));
            } else {
                missing.push(entry);
            }
        }
        missing
    }

    async fn retry(&self, error: &VmError, missing: Vec<Entry>, groups: &mut Vec<Vec<Entry>>) {
        let tries = missing.iter().map(|entry| entry.tries).max().unwrap_or(0);
        let pause = error
            .retry_after
            .unwrap_or_else(|| Duration::from_secs(1 << tries.min(4)));
        let (now, later): (Vec<_>, Vec<_>) = missing.into_iter().partition(|entry| {
            entry.tries >= TRIES || entry.op.deadline().remaining(&*self.clock) <= pause
        });
        fail(now, error);
        if !later.is_empty() {
            tokio::time::sleep(pause).await;
            groups.push(requeued(later));
        }
    }

    /// One disk can spoil a write for all. The ones that Azure names get the error; if it names
    /// none, the halves are tried apart.
    fn isolate(&self, error: &VmError, missing: Vec<Entry>, groups: &mut Vec<Vec<Entry>>) {
        if missing.len() <= 1 {
            return fail(missing, error);
        }
        let (named, mut rest): (Vec<_>, Vec<_>) = missing
            .into_iter()
            .partition(|entry| error.names(&entry.disk));
        if named.is_empty() {
            // Detaches first: they make room.
            rest.sort_by_key(|entry| matches!(entry.wish, Wish::Attach(_)));
            let second = rest.split_off(rest.len() / 2);
            groups.push(requeued(second));
        } else {
            fail(named, error);
        }
        if !rest.is_empty() {
            groups.push(requeued(rest));
        }
    }
}
