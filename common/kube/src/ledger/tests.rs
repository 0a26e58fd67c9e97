//! Tests of `ledger`.

use serde_json::{Value, json};

use super::{Ledger, VolumeAttachment, VolumeName};
use crate::watch::Collection as _;

const DRIVER: &str = "disk.csi.azure.com";

fn object(name: &str, node: &str, source: &Value) -> VolumeAttachment {
    serde_json::from_value(json!({
        "metadata": {"name": name, "resourceVersion": "1", "uid": "u"},
        "spec": {"attacher": DRIVER, "nodeName": node, "source": source},
        "status": {"attached": true, "attachmentMetadata": {"LUN": "3", "other": "x"}}
    }))
    .unwrap()
}

fn pv(name: &str) -> Value {
    json!({"persistentVolumeName": name})
}

#[test]
fn a_slot_that_no_machine_has_is_no_slot_ad_29() {
    for text in ["64", "-1", "abc", ""] {
        let mut wrong = object("a", "n1", &pv("pv1"));
        let metadata = &mut wrong.status.attachment_metadata;
        metadata.insert("LUN".to_owned(), text.to_owned());
        assert_eq!(wrong.of_driver(DRIVER).unwrap().lun, None, "{text}");
    }
}

#[test]
fn attachments_are_found_by_node_and_by_volume() {
    let mut ledger = Ledger::of(DRIVER);
    ledger.put(object("a", "n1", &pv("pv1")));
    ledger.put(object("b", "N1", &pv("pv2")));
    let csi = json!({"csi": {"driver": DRIVER, "volumeHandle": "/Subscriptions/X"}});
    ledger.put(object("c", "n2", &json!({"inlineVolumeSpec": csi})));
    let disk = json!({"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/x"}});
    ledger.put(object("d", "n2", &json!({"inlineVolumeSpec": disk})));
    let mut on: Vec<&str> = ledger
        .on_node(&"n1".parse().unwrap())
        .map(|a| &*a.name)
        .collect();
    on.sort_unstable();
    assert_eq!(on, ["a", "b"]);
    let names = [
        VolumeName::PersistentVolume("pv2".into()),
        VolumeName::Handle("/subscriptions/X".into()),
    ];
    let mut of: Vec<&str> = ledger
        .of_volume(names.into_iter())
        .map(|a| &*a.name)
        .collect();
    of.sort_unstable();
    assert_eq!(of, ["b", "c", "d"]);
    assert!(
        ledger
            .all
            .values()
            .all(|a| a.attached && a.lun.unwrap().get() == 3)
    );
}

#[test]
fn what_is_gone_leaves_nothing_behind() {
    let mut ledger = Ledger::of(DRIVER);
    let one = object("a", "n1", &pv("pv1"));
    ledger.put(one.clone());
    ledger.put(one.clone());
    assert_eq!(ledger.len(), 1);
    ledger.remove(&one);
    assert!(ledger.is_empty() && ledger.by_node.is_empty() && ledger.by_volume.is_empty());
}

#[test]
fn other_drivers_are_left_out() {
    let mut ledger = Ledger::of("file.csi.azure.com");
    ledger.put(object("a", "n1", &pv("pv1")));
    assert!(ledger.is_empty());
}

#[test]
fn a_deletion_that_has_begun_is_seen() {
    let value = json!({
        "metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"attacher": DRIVER, "nodeName": "n", "source": pv("p")}
    });
    let object: VolumeAttachment = serde_json::from_value(value).unwrap();
    let attachment = object.of_driver(DRIVER).unwrap();
    assert!(attachment.deleting && !attachment.attached && attachment.lun.is_none());
}
