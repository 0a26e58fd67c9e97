//! How long operations take, from `data/latency.tsv`.

use std::time::Duration;

use crate::state::Draw;

const TABLE: &str = include_str!("../data/latency.tsv");
/// The 99th percentile of a normal distribution, in standard deviations.
const P99: f64 = 2.326;

/// Draws a duration of this operation; none of an operation that the table does not have.
pub(crate) fn draw(operation: &str, numbers: &mut dyn Draw) -> Duration {
    let Some((median, p99)) = find(operation) else {
        return Duration::ZERO;
    };
    // A sum of twelve uniform numbers is normal enough, and needs no tables.
    let sum: f64 = (0..12).map(|_| numbers.unit()).sum();
    let spread = (p99 / median).ln() / P99;
    Duration::from_secs_f64(median / 1000.0).mul_f64(((sum - 6.0) * spread).exp())
}

fn find(operation: &str) -> Option<(f64, f64)> {
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let mut fields = line.split('\t');
            let named = fields.next()? == operation;
            let figures = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            named.then_some(figures)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(f64);

    impl Draw for Fixed {
        fn bits(&mut self) -> u64 {
            0
        }
        fn unit(&mut self) -> f64 {
            self.0
        }
    }

    #[test]
    fn the_middle_number_gives_the_median_and_an_unknown_name_nothing() {
        assert_eq!(
            draw("machine.attach", &mut Fixed(0.5)),
            Duration::from_millis(4500)
        );
        assert_eq!(draw("unknown", &mut Fixed(0.5)), Duration::ZERO);
        assert!(draw("machine.attach", &mut Fixed(0.9)) > Duration::from_secs(15));
    }
}
