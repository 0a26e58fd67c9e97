//! What several of these tests need.

use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use azcsi_types::clock::Clock;

/// 2026-01-01T00:00:00Z.
pub(crate) const START: Duration = Duration::from_secs(1_767_225_600);

/// A clock that moves when told to.
#[derive(Debug, Default)]
pub(crate) struct HandClock(Mutex<Duration>);

impl HandClock {
    pub(crate) fn advance(&self, by: Duration) {
        *self.0.lock().expect("clock") += by;
    }
}

impl Clock for HandClock {
    fn now(&self) -> Duration {
        *self.0.lock().expect("clock")
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + START + self.now()
    }
}
