//! Tests of `table`: it says what the parsers do.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use azcsi_types::params::{BadParam, ParamMap};

use super::{Key, STORAGE_CLASS, VOLUME_ATTRIBUTES_CLASS, VOLUME_SNAPSHOT_CLASS, Values};
use crate::model::params::{DiskParams, MutableParams};
use crate::model::snapshot_params::SnapshotParams;

type Parse<T> = fn(BTreeMap<String, String>) -> Result<T, BadParam>;
type Read<T> = fn(&mut ParamMap) -> Result<T, BadParam>;

/// The key with `<path>` filled in.
fn name(key: &Key) -> String {
    key.name.replace("<path>", "queue/scheduler")
}

fn given(key: &Key, value: &str) -> BTreeMap<String, String> {
    let pairs = key.needs.iter().copied();
    let mut map: BTreeMap<_, _> = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    // A resource that only one of the words goes with.
    if key.name == "networkAccessPolicy" && value != "AllowPrivate" {
        map.clear();
    }
    map.insert(name(key), value.to_owned());
    map
}

/// Every key and value of a table is accepted, every key that is read is in it, and its defaults
/// are those of the parser.
fn holds<T: Debug + PartialEq>(table: &[Key], parse: Parse<T>, read: Read<T>) {
    for key in table {
        let values = match key.values {
            Values::Words(words) => words.to_vec(),
            Values::Text { example, .. } => vec![example],
        };
        for value in values {
            let got = parse(given(key, value));
            assert!(got.is_ok(), "{} = {value}: {got:?}", key.name);
        }
        if let Values::Words(_) = key.values
            && !SAID_TO_TAKE_ANYTHING.contains(&key.name)
        {
            assert!(parse(given(key, "no such")).is_err(), "{}", key.name);
        }
        if let Some(default) = key.default {
            let said = parse([(name(key), default.to_owned())].into()).unwrap();
            assert_eq!(said, parse(BTreeMap::new()).unwrap(), "{}", key.name);
        }
    }
    let mut map = ParamMap::default();
    read(&mut map).unwrap();
    let folded = |name: &str| name.replace("<path>", "").to_ascii_lowercase();
    let read: BTreeSet<_> = map.known().iter().map(|name| folded(name)).collect();
    let listed: BTreeSet<_> = table.iter().map(|key| folded(key.name)).collect();
    assert_eq!(read, listed);
    assert_eq!(listed.len(), table.len(), "a key is listed twice");
}

/// Their descriptions say so.
const SAID_TO_TAKE_ANYTHING: [&str; 2] = ["writeAcceleratorEnabled", "incremental"];

#[test]
fn a_storage_class_takes_what_its_table_says() {
    let parse: Parse<DiskParams> = |map| DiskParams::parse(map, BTreeMap::new());
    holds(STORAGE_CLASS, parse, DiskParams::read);
}

#[test]
fn a_volume_attributes_class_takes_what_its_table_says() {
    holds(
        VOLUME_ATTRIBUTES_CLASS,
        MutableParams::parse,
        MutableParams::read,
    );
}

#[test]
fn a_snapshot_class_takes_what_its_table_says() {
    holds(
        VOLUME_SNAPSHOT_CLASS,
        SnapshotParams::parse,
        SnapshotParams::read,
    );
}
