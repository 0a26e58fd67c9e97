//! PersistentVolumes of both kinds, and the sources inside them.

use serde_json::{Value, json};

use super::parts::*;
use crate::dice::Dice;

pub(super) fn metadata(dice: &mut Dice) -> Value {
    let mut out = Builder::default();
    out.put("name", dice.one(&["pv-1", "pvc-x.vhd", "a#b", "data"]));
    if dice.once_in(3) {
        let group = dice.one(&["", "rg", "RG", "a#b"]);
        out.put("annotations", json!({RESOURCE_GROUP: group, "k": "v"}));
    }
    if dice.once_in(3) {
        let (key, zone) = (dice.one(&KEYS), dice.one(&ZONES));
        out.put("labels", json!({key: zone, "app": "db"}));
    }
    out.0.into()
}

/// The `spec` without a source.
pub(super) fn spec(dice: &mut Dice) -> Builder {
    let mut out = Builder::default();
    if dice.once_in(2) {
        out.put("capacity", json!({"storage": "8Gi"}));
        out.put("accessModes", json!(["ReadWriteOnce", "ReadOnlyMany"]));
        out.put("persistentVolumeReclaimPolicy", "Delete");
        out.put("mountOptions", json!(["discard"]));
    }
    match dice.below(4) {
        0 => out.put("claimRef", json!({"namespace": "shop", "name": "data"})),
        1 => out.put("claimRef", json!({"name": "data"})),
        2 => out.put("claimRef", Value::Null),
        _ => {}
    }
    if dice.once_in(3) {
        let terms: Vec<Value> = (0..1 + dice.below(3))
            .map(|_| term(dice, "matchExpressions"))
            .collect();
        out.put(
            "nodeAffinity",
            json!({"required": {"nodeSelectorTerms": terms}}),
        );
    }
    out
}

pub(super) fn term(dice: &mut Dice, list: &str) -> Value {
    let expressions: Vec<Value> = (0..dice.below(3))
        .map(|_| {
            let values: Vec<&str> = (0..1 + dice.below(3)).map(|_| dice.one(&ZONES)).collect();
            let mut out = json!({"key": dice.one(&KEYS), "values": values});
            if list == "matchExpressions" {
                out["operator"] = json!("In");
            }
            out
        })
        .collect();
    json!({list: expressions})
}

pub(super) fn disk_source(dice: &mut Dice) -> Value {
    let mut out = Builder::default();
    out.text(dice, "diskName", &["d", "pvc-1"]);
    let uri = disk_uri(dice);
    out.text(dice, "diskURI", &[&uri]);
    out.text(
        dice,
        "kind",
        &[
            "Managed",
            "Managed",
            "Managed",
            "Managed",
            "Shared",
            "Dedicated",
            "",
        ],
    );
    out.text(dice, "cachingMode", &["None", "ReadOnly", "ReadWrite", ""]);
    out.text(dice, "fsType", &["ext4", "xfs", "XFS", ""]);
    out.flag(dice, "readOnly");
    out.0.into()
}

pub(super) fn file_source(dice: &mut Dice, place: &str) -> Value {
    let mut out = Builder::default();
    let secret = secret(dice);
    out.text(dice, "secretName", &[&secret]);
    out.text(dice, "shareName", &["share", "a#b", ""]);
    if place == "volume" {
        out.text(dice, "secretNamespace", &["ns", "kube-system", ""]);
    }
    out.flag(dice, "readOnly");
    out.0.into()
}

pub(super) fn put_source(dice: &mut Dice, holder: &mut Builder, place: &str) {
    match dice.below(20) {
        0 => holder.put("hostPath", json!({"path": "/x"})),
        1 => holder.put("azuredisk", json!({"diskName": "d", "diskURI": "u"})),
        2 => holder.put("azureFile", Value::Null),
        3..=10 => {
            let source = file_source(dice, place);
            holder.put("azureFile", source);
        }
        _ => {
            let source = disk_source(dice);
            holder.put("azureDisk", source);
        }
    }
}

