//! Time as a value.
//!
//! Nothing in the suite reads the system clock by itself: it is given a [`Clock`]. The production
//! clock and the paused clock of the tests are both in `azcsi-rpc`, because they need a runtime.

use std::time::{Duration, SystemTime};

/// Where a component gets the time from.
pub trait Clock: std::fmt::Debug + Send + Sync + 'static {
    /// Time since an arbitrary fixed point; never goes back.
    fn now(&self) -> Duration;
    /// Time of day, for timestamps that leave the process.
    fn wall(&self) -> SystemTime;
}

/// The instant by which an answer is due, on the axis of [`Clock::now`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Duration);

impl Deadline {
    /// Far enough away that no answer is ever due.
    pub const NEVER: Self = Self(Duration::MAX);

    /// A deadline `after` the present.
    #[must_use]
    pub fn after(clock: &dyn Clock, after: Duration) -> Self {
        Self(clock.now().saturating_add(after))
    }

    /// The deadline at a known instant of [`Clock::now`].
    #[must_use]
    pub const fn at(instant: Duration) -> Self {
        Self(instant)
    }

    /// The instant itself.
    #[must_use]
    pub const fn instant(self) -> Duration {
        self.0
    }

    /// Time that is left; zero once it has passed.
    #[must_use]
    pub fn remaining(self, clock: &dyn Clock) -> Duration {
        self.0.saturating_sub(clock.now())
    }

    /// Whether it has passed.
    #[must_use]
    pub fn passed(self, clock: &dyn Clock) -> bool {
        self.remaining(clock).is_zero()
    }

    /// The nearer of two deadlines.
    #[must_use]
    pub fn or_sooner(self, other: Self) -> Self {
        self.min(other)
    }
}
