//! Quotas, and what must not happen besides faults of the host: data that is read through another
//! disk, disks that should have stayed, secrets in logs.

use azcsi_sim::Quotas;
use azcsi_sim::kubeapi::Store;
use azcsi_sim::kubeapi::resources::{Part, Target, of_kind};
use serde_json::{Value, json};

use crate::support::{Got, Lab, R, SUB, disk, premium};

fn with(quotas: &str) -> Lab {
    Lab::options(|options| options.quotas = quotas.parse().expect("quotas"))
}

fn rules(lab: &Lab) -> Vec<String> {
    let found = lab.sim.violations().into_iter();
    found.map(|violation| violation.rule).collect()
}

fn flexible(gib: u64) -> Value {
    let mut body = premium(gib);
    body["sku"]["name"] = json!("PremiumV2_LRS");
    body
}

fn snapshot(name: &str) -> String {
    format!("{R}/snapshots/{name}")
}

fn copy_of(source: &str) -> Value {
    json!({"location": "eastus2", "zones": ["1"], "sku": {"name": "Premium_LRS"},
        "properties": {"creationData": {"createOption": "Copy", "sourceResourceId": source}}})
}

fn refused(got: &Got, name: &str) {
    assert_eq!((got.status, got.code()), (409, "OperationNotAllowed"));
    assert!(got.message().contains(name), "{}", got.message());
}

#[tokio::test]
async fn disks_and_snapshots_of_a_type_are_counted() {
    let lab = with("disks=2,snapshots=1");
    lab.disk("a", premium(8)).await;
    lab.disk("b", premium(8)).await;
    let got = lab.send("PUT", &disk("c"), premium(8)).await;
    refused(&got, "PremiumDiskCount");
    assert_eq!(lab.get(&disk("c")).await.status, 404);
    // Changes need no room, and another type has its own.
    lab.disk("b", premium(16)).await;
    lab.disk("v2", flexible(8)).await;
    let usages = format!("{SUB}/providers/Microsoft.Compute/locations/eastus2/usages");
    let usages = lab.get(&usages).await.body;
    let all = usages["value"].as_array().expect("a list");
    let of = |name: &str| all.iter().find(|row| row["name"]["value"] == name);
    let row = of("PremiumDiskCount").expect("a row");
    assert_eq!(
        (&row["currentValue"], &row["limit"]),
        (&json!(2), &json!(2))
    );
    lab.done("PUT", &snapshot("s"), copy_of(&disk("a"))).await;
    let got = lab.send("PUT", &snapshot("t"), copy_of(&disk("a"))).await;
    refused(&got, "StorageSnapshots");
    lab.done("PUT", &snapshot("s"), copy_of(&disk("a"))).await;
    lab.done("DELETE", &disk("a"), Value::Null).await;
    lab.disk("c", premium(8)).await;
}

#[tokio::test]
async fn the_size_of_disks_with_provisioned_performance_is_added_up() {
    let lab = with("gib=100");
    lab.disk("a", flexible(60)).await;
    let got = lab.send("PUT", &disk("b"), flexible(41)).await;
    refused(&got, "PremiumV2DiskSizeInGB");
    let grow = |gib: u64| json!({"properties": {"diskSizeGB": gib}});
    let got = lab.send("PATCH", &disk("a"), grow(101)).await;
    refused(&got, "PremiumV2DiskSizeInGB");
    lab.done("PATCH", &disk("a"), grow(100)).await;
    lab.disk("large", premium(4096)).await;
}

#[tokio::test]
async fn without_quotas_and_with_those_of_azure_a_few_disks_fit() {
    for quotas in [Quotas::default(), Quotas::azure()] {
        let lab = Lab::options(|options| options.quotas = quotas);
        for name in ["a", "b", "c"] {
            lab.disk(name, flexible(1024)).await;
        }
    }
}

#[tokio::test]
async fn data_is_read_through_its_disk_and_copies_of_it_only() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    lab.disk("b", premium(8)).await;
    assert!(lab.sim.wrote(&disk("a"), "of a"));
    lab.done("PUT", &snapshot("s"), copy_of(&disk("a"))).await;
    lab.disk("c", copy_of(&snapshot("s"))).await;
    lab.done("DELETE", &snapshot("s"), Value::Null).await;
    for disk in ["a", "c"] {
        assert!(lab.sim.read(disk, "of a"));
    }
    assert!(lab.sim.read("b", "of nobody"));
    assert!(!lab.sim.read("none", "of a"));
    assert_eq!(rules(&lab), [""; 0]);
    assert!(lab.sim.read("b", "of a"));
    assert_eq!(rules(&lab), ["readThroughAnother"]);
}

