//! Every shape that was ever written, and the round trips.

use proptest::prelude::*;

use super::{NotAShareHandle, Plane, ShareHandle, ShareParts, ShareSnapshotHandle};

const SUB: &str = "11111111-2222-3333-4444-555555555555";
const UPPER: &str = "AAAAAAAA-2222-3333-4444-555555555555";
const TIME: &str = "2026-03-03T09:30:00.0000000Z";

fn parts(text: &str) -> ShareParts {
    text.parse::<ShareHandle>().unwrap().parts().clone()
}

/// `unique`, `disk`, `namespace` and `subscription` of an id, each `-` where there is none.
fn tail(parts: &ShareParts) -> String {
    let [unique, disk, namespace, subscription] = [
        &parts.unique,
        &parts.disk,
        &parts.namespace,
        &parts.subscription,
    ]
    .map(|part| part.as_deref().unwrap_or("-"));
    format!("{unique} {disk} {namespace} {subscription}")
}

#[test]
fn every_historical_shape_is_read_id_04() {
    for (text, expected) in [
        ("rg#acct#share", "- - - -"),
        ("rg#acct#share#", "- - - -"),
        ("rg#acct#share#d.vhd", "- d.vhd - -"),
        ("rg#acct#share#pv-1", "pv-1 - - -"),
        ("rg#acct#share#d.vhd#2020-01-01", "2020-01-01 d.vhd - -"),
        ("rg#acct#share##uuid", "uuid - - -"),
        ("#acct#share#pv-1#ns", "pv-1 - ns -"),
        ("#acct#share#d.vhd#ns", "- d.vhd ns -"),
        ("#acct#share##ns", "- - ns -"),
        ("rg#acct#share#pv-1#ns", "pv-1 - ns -"),
        ("rg#acct#share###default", "- - default -"),
        (
            &format!("rg#acct#share#d.vhd#u#ns#{SUB}"),
            &format!("u d.vhd ns {SUB}"),
        ),
        (
            &format!("rg#acct#share####{UPPER}#ignored#too"),
            &format!("- - - {UPPER}"),
        ),
    ] {
        let read = parts(text);
        assert_eq!(tail(&read), expected, "{text}");
        assert_eq!(
            read.resource_group.is_none(),
            text.starts_with('#'),
            "{text}"
        );
        assert_eq!((read.share.as_str(), &read.directory), ("share", &None));
        assert_eq!(read.account.unwrap().as_str(), "acct");
        assert_eq!(text.parse::<ShareHandle>().unwrap().to_string(), text);
    }
}

#[test]
fn a_directory_is_behind_the_share_and_an_account_may_be_missing() {
    let read = parts("rg#acct#share/a/b");
    assert_eq!(read.directory.as_deref(), Some("a/b"));
    assert_eq!(parts("rg##share###").account, None);
}

#[test]
fn what_leads_elsewhere_is_refused_id_17() {
    for text in [
        "",
        "fake-vol-id",
        "acct_share",
        "rg#acct",
        "rg#acct#",
        "rg#ac/ct#share",
        "../x#acct#share",
        "..#acct#share",
        "rg#acct#share#../../etc/x.vhd##",
        "rg#acct#share#a\\..\\x.vhd##",
        "rg#acct#share/../other",
        "rg#acct#share//x",
        "rg#acct#share###../ns",
        "rg#acct#share###n\u{7}s",
        "rg#acct#sh\nare",
    ] {
        assert!(text.parse::<ShareHandle>().is_err(), "{text}");
    }
}

#[test]
fn a_subscription_is_a_guid_or_an_error_never_the_default_id_08() {
    assert!(
        format!("rg#acct#share####{UPPER}")
            .parse::<ShareHandle>()
            .is_ok()
    );
    assert!("rg#acct#share####".parse::<ShareHandle>().is_ok());
    let wrong = "rg#acct#share####abc".parse::<ShareHandle>().unwrap_err();
    assert!(matches!(
        wrong,
        NotAShareHandle::Part {
            part: "subscription",
            ..
        }
    ));
}

#[test]
fn case_does_not_make_another_volume_id_01() {
    let one: ShareHandle = "RG#Acct#share###ns".parse().unwrap();
    let other: ShareHandle = "rg#acct#Share###ns".parse().unwrap();
    assert_eq!(one, other);
    assert_eq!(one.to_string(), "RG#Acct#share###ns");
}

