//! The line of requests before one count of Azure's that ran out.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azcsi_types::clock::Clock;

use super::Patience;

/// Requests a second at first: that many Azure adds to the count of a subscription.
const FIRST_RATE: f64 = 25.0;
const LEAST_RATE: f64 = 0.5;
const MOST_RATE: f64 = 200.0;
/// What a success adds, and a refusal leaves: the line finds Azure's rate from below, and stays near.
const GAIN: f64 = 0.05;
const LOSS: f64 = 0.8;
/// A line that nobody has passed for so long is forgotten.
const CALM: Duration = Duration::from_secs(30);

/// Who waits for one count, first come first served.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Held by the one in front.
    turn: tokio::sync::Mutex<()>,
    waiting: AtomicU32,
    pace: Mutex<Pace>,
}

#[derive(Debug)]
struct Pace {
    /// End of Azure's pause.
    until: Duration,
    /// When the next one may leave.
    next: Duration,
    rate: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            until: Duration::ZERO,
            next: Duration::ZERO,
            rate: FIRST_RATE,
        }
    }
}

impl Pace {
    fn gap(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.rate)
    }
}

/// Counts one that waits for as long as it does.
struct Waiting<'a>(&'a AtomicU32);

impl<'a> Waiting<'a> {
    /// With the number of those before it.
    fn behind(count: &'a AtomicU32) -> (Self, u32) {
        let before = count.fetch_add(1, Ordering::Relaxed);
        (Self(count), before)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Line {
    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_there(&self, now: Duration) -> bool {
        let pace = self.pace();
        self.waiting.load(Ordering::Relaxed) > 0 || pace.next.max(pace.until) + CALM > now
    }

    /// Waits for its turn; tells how long that takes when it is too long.
    pub(super) async fn pass(&self, clock: &dyn Clock, patience: Patience) -> Result<(), Duration> {
        let (_waiting, before) = Waiting::behind(&self.waiting);
        let (pause, expected) = {
            let pace = self.pace();
            let pause = pace.until.saturating_sub(clock.now());
            (pause, pause + pace.gap() * before)
        };
        if pause > patience.pause || expected > patience.line {
            return Err(expected);
        }
        let _turn = self.turn.lock().await;
        loop {
            let wait = {
                let mut pace = self.pace();
                let now = clock.now();
                let at = pace.until.max(pace.next);
                if at <= now {
                    pace.next = now + pace.gap();
                    return Ok(());
                }
                at - now
            };
            if wait > patience.pause {
                return Err(wait);
            }
            tokio::time::sleep(wait).await;
        }
    }

    pub(super) fn succeeded(&self) {
        let mut pace = self.pace();
        pace.rate = (pace.rate + GAIN).min(MOST_RATE);
    }

    /// Azure asks for a pause.
    pub(super) fn refused(&self, now: Duration, until: Duration) {
        let mut pace = self.pace();
        // Those that left before the pause was known are refused with it: they teach nothing new.
        if pace.until > Duration::ZERO && now >= pace.until {
            pace.rate = (pace.rate * LOSS).max(LEAST_RATE);
        }
        pace.until = pace.until.max(until);
    }
}
