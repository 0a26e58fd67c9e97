//! Simulated time of the binary: real time, scaled, and movable.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use azcsi_types::clock::Clock;
use tokio::time::Instant;

/// A clock that runs `scale` times as fast as the real one; at 0 it stands still until it is
/// advanced.
#[derive(Debug)]
pub struct ScaledClock {
    scale: f64,
    started: Instant,
    first_now: Duration,
    first_wall: SystemTime,
    advanced: Mutex<Duration>,
}

impl ScaledClock {
    /// A clock that starts at `now` on its monotonic axis, and at the real time of day or at
    /// `not_before`, whichever is later: a world that ran ahead must not see time go back.
    #[must_use]
    pub fn start(scale: f64, now: Duration, not_before: SystemTime) -> Self {
        Self {
            scale,
            started: Instant::now(),
            first_now: now,
            first_wall: real_time().max(not_before),
            advanced: Mutex::new(Duration::ZERO),
        }
    }

    /// Moves time on.
    pub fn advance(&self, by: Duration) {
        let mut advanced = self.advanced.lock().unwrap_or_else(PoisonError::into_inner);
        *advanced = advanced.saturating_add(by);
    }

    /// Whether time only moves when it is advanced.
    #[must_use]
    pub fn stands_still(&self) -> bool {
        self.scale == 0.0
    }

    fn elapsed(&self) -> Duration {
        let advanced = *self.advanced.lock().unwrap_or_else(PoisonError::into_inner);
        advanced.saturating_add(self.started.elapsed().mul_f64(self.scale))
    }
}

impl Clock for ScaledClock {
    fn now(&self) -> Duration {
        self.first_now.saturating_add(self.elapsed())
    }

    fn wall(&self) -> SystemTime {
        self.first_wall + self.elapsed()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the only reader of the time of day in this crate"
)]
fn real_time() -> SystemTime {
    SystemTime::now()
}
