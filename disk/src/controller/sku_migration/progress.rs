//! How far the conversion of a disk is, and what is to be said about it. Pure.

use std::time::Duration;

use azcsi_cloud::Disk;
use azcsi_types::size::GiB;
use azcsi_types::sku::DiskSku;

/// How long a conversion may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// By size: what is smaller than the bound should be done within the time. The last one counts
    /// for larger disks too.
    pub by_size: Vec<(GiB, Duration)>,
    /// After this time nobody looks any more.
    pub most: Duration,
}

const fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 3600)
}

impl Default for Limits {
    fn default() -> Self {
        let tib = |count: u32, time| (GiB::new(count * 1024), hours(time));
        Self {
            by_size: vec![tib(2, 10), tib(4, 12), tib(16, 16), tib(64, 19)],
            most: hours(24),
        }
    }
}

impl Limits {
    fn of(&self, size: GiB) -> Duration {
        let fits = self.by_size.iter().find(|(bound, _)| size < *bound);
        fits.or(self.by_size.last())
            .map_or(self.most, |(_, time)| *time)
    }
}

/// What is seen of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// It is gone.
    Gone,
    /// It has another SKU than it should get, and is not on its way there.
    Unchanged,
    /// So many percent are done.
    Percent(f64),
    /// It has the SKU, and Azure says nothing about a copy.
    Silent,
}

impl Seen {
    /// What a disk shows.
    #[must_use]
    pub fn of(disk: Option<&Disk>, to: DiskSku) -> Self {
        let Some(disk) = disk else { return Self::Gone };
        match disk.properties.completion_percent {
            Some(percent) => Self::Percent(percent),
            None if disk.sku() == Some(to) => Self::Silent,
            None => Self::Unchanged,
        }
    }
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Say {
    /// Nothing new.
    Nothing,
    /// So many percent are done.
    Progress(u32),
    /// It takes longer than it should; it is watched further.
    Late,
    /// It is done.
    Done,
    /// It is watched no longer, and it is not done.
    GiveUp,
}

/// Steps at which progress is said, in percent.
const STEP: u32 = 20;
/// Looks at a silent disk after which it counts as done. Azure may leave the percentage out at the
/// very beginning as well as at the end.
const SILENCES: u32 = 3;

/// What was said so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    said: u32,
    late: bool,
    silences: u32,
}

impl Progress {
    /// Takes in one look.
    pub fn look(&mut self, seen: Seen, size: GiB, elapsed: Duration, limits: &Limits) -> Say {
        self.silences = match seen {
            Seen::Silent => self.silences + 1,
            _ => 0,
        };
        match seen {
            Seen::Percent(percent) if percent >= 100.0 => return Say::Done,
            Seen::Silent if self.silences >= SILENCES => return Say::Done,
            Seen::Gone => return Say::GiveUp,
            _ => {}
        }
        if elapsed >= limits.most {
            return Say::GiveUp;
        }
        if elapsed >= limits.of(size) && !self.late {
            self.late = true;
            return Say::Late;
        }
        if let Seen::Percent(percent) = seen {
            let steps = (1..100 / STEP).map(|step| step * STEP).rev();
            let reached = steps.into_iter().find(|step| percent >= f64::from(*step));
            if let Some(step) = reached.filter(|step| *step > self.said) {
                self.said = step;
                return Say::Progress(step);
            }
        }
        Say::Nothing
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use azcsi_types::size::GiB;

    use super::{Limits, Progress, Say, Seen, hours};

    const SMALL: GiB = GiB::new(100);

    fn looks(seen: &[Seen]) -> Vec<Say> {
        let (mut progress, limits) = (Progress::default(), Limits::default());
        let look = |seen: &Seen| progress.look(*seen, SMALL, Duration::ZERO, &limits);
        seen.iter().map(look).collect()
    }

    #[test]
    fn progress_is_said_at_each_fifth_once() {
        let percent = [0.0, 19.9, 20.0, 25.0, 65.0, 61.0, 80.0, 99.9, 100.0].map(Seen::Percent);
        assert_eq!(
            looks(&percent),
            [
                Say::Nothing,
                Say::Nothing,
                Say::Progress(20),
                Say::Nothing,
                Say::Progress(60),
                Say::Nothing,
                Say::Progress(80),
                Say::Nothing,
                Say::Done
            ]
        );
    }

    #[test]
    fn silence_counts_as_the_end_only_when_it_lasts() {
        use Seen::{Percent, Silent};
        assert_eq!(
            looks(&[Silent, Silent, Percent(1.0), Silent, Silent, Silent]),
            [
                Say::Nothing,
                Say::Nothing,
                Say::Nothing,
                Say::Nothing,
                Say::Nothing,
                Say::Done
            ]
        );
        assert_eq!(
            looks(&[Seen::Unchanged, Seen::Gone]),
            [Say::Nothing, Say::GiveUp]
        );
    }

    #[test]
    fn a_larger_disk_has_more_time_and_lateness_is_said_once() {
        let limits = Limits::default();
        for (gib, time) in [
            (100, 10),
            (2048, 12),
            (8192, 16),
            (20_000, 19),
            (65_536, 19),
        ] {
            let size = GiB::new(gib);
            let mut progress = Progress::default();
            let mut at = |time| progress.look(Seen::Percent(1.0), size, time, &limits);
            let minute = Duration::from_secs(60);
            assert_eq!(at(hours(time) - minute), Say::Nothing, "{gib}");
            assert_eq!(at(hours(time)), Say::Late, "{gib}");
            assert_eq!(at(hours(time) + minute), Say::Nothing, "{gib}");
            assert_eq!(at(hours(24)), Say::GiveUp, "{gib}");
        }
    }
}
