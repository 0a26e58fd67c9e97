//! The actor of one machine: takes what waits, writes once, looks, answers.

use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::DataDiskChanges;
use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::lun::LunSet;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;

use super::decide::{Decision, How, Wish, decide, fulfilled};
use super::error::{AttachError, VmError, VmErrorKind};
use super::machines::Machines;
use super::queue::{Entry, Shared};
use super::state::Event;
use super::verify::{Seen, VmView};

/// For how long remembered slots are good enough to choose a free one: Azure refuses a wrong choice.
const USABLE: Duration = Duration::from_secs(600);
/// For how long they are good enough to answer from without asking Azure. Only requests of one burst
/// profit: another process may have changed the machine since.
const FRESH: Duration = Duration::from_secs(1);
/// How long one write may take. A machine that hangs must not block its other disks for ever.
const WRITE_LIMIT: Duration = Duration::from_secs(200);
/// How often a conflict is retried within one request.
const TRIES: u32 = 5;

/// The only writer of one machine.
#[derive(Debug)]
pub(super) struct Actor {
    vm: VmRef,
    machines: Arc<dyn Machines>,
    clock: Arc<dyn Clock>,
    shared: Arc<Shared>,
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
                self.shared.keep(&self.vm, view.clone());
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

    /// Reads the machine. If its last update failed, its list is only a wish: Azure is made to work
    /// on it again, and then each disk is asked whether it is really there.
    async fn read(&self, op: &Op, group: &[Entry]) -> Result<VmView, VmError> {
        let mut view = self.machines.read(op, &self.vm).await?;
        let listed = |view: &VmView| {
            let is_attach = |entry: &&Entry| matches!(entry.wish, Wish::Attach(_));
            let mut attaches = group.iter().filter(is_attach);
            attaches.any(|entry| matches!(view.find(&entry.disk), Seen::Attached(_)))
        };
        if view.failed && listed(&view) {
            if let Err(error) = self.machines.refresh(op, &self.vm).await {
                tracing::warn!(vm = %self.vm, %error, "a failed machine could not be refreshed");
            }
            view = self.machines.read(op, &self.vm).await?;
            if view.failed {
                self.drop_phantoms(op, group, &mut view).await?;
            }
        }
        if view.failed {
            self.shared.forget(&self.vm);
        } else {
            self.shared.keep(&self.vm, view.clone());
        }
        Ok(view)
    }

    /// Takes disks off the list of a failed machine that are not there in truth, so that they are
    /// neither reported as attached nor fail every later update.
    async fn drop_phantoms(
        &self,
        op: &Op,
        group: &[Entry],
        view: &mut VmView,
    ) -> Result<(), VmError> {
        let mut changes = DataDiskChanges::default();
        for entry in group {
            let listed = matches!(view.find(&entry.disk), Seen::Attached(_));
            if listed && !self.machines.holds(op, &self.vm, &entry.disk).await? {
                changes.detach.push(azcsi_cloud::DetachDisk {
                    disk_id: entry.disk.clone(),
                    detach_option: None,
                });
            }
        }
        if !changes.is_empty() {
            *view = self.machines.write(op, &self.vm, &changes).await?;
        }
        Ok(())
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
                Decision::Leaving if view.failed => {
                    changes.detach.push(azcsi_cloud::DetachDisk {
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

    /// A write failed. What it did all the same is looked up; the rest is tried again where that
    /// can help, apart from what Azure names as the cause.
    async fn after_failure(
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
        let missing = if view.failed {
            self.confirm_each(&look, &view, sent).await
        } else {
            confirm(&view, sent)
        };
        match error.kind {
            VmErrorKind::Uncertain => fail(missing, &error),
            VmErrorKind::Conflict => self.retry(&error, missing, groups).await,
            _ => self.isolate(&error, missing, groups),
        }
    }

    /// Looks at each disk itself, because the machine's list cannot be trusted.
    async fn confirm_each(&self, op: &Op, view: &VmView, sent: Vec<Entry>) -> Vec<Entry> {
        let mut missing = Vec::new();
        for entry in sent {
            let held = self.machines.holds(op, &self.vm, &entry.disk).await;
            match (held, fulfilled(view, &entry.disk, &entry.wish), &entry.wish) {
                (Ok(true), Some(lun), Wish::Attach(_)) => entry.settle(Ok(lun)),
                (Ok(false), Some(lun), Wish::Detach(_)) => entry.settle(Ok(lun)),
                _ => missing.push(entry),
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
fn confirm(view: &VmView, sent: Vec<Entry>) -> Vec<Entry> {
    let mut missing = Vec::new();
    for entry in sent {
        match fulfilled(view, &entry.disk, &entry.wish) {
            Some(lun) => entry.settle(Ok(lun)),
            None => missing.push(entry),
        }
    }
    missing
}

fn requeued(mut entries: Vec<Entry>) -> Vec<Entry> {
    for entry in &mut entries {
        entry.step(Event::Missing);
    }
    entries
}

fn fail(entries: Vec<Entry>, error: &VmError) {
    for entry in entries {
        entry.settle(Err(AttachError::of(error)));
    }
}
