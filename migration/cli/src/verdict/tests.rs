//! One volume per verdict.

use serde_json::{Value, json};

use super::{Verdict, Wishes, of};
use crate::facts::Facts;
use crate::inventory::Inventory;
use crate::packed::Packed;

const DISK: &str = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d";

fn inventory(volume: &Value) -> Inventory {
    let mut inventory = Inventory::default();
    inventory.volumes.insert("pv".to_owned(), volume.clone());
    for driver in ["disk.csi.azure.com", "file.csi.azure.com"] {
        inventory.drivers.insert(driver.to_owned());
    }
    inventory.index();
    inventory
}

fn disk(change: &Value) -> Value {
    let mut volume = json!({
        "metadata": {"name": "pv"},
        "spec": {
            "azureDisk": {"diskName": "d", "diskURI": DISK, "kind": "Managed", "fsType": "ext4"},
            "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
        },
    });
    merge(&mut volume, change);
    volume
}

fn merge(into: &mut Value, change: &Value) {
    match (into.is_object(), change.as_object()) {
        (true, Some(members)) => {
            for (key, value) in members {
                merge(&mut into[key.as_str()], value);
            }
        }
        _ => *into = change.clone(),
    }
}

fn verdict(volume: &Value) -> Verdict {
    let found = of(
        &inventory(volume),
        &Facts::default(),
        &Wishes::default(),
        volume,
    );
    found.unwrap().0
}

#[test]
fn every_obstacle_has_its_verdict() {
    for (change, wanted) in [
        (json!({}), Verdict::Unbound),
        (
            json!({"spec": {"azureDisk": {"kind": "Dedicated"}}}),
            Verdict::BlockedUnmanaged,
        ),
        (
            json!({"spec": {"azureDisk": {"diskURI": "https://a/vhds/b"}}}),
            Verdict::BlockedUnmanaged,
        ),
        (
            json!({"spec": {"azureDisk": {"diskURI": "/d"}}}),
            Verdict::BlockedId,
        ),
        (
            json!({"spec": {"accessModes": ["ReadWriteMany"]}}),
            Verdict::BlockedAccessMode,
        ),
        (
            json!({"metadata": {"deletionTimestamp": "t"}}),
            Verdict::BlockedTerminating,
        ),
        (
            json!({"status": {"phase": "Released"}}),
            Verdict::BlockedReleased,
        ),
        (
            json!({"spec": {"azureDisk": {"fsType": ""}}}),
            Verdict::ManualFsType,
        ),
        (
            json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "here"}}}),
            Verdict::ManualTopology,
        ),
    ] {
        assert_eq!(verdict(&disk(&change)), wanted, "{change}");
    }
}

#[test]
fn others_and_csi_volumes_are_not_converted() {
    let csi = json!({"spec": {"csi": {"driver": "disk.csi.azure.com"}}});
    assert_eq!(verdict(&csi), Verdict::AlreadyCsi);
    let other = json!({"spec": {"nfs": {}}});
    let (inventory, facts) = (Inventory::default(), Facts::default());
    assert_eq!(of(&inventory, &facts, &Wishes::default(), &other), None);
}

#[test]
fn two_volumes_of_one_disk_block_each_other() {
    let volume = disk(&json!({}));
    let mut inventory = inventory(&volume);
    let twin = json!({"spec": {"csi": {
        "driver": "disk.csi.azure.com", "volumeHandle": DISK.to_uppercase()}}});
    inventory.volumes.insert("twin".to_owned(), twin);
    inventory.index();
    let (facts, wishes) = (Facts::default(), Wishes::default());
    let (found, _) = of(&inventory, &facts, &wishes, &volume).unwrap();
    assert_eq!(found, Verdict::BlockedSharedHandle);
}

#[test]
fn the_cluster_around_a_volume_counts() {
    let volume = disk(&json!({"spec": {"claimRef": {"namespace": "n", "name": "c"}}}));
    let (facts, wishes) = (Facts::default(), Wishes::default());
    let mut inventory = inventory(&volume);
    let key = ("n".to_owned(), "c".to_owned());
    let ask = |inventory: &Inventory| of(inventory, &facts, &wishes, &volume).unwrap();
    inventory.claims.insert(
        key.clone(),
        Packed::of(&json!({"status": {"phase": "Bound"}})),
    );
    assert_eq!(ask(&inventory).0, Verdict::Ready);
    inventory.pods.push(Packed::of(
        &json!({"metadata": {"namespace": "n"}, "spec": {"volumes": [
        {"persistentVolumeClaim": {"claimName": "c"}}]}}),
    ));
    inventory.index();
    assert_eq!(ask(&inventory).0, Verdict::ReadyRestart);
    inventory
        .nodes_without
        .insert("disk.csi.azure.com", vec!["aks-1".to_owned()]);
    assert_eq!(ask(&inventory).0, Verdict::BlockedDriver);
    inventory.nodes_without.clear();
    inventory.drivers.clear();
    assert_eq!(ask(&inventory).0, Verdict::BlockedDriver);
    inventory
        .claims
        .insert(key, Packed::of(&json!({"status": {"phase": "Lost"}})));
    assert_eq!(ask(&inventory).0, Verdict::BlockedLost);
}

#[test]
fn azure_knows_about_disks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("disks.json");
    let volume = disk(&json!({"spec": {"volumeMode": "Block", "accessModes": ["ReadWriteMany"]}}));
    let ask = |listed: Value| {
        std::fs::write(&file, listed.to_string()).unwrap();
        let facts = Facts::read(Some(&file), None).unwrap();
        of(&inventory(&volume), &facts, &Wishes::default(), &volume)
            .unwrap()
            .0
    };
    assert_eq!(ask(json!([])), Verdict::BlockedDisk);
    let id = DISK.to_uppercase();
    assert_eq!(ask(json!([{"id": id, "maxShares": 2}])), Verdict::Unbound);
    assert_eq!(ask(json!([{"id": id}])), Verdict::BlockedAccessMode);
    assert_eq!(
        ask(json!([{"id": id, "maxShares": 2, "managedBy": "vm"}])),
        Verdict::BlockedDisk
    );
}

#[test]
fn a_share_needs_its_secret() {
    let volume = json!({
        "metadata": {"name": "pv"},
        "spec": {"azureFile": {"secretName": "s", "shareName": "h", "secretNamespace": "n"}},
    });
    let mut inventory = inventory(&volume);
    let (facts, wishes) = (Facts::default(), Wishes::default());
    assert_eq!(
        of(&inventory, &facts, &wishes, &volume).unwrap().0,
        Verdict::Unbound
    );
    inventory
        .secrets
        .insert(("n".to_owned(), "s".to_owned()), None);
    assert_eq!(
        of(&inventory, &facts, &wishes, &volume).unwrap().0,
        Verdict::BlockedSecret
    );
    let empty = json!({"metadata": {"name": "pv"}, "spec": {"azureFile": {
        "secretName": "s", "shareName": "", "secretNamespace": "n"}}});
    assert_eq!(
        of(&Inventory::default(), &facts, &wishes, &empty)
            .unwrap()
            .0,
        Verdict::BlockedId
    );
}
