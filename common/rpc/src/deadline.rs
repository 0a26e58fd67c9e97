//! Until when a call wants its answer.
//!
//! gRPC sends the time that is left in the header `grpc-timeout` (gRPC over HTTP/2, "Timeout"). The
//! wait ends a little earlier than that, so that our answer, which says what is still going on,
//! reaches the client before its own timer gives up.

use std::time::Duration;

use azcsi_types::clock::{Clock, Deadline};
use tonic::metadata::MetadataMap;

const HEADER: &str = "grpc-timeout";

/// Most time that is given away for the way back.
const MARGIN: Duration = Duration::from_millis(200);

/// Reads a `grpc-timeout`: one to eight digits and a unit. `None` if it is not one.
#[must_use]
pub fn parse(header: &str) -> Option<Duration> {
    let unit = header.chars().next_back()?;
    let digits = header.strip_suffix(unit)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        'H' => Duration::from_secs(count * 3600),
        'M' => Duration::from_secs(count * 60),
        'S' => Duration::from_secs(count),
        'm' => Duration::from_millis(count),
        'u' => Duration::from_micros(count),
        'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

/// How long a call with this timeout is worked on: a tenth is kept back, at most 200 ms.
#[must_use]
pub fn budget(timeout: Duration) -> Duration {
    timeout - (timeout / 10).min(MARGIN)
}

/// By when a call must be answered; `default` from now if the client set no timeout, or one that
/// cannot be read.
#[must_use]
pub fn of_call(metadata: &MetadataMap, clock: &dyn Clock, default: Duration) -> Deadline {
    let asked = metadata
        .get(HEADER)
        .and_then(|value| value.to_str().ok())
        .and_then(parse);
    Deadline::after(clock, asked.map_or(default, budget))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use azcsi_types::clock::Deadline;
    use tonic::metadata::MetadataMap;

    use super::{budget, of_call, parse};
    use crate::clock::SystemClock;

    #[test]
    fn every_unit_is_read() {
        let table = [
            ("2H", Duration::from_secs(7200)),
            ("3M", Duration::from_secs(180)),
            ("10S", Duration::from_secs(10)),
            ("250m", Duration::from_millis(250)),
            ("99999999u", Duration::from_micros(99_999_999)),
            ("1n", Duration::from_nanos(1)),
            ("99999999H", Duration::from_secs(99_999_999 * 3600)),
            ("0S", Duration::ZERO),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_timeout_is_refused() {
        for text in [
            "",
            "S",
            "10",
            "10s",
            "123456789S",
            "-1S",
            "+1S",
            "1 S",
            "1ä",
            "1.5S",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_answer_leaves_before_the_client_gives_up() {
        for timeout in [1, 100, 1_000, 30_000, 1_200_000].map(Duration::from_millis) {
            let budget = budget(timeout);
            assert!(
                budget < timeout && budget >= timeout * 9 / 10,
                "{timeout:?}"
            );
            assert!(
                timeout - budget <= Duration::from_millis(200),
                "{timeout:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_a_timeout_gets_the_default() {
        let clock = SystemClock::new();
        let default = Duration::from_secs(60);
        let mut metadata = MetadataMap::new();
        assert_eq!(of_call(&metadata, &clock, default), Deadline::at(default));
        metadata.insert("grpc-timeout", "later".parse().unwrap());
        assert_eq!(of_call(&metadata, &clock, default), Deadline::at(default));
        metadata.insert("grpc-timeout", "10S".parse().unwrap());
        let expected = Deadline::at(Duration::from_millis(9_800));
        assert_eq!(of_call(&metadata, &clock, default), expected);
    }
}
