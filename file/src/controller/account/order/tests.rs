//! First choices that stay first choices.

use std::time::Duration;

use serde_json::json;

use super::{Candidate, Order, Room, Rule, order, room};
use crate::controller::account::creation::{Which, made, name};
use crate::controller::account::matching::tests::{made_for, want};
use crate::controller::account::want::Exposure;
use crate::model::params::Pick;

fn candidate(name: &str, year: u32, room: Room) -> Candidate {
    let mut value = made_for(&want(&[], Exposure::Public), name);
    value["properties"]["creationTime"] = json!(format!("{year}-01-01T00:00:00Z"));
    Candidate {
        account: serde_json::from_value(value).unwrap(),
        room,
    }
}

const RETRY: Duration = Duration::from_secs(1800);

fn names(candidates: Vec<Candidate>, pick: Pick, volume: &str) -> (Vec<String>, Vec<String>) {
    let rule = Rule {
        pick,
        volume,
        prefer: None,
        retry: RETRY,
    };
    let Order { look, tries } = order(candidates, &rule);
    let text = |ids: Vec<azcsi_types::account::AccountUri>| {
        ids.iter().map(|id| id.name().to_owned()).collect()
    };
    (text(look), text(tries))
}

#[test]
fn the_oldest_with_room_is_first_and_a_new_one_is_last() {
    let all = vec![
        candidate("new", 2026, Room::Some),
        candidate("old", 2020, Room::Some),
        candidate("left", 2019, Room::Marked),
    ];
    let (look, tries) = names(all, Pick::Oldest, "v");
    assert_eq!(
        (look.len(), tries),
        (0, vec!["old".to_owned(), "new".to_owned()])
    );
}

#[test]
fn a_full_account_is_looked_into_and_tried_again_before_a_new_one_is_made_pr_20() {
    let minutes = |n: u64| Room::FullSince(Duration::from_secs(n * 60));
    let all = || {
        vec![
            candidate("just", 2018, minutes(1)),
            candidate("while", 2019, minutes(45)),
            candidate("long", 2020, minutes(600)),
            candidate("free", 2021, Room::Some),
        ]
    };
    let (look, tries) = names(all(), Pick::Oldest, "v");
    assert_eq!(look, ["just", "while"]);
    assert_eq!(tries, ["free", "while", "long"]);
}

#[test]
fn spread_volumes_keep_their_account() {
    let all = || {
        (0..8)
            .map(|n| candidate(&format!("acct{n}"), 2020 + n, Room::Some))
            .collect()
    };
    let first = |volume: &str| names(all(), Pick::Spread, volume).1.remove(0);
    let used: std::collections::BTreeSet<String> =
        (0..40).map(|n| first(&format!("pvc-{n}"))).collect();
    assert!(used.len() > 4, "{used:?}");
    assert_eq!(first("pvc-1"), first("pvc-1"));
}

#[test]
fn the_account_of_the_source_is_preferred() {
    let all = vec![
        candidate("old", 2020, Room::Some),
        candidate("source", 2026, Room::Some),
    ];
    let prefer = all[1].account.id.clone();
    let rule = Rule {
        pick: Pick::Oldest,
        volume: "v",
        prefer: Some(&prefer),
        retry: RETRY,
    };
    assert_eq!(order(all, &rule).tries[0], prefer);
}

#[test]
fn marks_tell_their_time_or_are_left_alone() {
    let marked = |value: &str| {
        let mut account = candidate("a12", 2020, Room::Some).account;
        account
            .tags
            .insert("Skip-Matching".to_owned(), value.to_owned());
        room(&account, Duration::from_secs(100))
    };
    assert_eq!(marked("40"), Room::FullSince(Duration::from_secs(60)));
    assert_eq!(marked(""), Room::Marked);
}

#[test]
fn a_new_account_has_one_name_until_it_is_there() {
    let wanted = want(&[], Exposure::Public);
    let next = |n| name(&wanted, Which::Next(n), 0).unwrap();
    assert_eq!(next(0), next(0));
    assert_ne!(next(0), next(1));
    assert_ne!(next(0), name(&wanted, Which::Next(0), 1).unwrap());
    assert_ne!(
        name(&wanted, Which::Of("a"), 0),
        name(&wanted, Which::Of("b"), 0)
    );
    let there = [candidate("acct", 2020, Room::Marked).account];
    assert_eq!(made(&wanted, &there), 1);
}
