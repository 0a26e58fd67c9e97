//! A clock that moves when it is told to.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use azcsi_types::clock::Clock;

/// 2026-01-01T00:00:00Z.
const START: Duration = Duration::from_secs(1_767_225_600);

/// A clock for tests; it starts at the beginning of 2026.
#[derive(Debug, Default)]
pub struct ManualClock(Mutex<Duration>);

impl ManualClock {
    /// A clock at its start.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves time on.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = now.saturating_add(by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + START + self.now()
    }
}