pub(super) fn volume(dice: &mut Dice, spec: Builder) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata(dice), "spec": spec.0})
}

/// A PersistentVolume with an in-tree source, or nearly so.
pub(crate) fn in_tree_volume(dice: &mut Dice) -> Value {
    if dice.once_in(200) {
        return Value::Null;
    }
    let mut spec = spec(dice);
    put_source(dice, &mut spec, "volume");
    volume(dice, spec)
}

pub(super) fn attributes(dice: &mut Dice, known: &[(&str, &[&str])]) -> Value {
    let mut out = Builder::default();
    for (key, values) in known {
        match dice.below(6) {
            0 | 1 => {}
            2 => {
                let key = respelled(dice, key);
                out.text(dice, &key, values);
            }
            3 => {
                let key = mutated(dice, key);
                out.text(dice, &key, values);
            }
            _ => out.text(dice, key, values),
        }
    }
    let mut lower: Vec<String> = out.0.keys().map(|key| key.to_lowercase()).collect();
    lower.sort();
    lower.dedup();
    if lower.len() < out.0.len() {
        json!({})
    } else {
        out.0.into()
    }
}

pub(super) fn file_handle(dice: &mut Dice) -> String {
    let parts: Vec<&str> = (0..dice.below(8))
        .map(|_| dice.one(&["", "rg", "acct", "share", "pv.vhd", "ns", "u-1"]))
        .collect();
    parts.join("#")
}

pub(super) fn secret_reference(dice: &mut Dice) -> Value {
    let mut out = Builder::default();
    out.text(
        dice,
        "name",
        &["mine", "azure-storage-account-b-secret", ""],
    );
    out.text(dice, "namespace", &["ns", ""]);
    out.0.into()
}

/// A PersistentVolume with a CSI source, or nearly so.
pub(crate) fn csi_volume(dice: &mut Dice) -> Value {
    if dice.once_in(200) {
        return Value::Null;
    }
    let source = csi_source(dice);
    let mut spec = spec(dice);
    match dice.below(25) {
        0 => {}
        1 => spec.put("csi", Value::Null),
        _ => spec.put("csi", source),
    }
    volume(dice, spec)
}

fn csi_source(dice: &mut Dice) -> Value {
    let mut csi = Builder::default();
    let disk = dice.once_in(2);
    let driver = match dice.below(30) {
        0 => "Disk.csi.azure.com",
        1 => "blob.csi.azure.com",
        _ if disk => DISK_DRIVER,
        _ => FILE_DRIVER,
    };
    csi.put("driver", driver);
    let handle = if disk {
        disk_uri(dice)
    } else {
        file_handle(dice)
    };
    csi.text(dice, "volumeHandle", &[&handle]);
    let found = csi_attributes(dice, driver);
    csi.put("volumeAttributes", found);
    csi.text(dice, "fsType", &["ext4", "xfs", ""]);
    csi.flag(dice, "readOnly");
    for key in [
        "nodeStageSecretRef",
        "nodePublishSecretRef",
        "controllerExpandSecretRef",
    ] {
        if dice.once_in(3) {
            let typed = key == "nodeStageSecretRef" && !disk;
            let reference = if typed {
                secret_reference(dice)
            } else {
                json!({"name": "x"})
            };
            csi.put(key, reference);
        }
    }
    csi.0.into()
}

fn csi_attributes(dice: &mut Dice, driver: &str) -> Value {
    if driver != FILE_DRIVER {
        attributes(
            dice,
            &[
                ("cachingmode", &["None", "ReadOnly", "ReadWrite", ""]),
                ("fstype", &["ext4", "xfs", ""]),
                ("kind", &["Managed", "Dedicated", ""]),
            ],
        )
    } else {
        attributes(
            dice,
            &[
                ("sharename", &["share", "a#b", ""]),
                ("secretname", &["mine", ""]),
                ("secretnamespace", &["ns", ""]),
                ("protocol", &["smb", "nfs"]),
            ],
        )
    }
}