#[test]
fn every_snapshot_shape_finds_its_time() {
    for (text, volume, subscription) in [
        (format!("rg#acct#share#{TIME}"), "rg#acct#share", None),
        (
            format!("#acct#share#{TIME}#{SUB}"),
            "#acct#share",
            Some(SUB),
        ),
        (
            format!("rg#acct#share#{SUB}#{TIME}"),
            "rg#acct#share",
            Some(SUB),
        ),
        (
            format!("rg#acct#share###ns#{TIME}#{SUB}"),
            "rg#acct#share###ns",
            Some(SUB),
        ),
        (
            format!("rg#acct#share###ns#{TIME}"),
            "rg#acct#share###ns",
            None,
        ),
        // A source of five parts, which others cannot read back.
        (
            format!("rg#acct#share#pv#ns#{TIME}#{SUB}"),
            "rg#acct#share#pv#ns",
            Some(SUB),
        ),
        // A source of seven parts, and the release that wrote the subscription first.
        (
            format!("rg#acct#share###ns#{SUB}#{TIME}"),
            &format!("rg#acct#share###ns#{SUB}"),
            Some(SUB),
        ),
        (
            format!("rg#acct#share###ns#{SUB}#{TIME}#{SUB}"),
            &format!("rg#acct#share###ns#{SUB}"),
            Some(SUB),
        ),
    ] {
        let read: ShareSnapshotHandle = text.parse().unwrap();
        assert_eq!(read.volume().as_str(), volume, "{text}");
        assert_eq!(read.time().as_str(), TIME, "{text}");
        assert_eq!(read.subscription(), subscription, "{text}");
        assert_eq!(read.to_string(), text);
    }
}

#[test]
fn no_snapshot_id_is_taken_for_its_share_sn_01() {
    for text in [
        "rg#acct#share",
        "rg#acct#share###ns",
        &format!("rg#acct#share###ns##{SUB}"),
        "rg#acct#share###ns#yesterday",
        &format!("rg#{TIME}#share"),
        &format!("rg#acct#{TIME}"),
        "",
    ] {
        assert!(text.parse::<ShareSnapshotHandle>().is_err(), "{text}");
    }
}

fn any_parts() -> impl Strategy<Value = ShareParts> {
    let text = |pattern: &'static str| proptest::option::of(pattern.prop_map(|text: String| text));
    let place = (
        "[A-Za-z0-9_()-]{1,20}",
        proptest::option::of("[a-z0-9]{3,24}"),
        "[a-z0-9]{3,20}",
        text("[a-zA-Z0-9-]{1,9}(/[a-z0-9 ]{1,9}){0,2}"),
    );
    let rest = (
        text("[a-z0-9-]{1,20}\\.vhd"),
        text("[a-z0-9#@%/. -]{1,30}"),
        0..3_usize,
        text("[a-z][a-z0-9.]{0,20}"),
        text("[a-z0-9-]{1,20}"),
        proptest::bool::ANY,
    );
    (place, rest).prop_map(|((group, account, share, directory), rest)| {
        let (disk, unique, plane, suffix, namespace, subscription) = rest;
        ShareParts {
            resource_group: Some(group),
            account: account.map(|name| name.parse().unwrap()),
            share: share.parse().unwrap(),
            directory,
            disk,
            unique,
            plane: [Plane::Management, Plane::Key, Plane::Oauth][plane],
            suffix,
            namespace,
            subscription: subscription.then(|| SUB.to_owned()),
        }
    })
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(parts in any_parts()) {
        let handle = ShareHandle::new(parts.clone()).unwrap();
        prop_assert_eq!(handle.parts(), &parts);
        let again: ShareHandle = handle.to_string().parse().unwrap();
        prop_assert_eq!(again.parts(), &parts);
        prop_assert_eq!(again.folded(), handle.folded());
    }

    #[test]
    fn snapshot_ids_round_trip(parts in any_parts()) {
        let volume = ShareHandle::new(parts).unwrap();
        let id = ShareSnapshotHandle::new(&volume, &TIME.parse().unwrap(), SUB);
        let again: ShareSnapshotHandle = id.to_string().parse().unwrap();
        prop_assert_eq!(again.volume().parts(), volume.parts());
        prop_assert_eq!(again.time(), id.time());
        prop_assert_eq!(again.subscription(), Some(SUB));
    }

    #[test]
    fn snapshots_of_every_historical_volume_are_found_again(count in 3..8_usize, pv in "[a-z]{3,9}") {
        let all = ["rg", "acct", "share", pv.as_str(), "", "ns", SUB];
        let volume: ShareHandle = all[..count].join("#").parse().unwrap();
        let id = ShareSnapshotHandle::new(&volume, &TIME.parse().unwrap(), SUB);
        let again: ShareSnapshotHandle = id.to_string().parse().unwrap();
        prop_assert_eq!(again.volume().parts().share.clone(), volume.parts().share.clone());
        prop_assert_eq!(&again.volume().parts().account, &volume.parts().account);
        prop_assert_eq!(again.subscription(), Some(SUB));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[a-z0-9#@%/.:TZ-]{0,80}") {
        let _ = text.parse::<ShareHandle>();
        let _ = text.parse::<ShareSnapshotHandle>();
    }
}
