//! The registry of running operations.
//!
//! A sidecar gives up a call after its own timeout and sends it again. So an operation lives in a
//! task of its own with a budget of its own: when the call that started it is gone, the work goes on,
//! and an identical retry joins it and gets its result. A different operation on the same thing is
//! refused. Only retries that are waiting get a result; nothing finished is kept, so memory is bounded
//! by the number of operations that may run at once.

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;
use futures_util::FutureExt as _;
use tokio::sync::watch;
use tracing::Instrument as _;

use crate::inflight::{Busy, GuardKey, Guards, InFlight};
use crate::method::Method;

/// What distinguishes one operation from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    method: Method,
    guards: Vec<GuardKey>,
    fingerprint: String,
}

impl Key {
    pub(crate) fn new(method: Method, mut guards: Vec<GuardKey>, fingerprint: String) -> Self {
        guards.sort();
        guards.dedup();
        Self {
            method,
            guards,
            fingerprint,
        }
    }
}

/// Why an operation was not started, or its result not waited for.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// A different operation holds one of the guards.
    #[error("{holder} is running on {guard}: try again when it has ended")]
    Busy {
        /// The guard.
        guard: GuardKey,
        /// The operation that holds it.
        holder: Method,
    },
    /// The registry is full.
    #[error("{0} operations are running: try again later")]
    Full(usize),
    /// The call's time is up; the operation goes on.
    #[error(
        "{method} is still running after {seconds} s: the same call again waits for its result"
    )]
    StillRunning {
        /// The operation.
        method: Method,
        /// Since it was started.
        seconds: u64,
    },
    /// A question took longer than the call's time.
    #[error("{0} got no answer within the time of the call")]
    Slow(Method),
    /// The operation panicked.
    #[error("{0} failed because of a defect; the log has the details")]
    Panicked(Method),
    /// The process is stopping.
    #[error("{0} was cut off because the plugin is stopping: try again")]
    Stopping(Method),
}

impl Faulty for OperationError {
    fn fault(&self) -> Fault {
        match self {
            Self::Busy { .. } => Fault::InProgress,
            Self::Full(_) | Self::Stopping(_) => Fault::Unavailable,
            Self::StillRunning { .. } | Self::Slow(_) => Fault::Deadline,
            Self::Panicked(_) => Fault::Internal,
        }
    }
}

#[derive(Clone, Debug)]
enum Outcome {
    Done(Arc<dyn Any + Send + Sync>),
    Panicked,
}

#[derive(Debug)]
struct Running {
    result: watch::Receiver<Option<Outcome>>,
    started: Duration,
}

/// The registry. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Operations {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    most: usize,
    inflight: Arc<InFlight>,
    running: Mutex<HashMap<Key, Running>>,
    count: watch::Sender<usize>,
}

/// A place in the queue for the result of one operation.
#[derive(Debug)]
pub(crate) struct Ticket<T> {
    method: Method,
    started: Duration,
    joined: bool,
    result: watch::Receiver<Option<Outcome>>,
    kind: PhantomData<fn() -> T>,
}

