//! Tests of `snapshot_plan`.

use super::{Facts, Remote, Step, copy_body, is_local_of, local_name, own_tags, source, step};
use crate::model::snapshot_params::SnapshotParams;
use azcsi_cloud::Snapshot;
use azcsi_types::disk_uri::{DiskUri, SnapshotUri, is_disk_name};
use std::collections::BTreeMap;

const GROUP: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute";

fn snapshot(name: &str, source: &str, percent: u32) -> Snapshot {
    serde_json::from_str(&format!(
        r#"{{"id":"{GROUP}/snapshots/{name}","tags":{{"source_volume_id":"{GROUP}/disks/d"}},
        "properties":{{"provisioningState":"Succeeded","completionPercent":{percent},
        "creationData":{{"createOption":"Copy","sourceResourceId":"{GROUP}/{source}"}}}}}}"#
    ))
    .unwrap()
}

fn disk(name: &str) -> DiskUri {
    DiskUri::new("S", "G", name).unwrap()
}

#[test]
fn one_region_takes_one_step() {
    let source = disk("d");
    let at = |wanted: Option<&Snapshot>| {
        step(Facts {
            source: &source,
            wanted,
            local: None,
            remote: Remote::No,
        })
    };
    assert_eq!(at(None), Step::Create);
    assert_eq!(at(Some(&snapshot("n", "disks/d", 5))), Step::Done);
    assert_eq!(
        at(Some(&snapshot("n", "disks/other", 100))),
        Step::OtherSource
    );
}

#[test]
fn two_regions_survive_every_interruption() {
    let source = disk("d");
    let fresh = snapshot("local_n", "disks/d", 5);
    let full = snapshot("local_n", "disks/d", 100);
    let foreign = snapshot("local_n", "disks/other", 100);
    let copying = snapshot("n", "snapshots/local_n", 5);
    let copied = snapshot("n", "snapshots/local_n", 100);
    for (wanted, local, expected) in [
        (None, None, Step::CreateLocal),
        (None, Some(&fresh), Step::AwaitLocal),
        (None, Some(&full), Step::Copy),
        (None, Some(&foreign), Step::OtherSource),
        (Some(&copying), Some(&full), Step::Done),
        (Some(&copied), Some(&full), Step::DeleteLocal),
        (Some(&copied), None, Step::Done),
    ] {
        let facts = Facts {
            source: &source,
            wanted,
            local,
            remote: Remote::Yes,
        };
        assert_eq!(step(facts), expected);
    }
}

#[test]
fn a_copy_knows_its_disk_by_its_tag() {
    assert_eq!(
        source(&snapshot("n", "snapshots/local_n", 5)),
        Some(disk("d"))
    );
    assert_eq!(source(&snapshot("n", "disks/e", 5)), Some(disk("e")));
}

#[test]
fn the_source_tag_cannot_be_replaced() {
    let mut params = SnapshotParams::parse(BTreeMap::new()).unwrap();
    params.tags = BTreeMap::from([
        ("SOURCE_VOLUME_ID".to_owned(), "x".to_owned()),
        ("a".to_owned(), "b".to_owned()),
    ]);
    let tags = own_tags(&params, &disk("d"));
    assert_eq!(tags["source_volume_id"], disk("d").to_string());
    assert_eq!(tags["a"], "b");
    let local = SnapshotUri::new("s", "g", "local_n").unwrap();
    let body = copy_body(&params, &disk("d"), local.id(), &"westus".parse().unwrap());
    assert_eq!(body.properties.creation_data.create_option, "CopyStart");
    assert!(body.properties.incremental);
}

#[test]
fn only_the_own_local_snapshot_is_deleted_along() {
    let wanted = SnapshotUri::new("s", "g", "n").unwrap();
    let local = snapshot("local_n", "disks/d", 100);
    assert!(is_local_of(&local, &wanted, None));
    assert!(is_local_of(&local, &wanted, Some(&disk("d"))));
    assert!(!is_local_of(&local, &wanted, Some(&disk("e"))));
    assert!(!is_local_of(
        &snapshot("local_m", "disks/d", 100),
        &wanted,
        None
    ));
    assert!(is_disk_name(&local_name(&"x".repeat(80))));
}
