//! The actor of one machine: takes what waits, writes once, looks, answers.

use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::{DataDiskChanges, DetachDisk};
use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::LunSet;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;

use super::decide::{Decision, How, Wish, decide, fulfilled};
use super::error::{AttachError, VmError};
use super::machines::Machines;
use super::queue::{Entry, Shared};
use super::state::Event;
use super::verify::{Seen, VmView, Worth};

/// For how long remembered slots are good enough to choose a free one: Azure refuses a wrong choice.
const USABLE: Duration = Duration::from_secs(600);
/// For how long they are good enough to answer from without asking Azure. Only requests of one burst
/// profit: another process may have changed the machine since.
const FRESH: Duration = Duration::from_secs(1);
/// How long one write may take. A machine that hangs must not block its other disks for ever.
const WRITE_LIMIT: Duration = Duration::from_secs(200);

/// The only writer of one machine.
#[derive(Debug)]
pub(super) struct Actor {
    pub(super) vm: VmRef,
    pub(super) machines: Arc<dyn Machines>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) shared: Arc<Shared>,
}

/// Wishes of one write and what it does for them.
struct Batch {
    sent: Vec<Entry>,
    changes: DataDiskChanges,
}

/// Takes the queue away if the actor ends in a panic, so that its machine is not blocked.
struct Watch<'a>(&'a Actor);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.shared.abandon(&self.0.vm);
        }
    }
}

impl Actor {
    pub(super) fn new(
        vm: VmRef,
        machines: Arc<dyn Machines>,
        clock: Arc<dyn Clock>,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            vm,
            machines,
            clock,
            shared,
        }
    }

    pub(super) async fn run(self) {
        let watch = Watch(&self);
        loop {
            // Lets requests of the same moment join; costs no time.
            tokio::task::yield_now().await;
            let Some(entries) = self.shared.take(&self.vm) else {
                break;
            };
            let mut groups = vec![entries];
            while let Some(group) = groups.pop() {
                let (now, later) = once_each(group);
                if !later.is_empty() {
                    groups.push(later);
                }
                self.settle(now, &mut groups).await;
            }
        }
        drop(watch);
    }

    /// One round: plan, write, look, answer. What has to be tried again goes to `groups`.
    async fn settle(&self, group: Vec<Entry>, groups: &mut Vec<Vec<Entry>>) {
        let group = wanted(group);
        let Some(op) = self.op(&group) else {
            return;
        };
        let view = match self.view(&op, &group).await {
            Ok(view) => view,
            Err(error) => {
                self.shared.forget(&self.vm);
                return fail(group, &error);
            }
        };
        let Some(mut batch) = self.plan(&view, group) else {
            return;
        };
        let written = self.machines.write(&op, &self.vm, &batch.changes).await;
        for entry in &mut batch.sent {
            entry.step(Event::Ended);
            entry.tries += 1;
        }
        match written {
            Ok(view) => {
                self.remember(&view);
                let missing = confirm(&view, batch.sent);
                self.again_or_fail(missing, groups);
            }
            Err(error) => Box::pin(self.after_failure(&op, error, batch.sent, groups)).await,
        }
    }

    /// An operation that lasts as long as any of its waiters, within the limit of one write.
    fn op(&self, group: &[Entry]) -> Option<Op> {
        let longest = group.iter().max_by_key(|entry| entry.op.deadline())?;
        Some(
            longest
                .op
                .within(Deadline::after(&*self.clock, WRITE_LIMIT)),
        )
    }

    /// The machine as far as it has to be known: from memory where a wrong memory does no harm.
    async fn view(&self, op: &Op, group: &[Entry]) -> Result<VmView, VmError> {
        let now = self.clock.now();
        if let Some(view) = self.shared.view(&self.vm) {
            let age = now.saturating_sub(view.at);
            let answers = group.iter().any(|entry| {
                let decision = decide(&view, LunSet::EMPTY, &entry.disk, &entry.wish);
                !matches!(decision, Decision::Attach(_) | Decision::Detach(_))
            });
            if age < if answers { FRESH } else { USABLE } {
                return Ok(view);
            }
        }
        self.read(op, group).await
    }

    /// Reads the machine. If its last update failed, Azure is made to work on its list again. A disk
    /// that is asked for and only listed says itself whether it is there.
    pub(super) async fn read(&self, op: &Op, group: &[Entry]) -> Result<VmView, VmError> {
        let mut view = self.machines.read(op, &self.vm).await?;
        if view.worth == Worth::Failed && listed(&view, group).next().is_some() {
            if let Err(error) = self.machines.refresh(op, &self.vm).await {
                tracing::warn!(vm = %self.vm, %error, "a failed machine could not be refreshed");
            }
            view = self.machines.read(op, &self.vm).await?;
        }
        let doubtful: Vec<DiskUri> = listed(&view, group).cloned().collect();
        for disk in &doubtful {
            if self.machines.holds(op, &self.vm, disk).await? {
                view.prove(disk);
            }
        }
        if view.worth == Worth::Failed {
            self.drop_phantoms(op, group, &mut view).await?;
        }
        self.remember(&view);
        Ok(view)
    }

    /// Keeps a view that is a fact; forgets what was known if it is none.
    pub(super) fn remember(&self, view: &VmView) {
        if view.worth == Worth::Fact {
            self.shared.keep(&self.vm, view.clone());
        } else {
            self.shared.forget(&self.vm);
        }
    }

    /// Answers what needs no write and puts the rest into one.
    fn plan(&self, view: &VmView, group: Vec<Entry>) -> Option<Batch> {
        let mut taken = LunSet::EMPTY;
        let mut sent = Vec::new();
        let mut changes = DataDiskChanges::default();
        for mut entry in group {
            match decide(view, taken, &entry.disk, &entry.wish) {
                Decision::Done(lun) => {
                    entry.settle(Ok(lun));
                    continue;
                }
                // An update that failed left it half-way out, and nobody else ends that: it is taken
                // out now and attached with the next write.
                Decision::Leaving if view.worth == Worth::Failed => {
                    changes.detach.push(DetachDisk {
                        disk_id: entry.disk.clone(),
                        detach_option: None,
                    });
                }
                Decision::Leaving => {
                    self.shared.forget(&self.vm);
                    entry.settle(Err(AttachError::Leaving));
                    continue;
                }
                Decision::Full => {
                    self.shared.forget(&self.vm);
                    let vm = self.vm.clone();
                    entry.settle(Err(AttachError::Full { vm, most: None }));
                    continue;
                }
                Decision::Attach(disk) => {
                    taken = taken.union(disk.lun.into_iter().collect());
                    changes.attach.push(disk);
                }
                Decision::Detach(disk) => changes.detach.push(disk),
            }
            entry.step(Event::Sent);
            sent.push(entry);
        }
        (!sent.is_empty()).then_some(Batch { sent, changes })
    }

    /// After a write that succeeded: what Azure does not report is tried once more.
    fn again_or_fail(&self, missing: Vec<Entry>, groups: &mut Vec<Vec<Entry>>) {
        let (again, lost): (Vec<_>, Vec<_>) = missing
            .into_iter()
            .partition(|entry| entry.tries < 2 && !matches!(entry.wish, Wish::Detach(How::Forced)));
        for entry in lost {
            let vm = self.vm.clone();
            entry.settle(Err(AttachError::Unproven { vm }));
        }
        if !again.is_empty() {
            self.shared.forget(&self.vm);
            groups.push(requeued(again));
        }
    }
}