impl Operations {
    /// A registry for at most `most` operations at once.
    pub(crate) fn new(clock: Arc<dyn Clock>, most: usize) -> Self {
        let shared = Shared {
            clock,
            most,
            inflight: Arc::default(),
            running: Mutex::default(),
            count: watch::Sender::new(0),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Joins the operation `key` if it is running, else starts it with a `budget`.
    ///
    /// `T` must be the same for every use of a method.
    pub(crate) fn join_or_start<T, W, F>(
        &self,
        key: Key,
        budget: Duration,
        work: W,
    ) -> Result<Ticket<T>, OperationError>
    where
        T: Send + Sync + 'static,
        W: FnOnce(Op) -> F,
        F: Future<Output = T> + Send + 'static,
    {
        let mut running = self.shared.lock();
        let full = running.len() >= self.shared.most;
        let method = key.method;
        let free = match running.entry(key) {
            Entry::Occupied(found) => {
                let Running { result, started } = found.get();
                return Ok(Ticket::new(method, *started, true, result.clone()));
            }
            Entry::Vacant(_) if full => return Err(OperationError::Full(self.shared.most)),
            Entry::Vacant(free) => free,
        };
        let guards = self
            .shared
            .inflight
            .take(&free.key().guards, method)
            .map_err(|Busy { key: guard, holder }| OperationError::Busy { guard, holder })?;
        let (sender, result) = watch::channel(None);
        let started = self.shared.clock.now();
        let entry = Registration {
            shared: Arc::clone(&self.shared),
            key: free.key().clone(),
            guards: Some(guards),
        };
        free.insert(Running {
            result: result.clone(),
            started,
        });
        self.shared.count.send_modify(|count| *count += 1);
        drop(running);
        let deadline = Deadline::after(&*self.shared.clock, budget);
        let op = Op::start(uuid::Uuid::new_v4().to_string(), deadline);
        // In the span of the call, so that the log leads from the call to the operation.
        tracing::debug!(%method, operation = op.id(), "operation started");
        spawn(entry, sender, op.clone(), work(op));
        Ok(Ticket::new(method, started, false, result))
    }

    /// How many operations are running.
    pub(crate) fn running(&self) -> usize {
        *self.shared.count.borrow()
    }

    /// Waits until no operation is running.
    pub(crate) async fn idle(&self) {
        let mut count = self.shared.count.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = count.wait_for(|&count| count == 0).await;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of one operation; dropping it frees the guards and takes it out of the registry.
struct Registration {
    shared: Arc<Shared>,
    key: Key,
    guards: Option<Guards>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Both under one lock: nobody may see the guards free and the operation still there.
        let mut running = self.shared.lock();
        running.remove(&self.key);
        self.guards.take();
        drop(running);
        self.shared.count.send_modify(|count| *count -= 1);
    }
}

fn spawn<T, F>(entry: Registration, sender: watch::Sender<Option<Outcome>>, op: Op, work: F)
where
    T: Send + Sync + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let method = entry.key.method;
    let span = tracing::info_span!(parent: None, "operation", %method, id = op.id());
    let task = async move {
        let outcome = match overseen(&entry, &op, AssertUnwindSafe(work).catch_unwind()).await {
            Ok(value) => Outcome::Done(Arc::new(value)),
            Err(_) => Outcome::Panicked,
        };
        // First free, then tell: who sees the result may start the next operation at once.
        drop(entry);
        sender.send_replace(Some(outcome));
    };
    tokio::spawn(task.instrument(span));
}

/// Waits for the work, and says so once if it exceeds its budget. It is never cut off: what it has
/// begun at Azure or in the kernel would go on without its guard.
async fn overseen<F: Future>(entry: &Registration, op: &Op, work: F) -> F::Output {
    let mut work = std::pin::pin!(work);
    let left = op.deadline().remaining(&*entry.shared.clock);
    match tokio::time::timeout(left, &mut work).await {
        Ok(output) => output,
        Err(_) => {
            tracing::warn!(budget = ?left, "the operation exceeds its budget and keeps its guards");
            work.await
        }
    }
}

impl<T: Send + Sync + 'static> Ticket<T> {
    fn new(
        method: Method,
        started: Duration,
        joined: bool,
        result: watch::Receiver<Option<Outcome>>,
    ) -> Self {
        Self {
            method,
            started,
            joined,
            result,
            kind: PhantomData,
        }
    }

    /// Whether the operation was already running.
    pub(crate) const fn joined(&self) -> bool {
        self.joined
    }

    /// Waits for the result, at most until `deadline`.
    pub(crate) async fn wait(
        mut self,
        clock: &dyn Clock,
        deadline: Deadline,
    ) -> Result<Arc<T>, OperationError> {
        let method = self.method;
        let finished = self.result.wait_for(Option::is_some);
        let outcome = match tokio::time::timeout(deadline.remaining(clock), finished).await {
            Ok(Ok(outcome)) => outcome.clone(),
            Ok(Err(_)) => return Err(OperationError::Stopping(method)),
            Err(_) => {
                let seconds = clock.now().saturating_sub(self.started).as_secs();
                return Err(OperationError::StillRunning { method, seconds });
            }
        };
        match outcome {
            Some(Outcome::Done(value)) => value
                .downcast()
                .map_err(|_| OperationError::Panicked(method)),
            Some(Outcome::Panicked) => Err(OperationError::Panicked(method)),
            None => Err(OperationError::Stopping(method)),
        }
    }
}

#[cfg(test)]
mod tests;
