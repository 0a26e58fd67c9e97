//! The clock of production and of tests: the only reader of the system's clocks.

use std::time::{Duration, SystemTime};

use azcsi_types::clock::Clock;

/// Time as the tokio runtime sees it.
///
/// Under a paused runtime it moves only as the test moves it, monotonic and wall time together, so
/// that token lifetimes, caches, polls and batch windows stay consistent.
#[derive(Clone, Debug)]
pub struct SystemClock {
    started: tokio::time::Instant,
    wall: Wall,
}

#[derive(Clone, Debug)]
enum Wall {
    /// The system's, moved by as much as tokio's clock was moved against it.
    System { started: std::time::Instant },
    /// Fixed at the start, for tests that compare timestamps.
    Since(SystemTime),
}

impl SystemClock {
    /// The clock of production. Wall time follows the system's, corrections included.
    #[must_use]
    pub fn new() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this file owns the clocks")]
        let started = std::time::Instant::now();
        Self {
            started: tokio::time::Instant::now(),
            wall: Wall::System { started },
        }
    }

    /// A clock whose wall time is `wall` now, and moves only with the runtime's time.
    #[must_use]
    pub fn starting_at(wall: SystemTime) -> Self {
        Self {
            started: tokio::time::Instant::now(),
            wall: Wall::Since(wall),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn wall(&self) -> SystemTime {
        match &self.wall {
            Wall::Since(start) => *start + self.now(),
            Wall::System { started } => {
                #[expect(clippy::disallowed_methods, reason = "this file owns the clocks")]
                let system = SystemTime::now();
                let (moved, real) = (self.now(), started.elapsed());
                system + moved.saturating_sub(real) - real.saturating_sub(moved)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use azcsi_types::clock::Clock as _;

    use super::SystemClock;

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn both_axes_follow_a_paused_runtime() {
        let start = SystemTime::UNIX_EPOCH + HOUR;
        let clock = SystemClock::starting_at(start);
        assert_eq!((clock.now(), clock.wall()), (Duration::ZERO, start));
        tokio::time::advance(HOUR).await;
        assert_eq!((clock.now(), clock.wall()), (HOUR, start + HOUR));
    }

    #[tokio::test(start_paused = true)]
    async fn the_wall_time_of_production_moves_with_the_runtime_too() {
        let clock = SystemClock::new();
        let before = clock.wall();
        tokio::time::advance(HOUR).await;
        let moved = clock.wall().duration_since(before).unwrap();
        // Real time passes as well while the test runs, but never backwards and never an hour.
        assert!(
            moved + Duration::from_secs(60) > HOUR && moved < 2 * HOUR,
            "{moved:?}"
        );
    }
}
