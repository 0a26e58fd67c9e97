//! The simulator as a service: one lock around one world, a clock, and requests that go through
//! faults, the front door, the buckets and a handler.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use azcsi_types::clock::Clock;
use bytes::Bytes;
use http::{Request, Response};

use crate::answer::{self, Sent};
use crate::faults::Script;
use crate::files::Memory;
use crate::files::contents::Contents;
use crate::front_door::Auth;
use crate::lro;
use crate::quotas::Quotas;
use crate::requests::Logged;
use crate::stamp::millis;
use crate::state::{Casing, HostLink, Knobs, Profile, State};
use crate::violations::Violation;
use crate::world::{World, key, leaf};

/// How a world is simulated.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// The same seed and the same requests give the same answers.
    pub seed: u64,
    /// Times and limits.
    pub profile: Profile,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// How much faster than tokio's the clock runs; answers are held back by so much less. At 0
    /// they are not held back.
    pub time_scale: f64,
    /// Who may ask.
    pub auth: Auth,
    /// Spelling of ids in answers.
    pub casing: Casing,
    /// Items on a page of a list.
    pub page_size: usize,
    /// How long a disk shows its old owner after a change.
    pub managed_by_lag: Duration,
    /// How much a subscription may hold; no limits unless they are asked for.
    pub quotas: Quotas,
    /// Secrets that must not stand in a log, besides the keys of accounts and tokens.
    pub secrets: Vec<String>,
    /// Told of devices.
    pub link: Option<Arc<dyn HostLink>>,
    /// What shares hold; memory when left out.
    pub contents: Option<Arc<dyn Contents>>,
    /// Whether the date of a signed request must be at most 15 minutes off.
    pub checks_dates: bool,
}

impl SimOptions {
    /// Instant, with everything else as it is most of the time.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            seed: 1,
            profile: Profile::Instant,
            clock,
            time_scale: 1.0,
            auth: Auth::default(),
            casing: Casing::default(),
            page_size: 50,
            managed_by_lag: Duration::ZERO,
            quotas: Quotas::default(),
            secrets: Vec::new(),
            link: None,
            contents: None,
            checks_dates: true,
        }
    }
}

/// The connection was cut without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the simulator cut the connection")]
pub struct Disconnected;

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    time_scale: f64,
    auth: Auth,
}

/// One simulated Azure. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Sim(Arc<Shared>);

impl Sim {
    /// A simulator of this world.
    #[must_use]
    pub fn new(world: World, options: SimOptions) -> Self {
        let knobs = Knobs {
            seed: options.seed,
            profile: options.profile,
            casing: options.casing,
            page_size: options.page_size,
            managed_by_lag: options.managed_by_lag,
            link: options.link,
            quotas: options.quotas,
            secrets: options.secrets,
            checks_dates: options.checks_dates,
        };
        let contents = options
            .contents
            .unwrap_or_else(|| Arc::new(Memory::default()));
        Self(Arc::new(Shared {
            state: Mutex::new(State::new(world, knobs, contents)),
            clock: options.clock,
            time_scale: options.time_scale,
            auth: options.auth,
        }))
    }

    /// The state as it is now: everything that is due has happened.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now = self.0.clock.now();
        state.wall_ms = millis(self.0.clock.wall());
        lro::settle(&mut state);
        state
    }

    /// Lets everything happen that is due, and gives a number that changes with the world.
    pub fn settle(&self) -> u64 {
        self.state().revision
    }

    /// A copy of the world.
    #[must_use]
    pub fn world(&self) -> World {
        self.state().world.clone()
    }

    /// Changes the world from outside, as an operator or an accident would.
    pub fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let mut state = self.state();
        state.revision += 1;
        change(&mut state.world)
    }

    /// Adds faults.
    pub fn inject(&self, script: Script) {
        self.state().faults.set(script);
    }

    /// Takes all faults away.
    pub fn clear_faults(&self) {
        self.state().faults.clear();
    }

    /// Requests after this number.
    #[must_use]
    pub fn requests(&self, since: u64) -> Vec<Logged> {
        self.state().requests.since(since)
    }

    /// What must stay empty.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let state = self.state();
        state
            .violations
            .all(&state.world, &state.released, state.now)
    }

    /// From now on a delete of this disk, named by its id or its name, is a violation. `false` when
    /// there is no such disk.
    pub fn guard(&self, disk: &str) -> bool {
        let mut state = self.state();
        let Some(id) = unique_id(&state.world, disk) else {
            return false;
        };
        let found = state.world.disks.iter();
        let found = found.filter(|(_, one)| one.unique_id == id);
        let Some(at) = found.map(|(key, _)| key.clone()).next() else {
            return false;
        };
        state.revision += 1;
        if let Some(disk) = state.world.disks.get_mut(&at) {
            disk.guarded = true;
        }
        true
    }

    /// Something was written through a disk, which is named by its id or its name. `false` when
    /// there is no such disk.
    pub fn wrote(&self, disk: &str, mark: &str) -> bool {
        let mut state = self.state();
        let found = unique_id(&state.world, disk);
        if let Some(id) = &found {
            state.marks.wrote(id, mark);
        }
        found.is_some()
    }

    /// Something was read through a disk. It is a violation when it was written through another one
    /// that this one is no copy of.
    pub fn read(&self, disk: &str, mark: &str) -> bool {
        let mut state = self.state();
        let found = unique_id(&state.world, disk);
        if let Some(id) = &found
            && !state.marks.may_read(id, mark)
        {
            let about = format!("{disk} gave '{mark}', which was written through another disk");
            let now = state.now;
            state.violations.add("readThroughAnother", about, now);
        }
        found.is_some()
    }

    /// Handles of volumes that are gone, in place of what was told before. A disk of one of them that
    /// is still there is a violation.
    pub fn released(&self, handles: Vec<String>) {
        self.state().released = handles;
    }

    /// A piece of a program's log. Each line with a secret is a violation, which does not repeat it.
    pub fn logged(&self, program: &str, text: &str) {
        let mut state = self.state();
        let now = state.now;
        for line in crate::leaks::lines(&state, text) {
            let about = format!("{program}, line {line}");
            state.violations.add("secretInLog", about, now);
        }
    }

    /// Answers one request.
    ///
    /// # Errors
    /// When a fault cuts the connection.
    pub async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Disconnected> {
        let wall = self.0.clock.wall();
        let sent: Sent = {
            let mut state = self.state();
            answer::answer(&mut state, &self.0.auth, wall, &request)
        };
        if self.0.time_scale > 0.0 && !sent.after.is_zero() {
            tokio::time::sleep(sent.after.div_f64(self.0.time_scale)).await;
        }
        sent.response.ok_or(Disconnected)
    }
}

/// The unique id of a disk that is named by its id or its name.
fn unique_id(world: &World, disk: &str) -> Option<String> {
    let by_id = world.disks.get(&key(disk));
    let mut all = world.disks.values();
    let found = by_id.or_else(|| all.find(|one| leaf(&one.id).eq_ignore_ascii_case(disk)));
    found.map(|disk| disk.unique_id.clone())
}

impl tower::Service<Request<Bytes>> for Sim {
    type Response = Response<Bytes>;
    type Error = Disconnected;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Bytes>, Disconnected>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Disconnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let sim = self.clone();
        Box::pin(async move { sim.answer(request).await })
    }
}
