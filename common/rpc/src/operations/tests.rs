//! Tests of `operations`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Deadline;
use proptest::prelude::*;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Key, OperationError, Operations};
use crate::clock::SystemClock;
use crate::inflight::GuardKey;
use crate::method::Method;

const BUDGET: Duration = Duration::from_secs(60);

fn key(things: &[u8], fingerprint: u8) -> Key {
    let guards = things
        .iter()
        .map(|thing| GuardKey::new("thing", &thing.to_string()));
    Key::new(
        Method::DeleteVolume,
        guards.collect(),
        fingerprint.to_string(),
    )
}

fn operations(most: usize) -> Operations {
    Operations::new(Arc::new(SystemClock::new()), most)
}

#[tokio::test(start_paused = true)]
async fn the_order_of_guards_does_not_matter() {
    let operations = operations(9);
    let first = operations
        .join_or_start(key(&[1, 2], 0), BUDGET, |_| async { 5 })
        .unwrap();
    let again = operations
        .join_or_start(key(&[2, 1, 2], 0), BUDGET, |_| async { 6 })
        .unwrap();
    assert_eq!((first.joined(), again.joined()), (false, true));
    let never = Deadline::NEVER;
    let clock = SystemClock::new();
    assert_eq!(*again.wait(&clock, never).await.unwrap(), 5);
    assert_eq!(*first.wait(&clock, never).await.unwrap(), 5);
}

#[tokio::test(start_paused = true)]
async fn who_sees_the_result_finds_the_guard_free() {
    let operations = operations(9);
    let clock = SystemClock::new();
    for round in 0..100 {
        let ticket = operations
            .join_or_start(key(&[1], round), BUDGET, |_| async {})
            .unwrap();
        ticket.wait(&clock, Deadline::NEVER).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn every_operation_has_an_id_of_its_own() {
    let operations = operations(9);
    let clock = SystemClock::new();
    let mut ids = BTreeSet::new();
    for thing in 0..9 {
        let id = |op: super::Op| async move { op.id().to_owned() };
        let ticket = operations
            .join_or_start(key(&[thing], 0), BUDGET, id)
            .unwrap();
        ids.insert(
            ticket
                .wait(&clock, Deadline::NEVER)
                .await
                .unwrap()
                .to_string(),
        );
    }
    assert_eq!(ids.len(), 9);
    assert!(ids.iter().all(|id| id.len() == 36));
}

#[test]
fn an_operation_cut_off_with_the_runtime_frees_its_guards() {
    let operations = {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let _inside = runtime.enter();
        let operations = operations(9);
        let pending = |_| std::future::pending::<()>();
        let ticket = operations
            .join_or_start(key(&[1], 0), BUDGET, pending)
            .unwrap();
        assert_eq!(operations.running(), 1);
        drop(ticket);
        operations
    };
    assert_eq!(operations.running(), 0);
    assert!(
        operations
            .shared
            .inflight
            .take(&[GuardKey::new("thing", "1")], Method::Probe)
            .is_ok()
    );
}

/// One step of a client or of the world.
#[derive(Clone, Debug)]
enum Step {
    Call { things: Vec<u8>, fingerprint: u8 },
    End { nth: usize, panics: bool },
    GiveUp { nth: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (prop::collection::vec(0..4_u8, 1..3), 0..2_u8)
            .prop_map(|(things, fingerprint)| Step::Call { things, fingerprint }),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(nth, panics)| Step::End { nth, panics }),
        1 => any::<usize>().prop_map(|nth| Step::GiveUp { nth }),
    ];
    prop::collection::vec(step, 1..40)
}

type Call = JoinHandle<Result<Arc<usize>, OperationError>>;

/// The real registry beside the model: which operations run, and who waits for them.
struct Model {
    operations: Operations,
    running: BTreeMap<(Vec<u8>, u8), (usize, oneshot::Sender<bool>)>,
    waiting: Vec<((Vec<u8>, u8), Call)>,
    begun: usize,
}

impl Model {
    fn call(&mut self, mut things: Vec<u8>, fingerprint: u8) {
        things.sort_unstable();
        things.dedup();
        let name = (things, fingerprint);
        let joins = self.running.contains_key(&name);
        let busy = !joins
            && self
                .running
                .keys()
                .any(|(held, _)| held.iter().any(|thing| name.0.contains(thing)));
        let (end, ended) = oneshot::channel::<bool>();
        let serial = self.begun;
        let work = move |_| async move {
            assert!(!ended.await.unwrap(), "planned");
            serial
        };
        match self
            .operations
            .join_or_start(key(&name.0, fingerprint), BUDGET, work)
        {
            Err(error) => assert!(busy && matches!(error, OperationError::Busy { .. })),
            Ok(ticket) => {
                assert!(!busy);
                assert_eq!(ticket.joined(), joins);
                if !joins {
                    self.running.insert(name.clone(), (serial, end));
                    self.begun += 1;
                }
                let clock = SystemClock::new();
                let call = async move { ticket.wait(&clock, Deadline::NEVER).await };
                self.waiting.push((name, tokio::spawn(call)));
            }
        }
    }

    async fn end(&mut self, nth: usize, panics: bool) {
        let Some(name) = self
            .running
            .keys()
            .nth(nth % self.running.len().max(1))
            .cloned()
        else {
            return;
        };
        let (serial, end) = self.running.remove(&name).unwrap();
        end.send(panics).unwrap();
        let (done, left) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|w| w.0 == name);
        self.waiting = left;
        let done: Vec<_> = done;
        for (_, call) in done {
            match call.await.unwrap() {
                Ok(value) => assert!(!panics && *value == serial),
                Err(error) => assert!(panics && matches!(error, OperationError::Panicked(_))),
            }
        }
        // With nobody waiting, nothing else tells that it has ended.
        let left = self.running.len();
        let mut count = self.operations.shared.count.subscribe();
        count.wait_for(|&count| count == left).await.unwrap();
    }

    async fn give_up(&mut self, nth: usize) {
        if !self.waiting.is_empty() {
            let (_, call) = self.waiting.swap_remove(nth % self.waiting.len());
            call.abort();
            let _ = call.await;
        }
    }

    async fn run(steps: Vec<Step>) {
        let operations = operations(99);
        let mut model = Self {
            operations,
            running: BTreeMap::new(),
            waiting: Vec::new(),
            begun: 0,
        };
        for step in steps {
            match step {
                Step::Call {
                    things,
                    fingerprint,
                } => model.call(things, fingerprint),
                Step::End { nth, panics } => model.end(nth, panics).await,
                Step::GiveUp { nth } => model.give_up(nth).await,
            }
            assert_eq!(model.operations.running(), model.running.len());
        }
        while !model.running.is_empty() {
            model.end(0, false).await;
        }
        assert!(model.operations.shared.lock().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_interleaving_agrees_with_the_model(steps in steps()) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(Model::run(steps));
    }
}
