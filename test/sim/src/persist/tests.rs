//! What the journal promises: everything reported is there, everything else is refused or dropped.

use serde_json::json;

use super::*;

fn map(entries: &[(&str, i32)]) -> BTreeMap<String, Value> {
    entries
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect()
}

fn replace(journal: &mut Journal, wanted: BTreeMap<String, Value>) {
    let changes = journal.difference(&wanted, &[]);
    journal.commit(changes).expect("write");
}

fn text(dir: &Path) -> String {
    fs::read_to_string(dir.join("world.journal")).expect("read")
}

fn rewrite(dir: &Path, bytes: &[u8]) {
    fs::write(dir.join("world.journal"), bytes).expect("write");
}

#[test]
fn what_was_written_is_there_again() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut journal = Journal::open(dir.path()).expect("open");
    replace(&mut journal, map(&[("a", 1), ("b", 2)]));
    replace(&mut journal, map(&[("b", 3), ("c", 4)]));
    drop(journal);
    let again = Journal::open(dir.path()).expect("open again");
    assert_eq!(again.current(), &map(&[("b", 3), ("c", 4)]));
}

#[test]
fn a_journal_cut_anywhere_holds_a_prefix_of_its_transactions() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut journal = Journal::open(dir.path()).expect("open");
    let states: Vec<_> = (0..4).map(|n| map(&[("a", n), ("b", -n)])).collect();
    for state in &states {
        replace(&mut journal, state.clone());
    }
    drop(journal);
    let whole = text(dir.path()).into_bytes();
    for cut in HEADER.len() + 1..whole.len() {
        rewrite(dir.path(), whole.get(..cut).expect("prefix"));
        let found = Journal::open(dir.path()).expect("open").current().clone();
        assert!(
            found.is_empty() || states.contains(&found),
            "cut at {cut}: {found:?}"
        );
    }
}

#[test]
fn a_journal_goes_on_after_its_unfinished_end_was_dropped() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut journal = Journal::open(dir.path()).expect("open");
    replace(&mut journal, map(&[("a", 1)]));
    drop(journal);
    let cut = format!("{}0123 [[\"b\"", text(dir.path()));
    rewrite(dir.path(), cut.as_bytes());
    let mut journal = Journal::open(dir.path()).expect("open");
    replace(&mut journal, map(&[("a", 1), ("c", 2)]));
    drop(journal);
    let again = Journal::open(dir.path()).expect("open again");
    assert_eq!(again.current(), &map(&[("a", 1), ("c", 2)]));
}

#[test]
fn damage_is_refused_with_its_line_and_the_file_left_alone() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut journal = Journal::open(dir.path()).expect("open");
    for n in 0..3 {
        replace(&mut journal, map(&[("a", n)]));
    }
    drop(journal);
    let whole = text(dir.path());
    for (from, to, line) in [
        ("[[\"a\",1]]", "[[\"a\",7]]", 3),
        ("azcsi-sim journal 1", "azcsi-sim journal 9", 1),
        ("[[\"a\",2]]", "[[\"a\",2]", 4),
    ] {
        let broken = whole.replace(from, to);
        rewrite(dir.path(), broken.as_bytes());
        let error = Journal::open(dir.path()).expect_err("refused").to_string();
        assert!(
            error.contains(&format!("world.journal:{line}: ")),
            "{error}"
        );
        assert_eq!(text(dir.path()), broken);
    }
    rewrite(dir.path(), b"");
    let error = Journal::open(dir.path()).expect_err("refused").to_string();
    assert!(error.contains("the file is empty"), "{error}");
}

#[test]
fn history_does_not_grow_without_end() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut journal = Journal::open(dir.path()).expect("open");
    for n in 0..1500 {
        journal
            .commit(vec![Change("a".to_owned(), Some(json!(n)))])
            .expect("write");
    }
    drop(journal);
    assert!(text(dir.path()).lines().count() < 1100);
    let again = Journal::open(dir.path()).expect("open again");
    assert_eq!(again.current(), &map(&[("a", 1499)]));
}

#[test]
fn a_journal_goes_on_in_the_file_that_replaced_its_history() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut journal = Journal::open(dir.path()).expect("open");
    for n in 0..1500 {
        journal
            .commit(vec![Change("a".to_owned(), Some(json!(n)))])
            .expect("write");
        if n % 100 == 0 || n > 1020 && n < 1030 {
            let read = replay(&dir.path().join("world.journal")).expect("read");
            assert_eq!(read.current, map(&[("a", n)]));
        }
    }
    assert!(!dir.path().join("world.part").exists());
}

#[test]
fn a_half_written_compaction_is_not_looked_at() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut journal = Journal::open(dir.path()).expect("open");
    replace(&mut journal, map(&[("a", 1)]));
    drop(journal);
    fs::write(dir.path().join("world.part"), "azcsi-sim jour").expect("write");
    let mut journal = Journal::open(dir.path()).expect("open");
    assert_eq!(journal.current(), &map(&[("a", 1)]));
    journal.compact().expect("compact");
    replace(&mut journal, map(&[("a", 2)]));
    drop(journal);
    let again = Journal::open(dir.path()).expect("open again");
    assert_eq!(again.current(), &map(&[("a", 2)]));
}

#[test]
fn two_simulators_cannot_share_a_directory() {
    let dir = tempfile::tempdir().expect("tempdir");
    let first = Journal::open(dir.path()).expect("open");
    let error = Journal::open(dir.path()).expect_err("refused").to_string();
    assert!(error.contains("another azcsi-sim is using"), "{error}");
    drop(first);
    Journal::open(dir.path()).expect("free again");
}

#[test]
fn covered_keys_are_not_looked_at() {
    let dir = tempfile::tempdir().expect("folder");
    let mut journal = Journal::open(dir.path()).expect("open");
    let all = ["a:1", "a:\u{10ffff}", "b", "c"].map(|key| Change(key.to_owned(), Some(json!(1))));
    journal.commit(all.to_vec()).expect("commit");
    let wanted = BTreeMap::from([("b".to_owned(), json!(2))]);
    let changes = journal.difference(&wanted, &["a:".to_owned()]);
    let expected = [
        Change("b".to_owned(), Some(json!(2))),
        Change("c".to_owned(), None),
    ];
    assert_eq!(changes, expected);
}
