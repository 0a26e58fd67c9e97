//! File shares: their names, and the times that name their snapshots.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Shortest and longest name of a share, in characters (naming rules of Azure Files).
pub const SHARE_NAME_LENGTH: (usize, usize) = (3, 63);

/// The name of a file share: 3 to 63 lower-case letters, digits and single hyphens, with a letter
/// or digit at both ends.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShareName(Box<str>);

/// Why a text does not name a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}' is not the name of a file share: 3 to 63 lower-case letters, digits and single hyphens, a letter or digit at both ends",
    .0.escape_debug()
)]
pub struct NotAShare(String);

impl ShareName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ShareName {
    type Err = NotAShare;

    fn from_str(text: &str) -> Result<Self, NotAShare> {
        let (least, most) = SHARE_NAME_LENGTH;
        let word = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        if (least..=most).contains(&text.len()) && text.split('-').all(word) {
            Ok(Self(text.into()))
        } else {
            Err(NotAShare(text.chars().take(100).collect()))
        }
    }
}

impl fmt::Display for ShareName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ShareName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a share snapshot: the instant at which Azure took it, as Azure wrote it.
///
/// The text is kept and sent back as it came, because Azure compares it with all its digits; two
/// values are equal when they name the same instant.
#[derive(Clone)]
pub struct SnapshotTime {
    text: Box<str>,
    unix: Duration,
}

/// Why a text does not name a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}' is not the time of a share snapshot: expected a form like 2026-01-31T00:00:00.0000000Z",
    .0.escape_debug()
)]
pub struct NotASnapshotTime(String);

impl SnapshotTime {
    /// The spelling that it was made from.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Time since the start of 1970, UTC.
    #[must_use]
    pub const fn since_epoch(&self) -> Duration {
        self.unix
    }
}

impl FromStr for SnapshotTime {
    type Err = NotASnapshotTime;

    fn from_str(text: &str) -> Result<Self, NotASnapshotTime> {
        match instant(text) {
            Some(unix) => Ok(Self {
                text: text.into(),
                unix,
            }),
            None => Err(NotASnapshotTime(text.chars().take(100).collect())),
        }
    }
}

/// `YYYY-MM-DDThh:mm:ss[.f…]Z` with up to nine digits of the second; any year from 1970 on.
fn instant(text: &str) -> Option<Duration> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = match time.split_once('.') {
        Some((time, fraction)) => (time, number(fraction, 1, 9).map(|n| (n, fraction.len()))?),
        None => (time, (0, 9)),
    };
    let [year, month, day] = three(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = three(time, ':', [2, 2, 2])?;
    let in_day = hour < 24 && minute < 60 && second < 60;
    if year < 1970 || !(1..=12).contains(&month) || !in_day {
        return None;
    }
    if day == 0 || day > days_in_month(year, month) {
        return None;
    }
    let days = days_before_year(year) - days_before_year(1970)
        + (1..month).map(|m| days_in_month(year, m)).sum::<u64>()
        + (day - 1);
    let (digits, length) = fraction;
    let scale = 10_u64.pow(u32::try_from(9 - length).ok()?);
    Some(
        Duration::from_secs(days * 86_400 + hour * 3600 + minute * 60 + second)
            + Duration::from_nanos(digits * scale),
    )
}

fn three(text: &str, by: char, lengths: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(by);
    let mut next = |length| number(parts.next()?, length, length);
    let found = [next(lengths[0])?, next(lengths[1])?, next(lengths[2])?];
    parts.next().is_none().then_some(found)
}

fn number(text: &str, least: usize, most: usize) -> Option<u64> {
    let fits = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from the start of year 1 to the start of `year`.
const fn days_before_year(year: u64) -> u64 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}

impl PartialEq for SnapshotTime {
    fn eq(&self, other: &Self) -> bool {
        self.unix == other.unix
    }
}

impl Eq for SnapshotTime {}

impl std::hash::Hash for SnapshotTime {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.unix.hash(state);
    }
}

impl PartialOrd for SnapshotTime {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SnapshotTime {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.unix.cmp(&other.unix)
    }
}

impl fmt::Display for SnapshotTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for SnapshotTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::{ShareName, SnapshotTime};
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn names_follow_the_rule_of_azure() {
        for good in ["abc", "0a-b-c9", "pvc-1", &"x".repeat(63)] {
            assert_eq!(good.parse::<ShareName>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            "ab",
            "-abc",
            "abc-",
            "a--b",
            "Abc",
            "a.b",
            "a/b",
            "abc\n",
            "äbc",
            &"x".repeat(64),
        ] {
            assert!(bad.parse::<ShareName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn instants_are_counted_from_1970() {
        for (text, unix) in [
            ("1970-01-01T00:00:00Z", Duration::ZERO),
            (
                "2000-02-29T12:00:00.5Z",
                Duration::from_millis(951_825_600_500),
            ),
            (
                "2026-03-03T09:30:00.0000001Z",
                Duration::new(1_772_530_200, 100),
            ),
            (
                "2100-03-01T00:00:00.0000000Z",
                Duration::from_secs(4_107_542_400),
            ),
        ] {
            assert_eq!(
                text.parse::<SnapshotTime>().unwrap().since_epoch(),
                unix,
                "{text}"
            );
        }
        assert_eq!(
            "2026-01-01T00:00:00Z".parse::<SnapshotTime>().unwrap(),
            "2026-01-01T00:00:00.0000000Z"
                .parse::<SnapshotTime>()
                .unwrap()
        );
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "Z",
            "T",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.0000000000Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00+00:00",
            "26-01-01T00:00:00Z",
            "2026-01-01-01T00:00:00Z",
            "+026-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "00000000-0000-0000-0000-000000000000",
        ] {
            assert!(text.parse::<SnapshotTime>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn names_round_trip(text in "[a-z0-9]([a-z0-9]|-[a-z0-9]){1,30}[a-z0-9]") {
            let name: ShareName = text.parse().unwrap();
            prop_assert_eq!(&name.to_string(), &text);
            prop_assert_eq!(name.to_string().parse::<ShareName>().unwrap(), name);
        }

        #[test]
        fn times_round_trip(y in 1970..2200_u32, m in 1..13_u32, d in 1..29_u32, s in 0..86_400_u32, f in 0..10_000_000_u32) {
            let text = format!("{y:04}-{m:02}-{d:02}T{:02}:{:02}:{:02}.{f:07}Z", s / 3600, s / 60 % 60, s % 60);
            let time: SnapshotTime = text.parse().unwrap();
            prop_assert_eq!(&time.to_string(), &text);
            prop_assert_eq!(time.to_string().parse::<SnapshotTime>().unwrap(), time);
        }

        #[test]
        fn later_texts_are_later_instants(y in 1970..2200_u32, m in 1..13_u32, d in 1..29_u32, other in (1970..2200_u32, 1..13_u32, 1..29_u32)) {
            let text = |(y, m, d): (u32, u32, u32)| format!("{y:04}-{m:02}-{d:02}T00:00:00.0000000Z");
            let (a, b) = (text((y, m, d)), text(other));
            let (ta, tb): (SnapshotTime, SnapshotTime) = (a.parse().unwrap(), b.parse().unwrap());
            prop_assert_eq!(ta.cmp(&tb), a.cmp(&b));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,60}") {
            let _ = text.parse::<ShareName>();
            let _ = text.parse::<SnapshotTime>();
        }
    }
}