/// The disks to attach that a list names without being a proof.
pub(super) fn listed<'a>(view: &VmView, group: &'a [Entry]) -> impl Iterator<Item = &'a DiskUri> {
    let doubtful = |entry: &&Entry| {
        let wished = matches!(entry.wish, Wish::Attach(_));
        wished && matches!(view.find(&entry.disk), Seen::Listed(_))
    };
    group.iter().filter(doubtful).map(|entry| &entry.disk)
}

/// Without the wishes of waiters that have gone away.
fn wanted(group: Vec<Entry>) -> Vec<Entry> {
    group
        .into_iter()
        .filter_map(|mut entry| {
            if entry.is_withdrawn() {
                entry.step(Event::Withdrawn);
                return None;
            }
            Some(entry)
        })
        .collect()
}

/// At most one wish for each disk, the first; the others have to wait for its end.
fn once_each(group: Vec<Entry>) -> (Vec<Entry>, Vec<Entry>) {
    let mut now: Vec<Entry> = Vec::with_capacity(group.len());
    let mut later = Vec::new();
    for entry in group {
        if now.iter().any(|other| other.disk == entry.disk) {
            later.push(entry);
        } else {
            now.push(entry);
        }
    }
    (now, later)
}

/// Answers the wishes that the report fulfils; returns the others.
pub(super) fn confirm(view: &VmView, sent: Vec<Entry>) -> Vec<Entry> {
    let mut missing = Vec::new();
    for entry in sent {
        match fulfilled(view, &entry.disk, &entry.wish) {
            Some(lun) => entry.settle(Ok(lun)),
            None => missing.push(entry),
        }
    }
    missing
}

pub(super) fn requeued(mut entries: Vec<Entry>) -> Vec<Entry> {
    for entry in &mut entries {
        entry.step(Event::Missing);
    }
    entries
}

pub(super) fn fail(entries: Vec<Entry>, error: &VmError) {
    for entry in entries {
        entry.settle(Err(AttachError::of(error)));
    }
}