#[tokio::test]
async fn a_disk_of_the_same_name_is_another_disk() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    lab.sim.wrote("a", "old");
    lab.done("DELETE", &disk("a"), Value::Null).await;
    lab.disk("a", premium(8)).await;
    lab.sim.read("a", "old");
    assert_eq!(rules(&lab), ["readThroughAnother"]);
}

#[tokio::test]
async fn the_delete_of_a_guarded_disk_is_noted() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    lab.disk("b", premium(8)).await;
    assert!(lab.sim.guard("a"));
    assert!(!lab.sim.guard("none"));
    lab.done("DELETE", &disk("b"), Value::Null).await;
    assert_eq!(rules(&lab), [""; 0]);
    lab.done("DELETE", &disk("a"), Value::Null).await;
    assert_eq!(rules(&lab), ["guardedDiskDeleted"]);
}

#[tokio::test]
async fn secrets_in_a_log_are_named_by_their_line_and_not_repeated() {
    let lab = Lab::options(|options| options.secrets = vec!["very secret".to_owned()]);
    lab.sim
        .logged("clean", "a line\nsig=REDACTED\nAuthorization: Bearer ...");
    assert_eq!(rules(&lab), [""; 0]);
    lab.sim
        .logged("controller", "fine\nthe password is 'very secret'\n");
    let found = lab.sim.violations();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, "secretInLog");
    assert_eq!(found[0].about, "controller, line 2");
}

#[tokio::test]
async fn an_imported_disk_may_have_an_odd_number_of_bytes_which_its_copies_keep() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    lab.sim.change(|azure| {
        let key = azure.disks.keys().next().expect("a disk").clone();
        azure.disks.get_mut(&key).expect("a disk").odd_bytes = 1 << 20;
    });
    let bytes = (8_u64 << 30) + (1 << 20);
    let shown = lab.get(&disk("a")).await.body["properties"].clone();
    assert_eq!(
        (&shown["diskSizeGB"], &shown["diskSizeBytes"]),
        (&json!(8), &json!(bytes))
    );
    let copy = lab.disk("b", copy_of(&disk("a"))).await;
    assert_eq!(copy["properties"]["diskSizeBytes"], bytes);
    let mut small = copy_of(&disk("a"));
    small["properties"]["diskSizeGB"] = json!(8);
    assert_eq!(lab.send("PUT", &disk("c"), small.clone()).await.status, 400);
    small["properties"]["diskSizeGB"] = json!(9);
    let copy = lab.disk("c", small).await;
    assert_eq!(copy["properties"]["diskSizeBytes"], 9_u64 << 30);
}

fn volume(name: &str, policy: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
        "persistentVolumeReclaimPolicy": policy, "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "8Gi"},
        "csi": {"driver": "disk.csi.azure.com", "volumeHandle": disk(name)}}})
}

#[tokio::test]
async fn a_disk_that_outlives_its_volume_is_left_behind_unless_it_was_to_be_kept() {
    let lab = Lab::new();
    let store = Store::new(lab.clock.clone());
    let place = |name: Option<&str>| Target {
        resource: of_kind("PersistentVolume").expect("a kind"),
        namespace: None,
        name: name.map(str::to_owned),
        part: Part::Whole,
    };
    let left = |lab: &Lab, store: &Store| {
        lab.sim.released(store.released());
        rules(lab)
    };
    for (name, policy) in [("kept", "Retain"), ("left", "Delete")] {
        lab.disk(name, premium(8)).await;
        let made = store.create(&place(None), volume(name, policy));
        made.expect("a volume");
        assert_eq!(left(&lab, &store), [""; 0]);
        let gone = store.delete(&place(Some(name)), &Value::Null);
        gone.expect("it was there");
    }
    assert_eq!(left(&lab, &store), ["diskWithoutVolume"]);
    let again = store.create(&place(None), volume("left", "Delete"));
    again.expect("a volume");
    assert_eq!(left(&lab, &store), [""; 0], "another volume has it");
    store
        .delete(&place(Some("left")), &Value::Null)
        .expect("it was there");
    lab.done("DELETE", &disk("left"), Value::Null).await;
    assert_eq!(left(&lab, &store), [""; 0]);
}
