//! New volumes from old ones.

use serde_json::{Value, json};

use super::{Context, Variant, of};
use crate::equality::differences;
use crate::facts::Facts;
use crate::verdict::Wishes;

const DISK: &str = "/subscriptions/S/resourcegroups/r/providers/Microsoft.Compute/disks/d";

fn made(old: &Value, facts: &Facts, wishes: &Wishes, variant: Variant) -> Value {
    let context = Context {
        facts,
        wishes,
        variant,
        journal: "j",
        account: None,
    };
    let new = of(old, &context).unwrap();
    assert_eq!(differences(old, &new, wishes), Vec::<String>::new());
    new
}

fn plain(old: &Value) -> Value {
    made(old, &Facts::default(), &Wishes::default(), Variant::Renew)
}

fn disk() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": "pv", "uid": "u", "resourceVersion": "7", "finalizers": ["x"],
            "labels": {"failure-domain.beta.kubernetes.io/zone": "a-1", "mine": "kept"},
            "annotations": {
                "pv.kubernetes.io/provisioned-by": "kubernetes.io/azure-disk",
                "pv.kubernetes.io/migrated-to": "disk.csi.azure.com",
                "volumehelper.VolumeDynamicallyCreatedByKey": "azure-disk-dynamic-provisioner",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "mine": "kept",
            },
        },
        "spec": {
            "azureDisk": {"diskName": "d", "diskURI": DISK, "kind": "Managed",
                "cachingMode": "None", "fsType": "xfs", "readOnly": true},
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "8Gi"},
            "mountOptions": ["noatime"], "storageClassName": "c", "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"namespace": "n", "name": "c", "uid": "cu", "resourceVersion": "3"},
        },
        "status": {"phase": "Bound"},
    })
}

#[test]
fn a_disk_says_everything_and_keeps_its_id_to_the_byte() {
    let new = plain(&disk());
    assert_eq!(
        new["spec"]["csi"],
        json!({"driver": "disk.csi.azure.com", "volumeHandle": DISK, "fsType": "xfs",
            "readOnly": true, "volumeAttributes": {"cachingMode": "None"}})
    );
    assert_eq!(new["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert_eq!(
        new["spec"]["claimRef"],
        json!({"namespace": "n", "name": "c"})
    );
    assert_eq!(new["spec"]["mountOptions"], json!(["noatime"]));
    assert_eq!(
        new["metadata"],
        json!({
            "name": "pv",
            "labels": {"topology.kubernetes.io/zone": "a-1", "mine": "kept"},
            "annotations": {
                "pv.kubernetes.io/provisioned-by": "disk.csi.azure.com",
                "migrate.azcsi.dev/converted-from": "kubernetes.io/azure-disk",
                "migrate.azcsi.dev/journal": "j",
                "mine": "kept",
            },
        })
    );
    assert_eq!(new.get("status"), None);
    let zone = "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/key";
    assert_eq!(
        new.pointer(zone).unwrap(),
        "topology.disk.csi.azure.com/zone"
    );
}

#[test]
fn wishes_and_variants_show() {
    let mut old = disk();
    old["spec"]["azureDisk"]["cachingMode"] = json!("ReadWrite");
    old["spec"]["azureDisk"]["fsType"] = json!("");
    old["spec"]["persistentVolumeReclaimPolicy"] = json!("Retain");
    let wishes = Wishes {
        assume_fs_type: Some("ext4".to_owned()),
        tame_cache: true,
    };
    let new = made(&old, &Facts::default(), &wishes, Variant::Keep);
    assert_eq!(
        new["spec"]["csi"]["volumeAttributes"]["cachingMode"],
        "ReadOnly"
    );
    assert_eq!(new["spec"]["csi"]["fsType"], "ext4");
    assert_eq!(new["spec"]["claimRef"]["uid"], "cu");
    let provisioned = "/metadata/annotations/pv.kubernetes.io~1provisioned-by";
    assert_eq!(new.pointer(provisioned), None);
}

#[test]
fn a_block_disk_has_no_filesystem() {
    let mut old = disk();
    old["spec"]["volumeMode"] = json!("Block");
    old["spec"]["azureDisk"]["fsType"] = json!("");
    assert_eq!(plain(&old)["spec"]["csi"].get("fsType"), None);
}

fn share() -> Value {
    json!({
        "metadata": {"name": "pv", "annotations": {
            "kubernetes.io/azure-file-resource-group": "rg"}},
        "spec": {
            "azureFile": {"secretName": "azure-storage-account-acct-secret", "shareName": "s"},
            "accessModes": ["ReadWriteMany"], "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"namespace": "n", "name": "c"},
        },
    })
}

#[test]
fn a_share_with_a_group_gets_six_parts_and_one_without_five() {
    let new = plain(&share());
    assert_eq!(new["spec"]["csi"]["volumeHandle"], "rg#acct#s##pv#n");
    assert_eq!(
        new["spec"]["csi"]["volumeAttributes"],
        json!({"shareName": "s", "protocol": "smb", "resourceGroup": "rg"})
    );
    assert_eq!(
        new["spec"]["csi"]["nodeStageSecretRef"],
        json!({"name": "azure-storage-account-acct-secret", "namespace": "n"})
    );
    let mut old = share();
    old["metadata"]["annotations"] = Value::Null;
    assert_eq!(plain(&old)["spec"]["csi"]["volumeHandle"], "#acct#s#pv#n");
}

#[test]
fn a_difference_that_the_driver_would_see_is_found() {
    let (old, new) = (disk(), plain(&disk()));
    for (pointer, value) in [
        ("/spec/csi/volumeHandle", json!(DISK.to_lowercase())),
        ("/spec/csi/fsType", json!("ext4")),
        ("/spec/csi/readOnly", json!(false)),
        ("/spec/csi/volumeAttributes/cachingMode", json!("ReadOnly")),
        ("/spec/accessModes", json!(["ReadWriteMany"])),
        ("/spec/mountOptions", json!([])),
        ("/spec/claimRef/name", json!("other")),
        ("/spec/csi/driver", json!("file.csi.azure.com")),
    ] {
        let mut changed = new.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        assert!(
            !differences(&old, &changed, &Wishes::default()).is_empty(),
            "{pointer}"
        );
    }
    let (old, mut new) = (share(), plain(&share()));
    new["spec"]["csi"]["volumeAttributes"]["shareName"] = json!("t");
    assert!(!differences(&old, &new, &Wishes::default()).is_empty());
}
