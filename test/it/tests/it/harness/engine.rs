//! The checks, for any driver: a clean run, and then each of its requests hurt in each way.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use azcsi_sim::Sim;
use azcsi_sim::faults::{Effect, Fault, Script};
use futures_util::future::{Either, select};
use tonic::{Code, Status};

use super::Report;
use super::inventory::{Inventory, identities};
use super::mishap::{Hope, Hurts as _, effects, is_allowed, is_final};
use crate::line::{Cut, Line};

/// Tries of a client when nothing goes wrong any more, and the pause between them.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_secs(30);
/// Longer than anything that was slow.
const SETTLED: Duration = Duration::from_secs(600);
/// Requests of a call that meets a fault and its retries: so many times those of a clean run, and so
/// many more for waiting.
const REQUESTS: (usize, usize) = (4, 60);
/// Looks at an operation that never ends: one in five seconds until the deadline of the call.
const STUCK: usize = 400;

/// An operation of a driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation<R> {
    pub(super) rpc: R,
    /// Codes that CSI names for it besides the common ones.
    pub(super) own: &'static [Code],
    /// Whether it takes something away. Then a final code is no promise that all is still there.
    pub(super) takes: bool,
}

/// One driver, in a world of its own.
pub(super) trait Driver: Sized {
    type Rpc: Copy + Debug + 'static;

    const OPERATIONS: &'static [Operation<Self::Rpc>];

    /// A world in which the operation has something to do, and the id of what it is done to.
    async fn ready(rpc: Self::Rpc) -> (Self, String);
    /// Another process over the same Azure.
    fn restarted(&self) -> Self;
    /// Does the operation; the answer is without names that are drawn.
    async fn call(&self, rpc: Self::Rpc, subject: &str) -> Result<String, Status>;
    fn sim(&self) -> &Sim;
    fn line(&self) -> &Line;
    /// What is held outside Azure.
    fn elsewhere(&self) -> Vec<String>;
    /// Whether what was asked for is there with all its contents.
    async fn whole(&self, rpc: Self::Rpc) -> Result<(), String>;
}

/// What a run is when nothing goes wrong.
struct Clean {
    after: Inventory,
    /// The classes of its requests.
    requests: Vec<String>,
    answer: String,
}

/// What a request is when it only looks whether something has ended.
const POLL: &str = "GET operation";

impl Clean {
    /// The requests that are hurt: of polls in a row the first two and the last, since those between
    /// find the same state on both sides.
    fn hurt(&self) -> Vec<(usize, &str)> {
        let class = |at: usize| self.requests.get(at).map(String::as_str);
        let poll = |at: Option<usize>| at.and_then(class) == Some(POLL);
        let between = |at: &usize| {
            let before = (1..=2).all(|back| poll(at.checked_sub(back)));
            poll(Some(*at)) && before && poll(Some(at + 1))
        };
        let hurt = (0..self.requests.len()).filter(|at| !between(at));
        hurt.filter_map(|at| Some((at, class(at)?))).collect()
    }
}

/// A world with an operation to be done in it.
struct Play<D: Driver> {
    world: D,
    operation: Operation<D::Rpc>,
    subject: String,
    before: Inventory,
    identities: BTreeMap<String, String>,
    /// The last request of the set-up.
    first: u64,
}

fn inventory<D: Driver>(world: &D) -> Inventory {
    Inventory::of(world.sim(), world.elsewhere())
}

impl<D: Driver> Play<D> {
    async fn ready(operation: Operation<D::Rpc>) -> Self {
        let (world, subject) = D::ready(operation.rpc).await;
        Self {
            before: inventory(&world),
            identities: identities(world.sim()),
            first: world.sim().requests(0).last().map_or(0, |one| one.number),
            world,
            operation,
            subject,
        }
    }

    async fn call(&self) -> Result<String, Status> {
        self.world.call(self.operation.rpc, &self.subject).await
    }

    fn requests(&self) -> Vec<String> {
        let seen = self.world.sim().requests(self.first).into_iter();
        seen.map(|request| request.class).collect()
    }

    async fn clean(operation: Operation<D::Rpc>) -> Clean {
        let play = Self::ready(operation).await;
        let answer = play.call().await;
        let answer = answer.unwrap_or_else(|status| panic!("{:?}: {status:?}", operation.rpc));
        let requests = play.requests();
        tokio::time::sleep(SETTLED).await;
        let whole = play.world.whole(operation.rpc).await;
        assert_eq!(whole, Ok(()), "{:?}", operation.rpc);
        Clean {
            after: inventory(&play.world),
            requests,
            answer,
        }
    }

    /// A code that CSI allows, and a final one only when nothing was done.
    async fn honest(&self, status: &Status) -> Result<(), String> {
        if !is_allowed(status.code(), self.operation.own) {
            return Err(format!("CSI does not allow {status:?}"));
        }
        if self.operation.takes || !is_final(status.code()) {
            return Ok(());
        }
        tokio::time::sleep(SETTLED).await;
        match inventory(&self.world).differs(&self.before) {
            Some(more) => Err(format!("{more}, and yet {status:?}")),
            None => Ok(()),
        }
    }

