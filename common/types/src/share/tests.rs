//! Tests of `share`.

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
