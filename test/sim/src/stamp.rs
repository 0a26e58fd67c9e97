//! Times as Azure writes them.

use std::time::{SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A time that is given as milliseconds since 1970.
pub(crate) fn stamp(ms: u64) -> String {
    let nanos = i128::from(ms) * 1_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}

/// `Tue, 03 Mar 2026 09:30:00 GMT`, as HTTP headers have it.
pub(crate) fn http(ms: u64) -> String {
    let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    let time = OffsetDateTime::from_unix_timestamp(seconds).ok();
    time.map(|time| {
        format!(
            "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
            short(&time.weekday().to_string()),
            time.day(),
            short(&time.month().to_string()),
            time.year(),
            time.hour(),
            time.minute(),
            time.second()
        )
    })
    .unwrap_or_default()
}

fn short(word: &str) -> String {
    word.chars().take(3).collect()
}

/// Seconds since 1970 of such a time.
pub(crate) fn parse_http(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(", ")?;
    let parts: Vec<&str> = rest.split(' ').collect();
    let [day, month, year, clock, "GMT"] = parts.as_slice() else {
        return None;
    };
    let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = months.iter().position(|name| name == month)? + 1;
    let month = time::Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = time::Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?).ok()?;
    let mut clock = clock.split(':').map(str::parse::<u8>);
    let (hour, minute, second) = (
        clock.next()?.ok()?,
        clock.next()?.ok()?,
        clock.next()?.ok()?,
    );
    let time = time::Time::from_hms(hour, minute, second).ok()?;
    u64::try_from(date.with_time(time).assume_utc().unix_timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_times_are_written_and_read() {
        let text = "Tue, 03 Mar 2026 09:30:00 GMT";
        let seconds = parse_http(text).expect("a time");
        assert_eq!(http(seconds * 1000), text);
        for wrong in ["", "Tue, 03 Mar 2026 09:30 GMT", "2026-03-03T09:30:00Z"] {
            assert_eq!(parse_http(wrong), None, "{wrong}");
        }
    }
}
