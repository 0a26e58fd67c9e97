//! What waits for the actors, and what is remembered between them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::Lun;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;
use tokio::sync::oneshot;

use super::decide::Wish;
use super::error::AttachError;
use super::state::{AttachState, Event};
use super::verify::VmView;

/// Most machines whose slots are remembered.
const VIEWS: usize = 8192;
/// Most disks of which it is remembered that they do not come off.
const STUCK: usize = 4096;

pub(super) type Answer = Result<Option<Lun>, AttachError>;

/// One wish and who waits for it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) disk: DiskUri,
    pub(super) wish: Wish,
    pub(super) op: Op,
    pub(super) tries: u32,
    state: AttachState,
    reply: Option<oneshot::Sender<Answer>>,
}

impl Entry {
    pub(super) const fn new(
        disk: DiskUri,
        wish: Wish,
        op: Op,
        reply: oneshot::Sender<Answer>,
    ) -> Self {
        Self {
            disk,
            wish,
            op,
            tries: 0,
            state: AttachState::Queued,
            reply: Some(reply),
        }
    }

    /// Moves on. An event that cannot happen is a defect; the state stays, the log says it.
    pub(super) fn step(&mut self, event: Event) {
        match self.state.on(event) {
            Some(next) => self.state = next,
            None => {
                tracing::error!(disk = %self.disk, state = ?self.state, ?event, "event out of turn")
            }
        }
    }

    pub(super) fn settle(mut self, answer: Answer) {
        self.step(if answer.is_ok() {
            Event::Seen
        } else {
            Event::Failed
        });
        if let Some(reply) = self.reply.take() {
            // The waiter may have left; the answer is in Azure all the same.
            let _ = reply.send(answer);
        }
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }
}

/// State that the front door and the actors share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    queues: Mutex<HashMap<String, Vec<Entry>>>,
    views: Mutex<HashMap<String, VmView>>,
    stuck: Mutex<HashMap<(String, String), Duration>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Adds a wish; whether the machine needs an actor now.
    pub(super) fn push(&self, vm: &VmRef, entry: Entry) -> bool {
        let mut queues = lock(&self.queues);
        match queues.get_mut(&vm.folded()) {
            Some(queue) => {
                queue.push(entry);
                false
            }
            None => {
                queues.insert(vm.folded(), vec![entry]);
                true
            }
        }
    }

    /// Takes what waits for a machine. `None` if nothing does: then the machine has no queue any
    /// more, and the actor has to end.
    pub(super) fn take(&self, vm: &VmRef) -> Option<Vec<Entry>> {
        let mut queues = lock(&self.queues);
        let key = vm.folded();
        let queue = queues.get_mut(&key)?;
        if queue.is_empty() {
            queues.remove(&key);
            return None;
        }
        Some(std::mem::take(queue))
    }

    /// Takes away the queue of an actor that did not end by itself; its waiters learn of it.
    pub(super) fn abandon(&self, vm: &VmRef) {
        let abandoned = lock(&self.queues).remove(&vm.folded());
        drop(abandoned);
    }

    pub(super) fn actors(&self) -> usize {
        lock(&self.queues).len()
    }

    pub(super) fn view(&self, vm: &VmRef) -> Option<VmView> {
        lock(&self.views).get(&vm.folded()).cloned()
    }

    pub(super) fn keep(&self, vm: &VmRef, view: VmView) {
        let mut views = lock(&self.views);
        if views.len() >= VIEWS && !views.contains_key(&vm.folded()) {
            forget_oldest(&mut views, |view| view.at);
        }
        views.insert(vm.folded(), view);
    }

    pub(super) fn forget(&self, vm: &VmRef) {
        lock(&self.views).remove(&vm.folded());
    }

    pub(super) fn note_stuck(&self, vm: &VmRef, disk: &DiskUri, now: Duration) {
        let mut stuck = lock(&self.stuck);
        if stuck.len() >= STUCK {
            forget_oldest(&mut stuck, |since| *since);
        }
        stuck.entry((vm.folded(), disk.folded())).or_insert(now);
    }

    pub(super) fn note_free(&self, vm: &VmRef, disk: &DiskUri) {
        lock(&self.stuck).remove(&(vm.folded(), disk.folded()));
    }

    pub(super) fn stuck_for(&self, vm: &VmRef, disk: &DiskUri, now: Duration) -> Option<Duration> {
        let since = *lock(&self.stuck).get(&(vm.folded(), disk.folded()))?;
        Some(now.saturating_sub(since))
    }
}

fn forget_oldest<K: Clone + Eq + std::hash::Hash, V>(
    map: &mut HashMap<K, V>,
    age: impl Fn(&V) -> Duration,
) {
    let oldest = map
        .iter()
        .min_by_key(|(_, value)| age(value))
        .map(|(key, _)| key.clone());
    if let Some(key) = oldest {
        map.remove(&key);
    }
}
