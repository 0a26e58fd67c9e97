//! What is behind the lock: the world, and everything that decides how it answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::faults::Faults;
use crate::files::contents::Contents;
use crate::latency;
use crate::marks::Marks;
use crate::quotas::Quotas;
use crate::requests::Requests;
use crate::throttle::Throttle;
use crate::violations::Violations;
use crate::world::{World, guid, mix};

/// How the world answers: see the contract's profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Operations take no time, nothing is throttled.
    Instant,
    /// Realistic times, documented limits.
    Azure,
    /// Realistic times, a tenth of the limits.
    Stress,
}

/// How ids in answers are spelt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Casing {
    /// As they were made.
    #[default]
    Kept,
    /// As Azure sometimes does: the group in capitals, the fixed words in small letters.
    Odd,
}

/// Told when a machine's disks change, before anyone is answered.
pub trait HostLink: std::fmt::Debug + Send + Sync {
    /// The disk with this id is on the machine with this id.
    fn attached(&self, machine: &str, disk: &str, lun: u32, gib: u64);
    /// It no longer is.
    fn detached(&self, machine: &str, disk: &str, lun: u32);
    /// It has grown.
    fn resized(&self, machine: &str, disk: &str, gib: u64);
    /// Whether someone uses it there; then a detach is a violation.
    fn is_mounted(&self, machine: &str, disk: &str) -> bool;
}

/// Numbers that look random and are the same in every run.
pub(crate) trait Draw {
    fn bits(&mut self) -> u64;
    /// From 0 to below 1.
    fn unit(&mut self) -> f64 {
        let top = u32::try_from(self.bits() >> 32).unwrap_or(0);
        f64::from(top) / 4_294_967_296.0
    }
}

/// Settings that do not change.
#[derive(Clone, Debug)]
pub(crate) struct Knobs {
    pub(crate) seed: u64,
    pub(crate) profile: Profile,
    pub(crate) casing: Casing,
    pub(crate) page_size: usize,
    pub(crate) managed_by_lag: Duration,
    pub(crate) link: Option<Arc<dyn HostLink>>,
    pub(crate) quotas: Quotas,
    /// What must not stand in a log, besides keys and tokens.
    pub(crate) secrets: Vec<String>,
    /// Whether signed requests must be of about now; not when the clock runs at another speed than
    /// the clients' own.
    pub(crate) checks_dates: bool,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) world: World,
    pub(crate) knobs: Knobs,
    /// What shares hold.
    pub(crate) contents: Arc<dyn Contents>,
    /// Copies that run: when each ends, and the contents and path it goes to.
    pub(crate) copying: BTreeSet<(Duration, String, String)>,
    /// Base URL of the data plane for accounts in the path; none for accounts in the host.
    pub(crate) file_endpoint: Option<String>,
    /// Operations by the instant at which they end.
    pub(crate) due: BTreeSet<(Duration, String)>,
    /// Operations that ended, with when they did: what is forgotten first comes first.
    pub(crate) ended: VecDeque<(Duration, String)>,
    pub(crate) throttle: Throttle,
    pub(crate) faults: Faults,
    pub(crate) requests: Requests,
    pub(crate) violations: Violations,
    pub(crate) marks: Marks,
    /// Handles of volumes that are gone.
    pub(crate) released: Vec<String>,
    /// What resources looked like before the last write, for stale reads.
    pub(crate) before: BTreeMap<String, (Duration, Value)>,
    pub(crate) revision: u64,
    pub(crate) now: Duration,
    pub(crate) wall_ms: u64,
}

impl Draw for State {
    fn bits(&mut self) -> u64 {
        self.world.drawn += 1;
        mix(self.knobs.seed ^ mix(self.world.drawn))
    }
}

impl State {
    pub(crate) fn new(world: World, knobs: Knobs, contents: Arc<dyn Contents>) -> Self {
        let due = world
            .operations
            .values()
            .filter(|operation| operation.runs())
            .map(|operation| (operation.ready_at, operation.id.clone()))
            .collect();
        let copying = world.file_facts.iter().filter_map(|(key, facts)| {
            let copy = facts
                .copy
                .as_ref()
                .filter(|copy| copy.status == "pending")?;
            let (contents, path) = key.split_once('/')?;
            Some((copy.until, contents.to_owned(), path.to_owned()))
        });
        let copying = copying.collect();
        let mut marks = Marks::default();
        marks.learn(&world);
        Self {
            throttle: Throttle::new(knobs.profile),
            ended: crate::lro::ended(&world),
            world,
            knobs,
            contents,
            file_endpoint: None,
            copying,
            due,
            faults: Faults::default(),
            requests: Requests::default(),
            violations: Violations::default(),
            marks,
            released: Vec::new(),
            before: BTreeMap::new(),
            revision: 1,
            now: Duration::ZERO,
            wall_ms: 0,
        }
    }

    pub(crate) fn guid(&mut self) -> String {
        let high = self.bits();
        let low = self.bits();
        guid(high, low)
    }

    /// How long this takes; nothing takes time in `instant`.
    pub(crate) fn takes(&mut self, operation: &str) -> Duration {
        if self.knobs.profile == Profile::Instant {
            return Duration::ZERO;
        }
        latency::draw(operation, self)
    }

    /// Remembers how a resource looks before it changes.
    pub(crate) fn remember(&mut self, key: &str, shown: Value) {
        if self.faults.wants_old_answers() {
            self.before.insert(key.to_owned(), (self.now, shown));
        }
    }
}
