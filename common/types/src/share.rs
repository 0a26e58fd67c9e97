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
mod tests;
