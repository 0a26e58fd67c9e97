//! How often something may be said: not the same thing again too soon, and not too much at once.
//! Pure: the time is given.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// The same thing is not said again for this long.
const QUIET: Duration = Duration::from_secs(300);
/// Things that may be said at once.
const BURST: u32 = 25;
/// Time after which one more may be said.
const STEP: Duration = Duration::from_secs(2);
/// Things that are remembered.
const REMEMBERED: usize = 2048;

/// Memory of what was said, and what may still be said.
#[derive(Debug)]
pub struct Pacing<K> {
    said: HashMap<K, Duration>,
    left: u32,
    counted: Duration,
}

impl<K: Hash + Eq> Default for Pacing<K> {
    fn default() -> Self {
        Self {
            said: HashMap::new(),
            left: BURST,
            counted: Duration::ZERO,
        }
    }
}

impl<K: Hash + Eq> Pacing<K> {
    /// Whether `thing` may be said now; if so, it counts as said.
    pub fn admits(&mut self, thing: K, now: Duration) -> bool {
        self.said.retain(|_, at| now.saturating_sub(*at) < QUIET);
        if self.said.contains_key(&thing) || self.said.len() >= REMEMBERED {
            return false;
        }
        while self.left < BURST && now >= self.counted.saturating_add(STEP) {
            self.left += 1;
            self.counted += STEP;
        }
        if self.left == BURST {
            self.counted = now;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.said.insert(thing, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BURST, Pacing, QUIET, STEP};

    #[test]
    fn the_same_thing_is_said_again_only_after_a_while() {
        let mut pacing = Pacing::default();
        let start = Duration::from_secs(1000);
        assert!(pacing.admits("a", start));
        assert!(!pacing.admits("a", start + QUIET / 2));
        assert!(pacing.admits("b", start + QUIET / 2));
        assert!(pacing.admits("a", start + QUIET));
    }

    #[test]
    fn a_storm_is_cut_to_a_burst_and_then_to_a_rate() {
        let mut pacing = Pacing::default();
        let start = Duration::from_secs(1000);
        let said = |pacing: &mut Pacing<u32>, from: u32, now| {
            (from..from + 1000)
                .filter(|n| pacing.admits(*n, now))
                .count()
        };
        assert_eq!(said(&mut pacing, 0, start), BURST as usize);
        assert_eq!(said(&mut pacing, 10_000, start + STEP * 3), 3);
        assert_eq!(said(&mut pacing, 20_000, start + STEP * 3), 0);
        let later = start + Duration::from_secs(3600);
        assert_eq!(said(&mut pacing, 30_000, later), BURST as usize);
    }
}