    /// Repeats the call until it is done, and looks at the world then.
    async fn converges(&self, clean: &Clean, hope: Hope) -> Result<(), String> {
        let mut last = None;
        for _ in 0..TRIES {
            match self.call().await {
                Ok(answer) => return self.same(clean, &answer, hope).await,
                Err(gone) if hope == Hope::DoneOrGone && gone.code() == Code::NotFound => {
                    return self.unharmed();
                }
                Err(status) => last = Some(status),
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("no retry gets there: {last:?}"))
    }

    fn unharmed(&self) -> Result<(), String> {
        let violations = self.world.sim().violations();
        if violations.is_empty() {
            return Ok(());
        }
        Err(format!("{violations:?}"))
    }

    async fn same(&self, clean: &Clean, answer: &str, hope: Hope) -> Result<(), String> {
        self.bounded(clean, hope)?;
        tokio::time::sleep(SETTLED).await;
        self.unharmed()?;
        if hope == Hope::DoneOrGone {
            return Ok(());
        }
        if answer != clean.answer {
            return Err(format!("answered {answer}, not {}", clean.answer));
        }
        if let Some(difference) = inventory(&self.world).differs(&clean.after) {
            return Err(format!("compared with a clean run: {difference}"));
        }
        for (id, identity) in identities(self.world.sim()) {
            if self.identities.get(&id).is_some_and(|old| *old != identity) {
                return Err(format!("{id} was replaced"));
            }
        }
        self.world.whole(self.operation.rpc).await
    }

    fn bounded(&self, clean: &Clean, hope: Hope) -> Result<(), String> {
        let (used, usual) = (self.requests().len(), clean.requests.len());
        let most = match hope {
            Hope::Stuck => STUCK,
            Hope::Done | Hope::DoneOrGone => usual * REQUESTS.0 + REQUESTS.1,
        };
        if used > most {
            return Err(format!("{used} requests where {usual} are usual"));
        }
        Ok(())
    }

    async fn crash(mut self, clean: &Clean, at: (usize, Cut)) -> Result<(), String> {
        self.world.line().cut_at(at.0, at.1);
        let line = self.world.line().clone();
        let ended = match select(pin!(self.call()), pin!(line.until_cut())).await {
            Either::Left((answer, _)) => Some(answer),
            Either::Right(_) => None,
        };
        if let Some(answer) = ended {
            return Err(format!("the request is not made again: {answer:?}"));
        }
        self.world = self.world.restarted();
        self.converges(clean, Hope::Done).await
    }

    async fn fault(self, clean: &Clean, (at, effect): (usize, Effect)) -> Result<(), String> {
        let hope = Hope::after(&effect);
        let fault = Fault {
            method: None,
            kind: None,
            name: None,
            skip: u32::try_from(at).unwrap(),
            times: Some(1),
            effect,
        };
        self.world.sim().inject(Script {
            faults: vec![fault],
        });
        let first = self.call().await;
        self.world.sim().clear_faults();
        match (&first, hope) {
            (Err(status), Hope::Stuck) if is_allowed(status.code(), self.operation.own) => {
                return self.bounded(clean, hope);
            }
            (Err(status), _) => self.honest(status).await?,
            (Ok(answer), _) => return self.same(clean, answer, hope).await,
        }
        self.converges(clean, hope).await
    }
}

/// In a runtime of its own, under paused time; whatever still runs in it ends with it, as with a
/// process that is killed.
fn alone<T>(play: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(play)
}

/// The controller is killed at every request of every operation, on both sides of Azure's work.
pub(super) fn crashes<D: Driver>(wanted: impl Fn(D::Rpc) -> bool) -> Report {
    let mut report = Report::default();
    for operation in D::OPERATIONS.iter().filter(|one| wanted(one.rpc)) {
        let clean = alone(Play::<D>::clean(*operation));
        for (at, class) in clean.hurt() {
            for cut in [Cut::BeforeSending, Cut::BeforeAnswer] {
                let result = alone(async {
                    let play = Play::<D>::ready(*operation).await;
                    play.crash(&clean, (at, cut)).await
                });
                let what = format!("{:?}, request {at} ({class}), {cut:?}", operation.rpc);
                report.add(&what, result);
            }
        }
    }
    report
}

/// Every fault at every request of every operation, or one of `every` of these checks.
pub(super) fn faults<D: Driver>(every: usize, wanted: impl Fn(D::Rpc) -> bool) -> Report {
    let mut report = Report::default();
    let mut number = 0;
    for operation in D::OPERATIONS.iter().filter(|one| wanted(one.rpc)) {
        let clean = alone(Play::<D>::clean(*operation));
        for (at, class) in clean.hurt() {
            for effect in effects().into_iter().filter(|one| one.is_of(class)) {
                number += 1;
                if number % every != 0 {
                    continue;
                }
                let what = format!("{:?}, request {at} ({class}), {effect:?}", operation.rpc);
                let result = alone(async {
                    let play = Play::<D>::ready(*operation).await;
                    play.fault(&clean, (at, effect)).await
                });
                report.add(&what, result);
            }
        }
    }
    report
}
