//! Disks: made, changed, listed, shared, deleted.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Lab, R, SUB, attach, disk, premium, vm};

#[tokio::test]
async fn a_new_disk_has_the_defaults_of_azure() {
    let lab = Lab::new();
    let made = lab.disk("Pvc-1", premium(100)).await;
    assert_eq!(
        made["sku"],
        json!({"name": "Premium_LRS", "tier": "Premium"})
    );
    let properties = &made["properties"];
    assert_eq!(properties["tier"], "P10");
    assert_eq!(properties["diskIOPSReadWrite"], 500);
    assert_eq!(properties["diskSizeBytes"], 107_374_182_400_u64);
    assert_eq!(properties["networkAccessPolicy"], "AllowAll");
    assert_eq!(properties["diskState"], "Unattached");
    assert_eq!(properties.get("maxShares"), None);
    assert_eq!(
        lab.get(&disk("pvc-1").to_lowercase()).await.body["name"],
        "Pvc-1"
    );
    let plain = json!({"location": "East US 2", "properties": {
        "creationData": {"createOption": "Empty"}, "diskSizeGB": 10}});
    let plain = lab.disk("plain", plain).await;
    assert_eq!(
        plain["sku"],
        json!({"name": "Standard_LRS", "tier": "Standard"})
    );
    assert_eq!(plain["location"], "eastus2");
}

#[tokio::test]
async fn making_it_again_changes_nothing_and_another_source_is_refused() {
    let lab = Lab::new();
    let first = lab.disk("a", premium(8)).await;
    let again = lab.disk("a", premium(8)).await;
    assert_eq!(
        first["properties"]["uniqueId"],
        again["properties"]["uniqueId"]
    );
    let mut other = premium(8);
    other["zones"] = json!(["2"]);
    let got = lab.send("PUT", &disk("a"), other).await;
    assert_eq!((got.status, got.code()), (409, "PropertyChangeNotAllowed"));
}

#[tokio::test]
async fn disks_that_azure_would_not_make_are_refused() {
    let lab = Lab::new();
    let change = |pointer: &str, value: Value| {
        let mut body = premium(8);
        let (parent, name) = pointer.rsplit_once('/').expect("pointer");
        body.pointer_mut(parent).expect("parent")[name] = value;
        body
    };
    for (name, body, target) in [
        ("-x", premium(8), "name"),
        ("a", premium(40_000), "diskSizeGB"),
        ("a", change("/sku/name", json!("Tape_LRS")), "sku.name"),
        ("a", change("/properties/maxShares", json!(4)), "maxShares"),
        ("a", change("/properties/tier", json!("P1000")), "tier"),
        (
            "a",
            change("/properties/burstingEnabled", json!(true)),
            "burstingEnabled",
        ),
        (
            "a",
            change("/properties/networkAccessPolicy", json!("AllowPrivate")),
            "diskAccessId",
        ),
        (
            "a",
            change("/properties/creationData", json!(null)),
            "creationData",
        ),
        ("a", change("/sku/name", json!("Premium_ZRS")), "zones"),
        (
            "a",
            change("/properties/diskSizeGB", json!("big")),
            "diskSizeGB",
        ),
    ] {
        let got = lab.send("PUT", &disk(name), body).await;
        assert_eq!(
            (got.status, got.code()),
            (400, "InvalidParameter"),
            "{target}: {}",
            got.body
        );
        assert_eq!(got.body["error"]["target"], target);
        assert_eq!(lab.get(&disk(name)).await.status, 404, "nothing was made");
    }
}

#[tokio::test]
async fn flexible_disks_have_their_own_performance() {
    let lab = Lab::new();
    let body = |iops: u64, mbps: u64| {
        json!({"location": "eastus2", "zones": ["1"], "sku": {"name": "PremiumV2_LRS"}, "properties": {
            "creationData": {"createOption": "Empty"}, "diskSizeGB": 10,
            "diskIOPSReadWrite": iops, "diskMBpsReadWrite": mbps}})
    };
    let made = lab.disk("v2", body(5000, 200)).await;
    assert_eq!(made["properties"]["diskIOPSReadWrite"], 5000);
    for (iops, mbps) in [(2999, 125), (5001, 125), (3000, 751)] {
        let got = lab.send("PUT", &disk("bad"), body(iops, mbps)).await;
        assert_eq!(got.status, 400, "{iops} {mbps}");
    }
    let faster = |iops: u64| json!({"properties": {"diskIOPSReadWrite": iops}});
    for iops in [4001, 4002, 4003, 4004] {
        lab.done("PATCH", &disk("v2"), faster(iops)).await;
    }
    assert_eq!(
        lab.send("PATCH", &disk("v2"), faster(4005)).await.status,
        409
    );
    lab.clock.advance(Duration::from_secs(25 * 3600));
    assert_eq!(
        lab.send("PATCH", &disk("v2"), faster(4005)).await.status,
        202
    );
}

#[tokio::test]
async fn a_disk_grows_and_never_shrinks() {
    let lab = Lab::new();
    lab.disk("a", premium(32)).await;
    let size = |gib: u64| json!({"properties": {"diskSizeGB": gib}});
    let done = lab.done("PATCH", &disk("a"), size(64)).await;
    assert_eq!(done["properties"]["output"]["properties"]["tier"], "P6");
    assert_eq!(lab.send("PATCH", &disk("a"), size(16)).await.status, 409);
    lab.done(
        "POST",
        &format!("{}/attachDetachDataDisks", vm("vm1")),
        attach("a", 0),
    )
    .await;
    lab.done("PATCH", &disk("a"), size(4095)).await;
    let got = lab.send("PATCH", &disk("a"), size(4096)).await;
    assert_eq!(got.code(), "OperationNotAllowed");
    assert_eq!(
        got.message(),
        "Disks cannot be resized beyond 4095 GiB when attached to a VM."
    );
}

#[tokio::test]
async fn an_attached_disk_or_one_with_a_sas_is_not_deleted() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    let grant = json!({"access": "Read", "durationInSeconds": 7200});
    let path = format!("{}/beginGetAccess", disk("a"));
    let done = lab.done("POST", &path, grant.clone()).await;
    let sas = done["properties"]["output"]["accessSAS"]
        .as_str()
        .expect("a SAS");
    assert!(sas.starts_with("https://"));
    assert_eq!(
        lab.get(&disk("a")).await.body["properties"]["diskState"],
        "ActiveSAS"
    );
    assert_eq!(
        lab.send("DELETE", &disk("a"), Value::Null).await.status,
        409
    );
    lab.done("POST", &format!("{}/endGetAccess", disk("a")), Value::Null)
        .await;
    lab.done(
        "POST",
        &format!("{}/attachDetachDataDisks", vm("vm1")),
        attach("a", 0),
    )
    .await;
    let got = lab.send("DELETE", &disk("a"), Value::Null).await;
    assert_eq!((got.status, got.code()), (409, "OperationNotAllowed"));
    assert!(got.message().contains("is attached to VM"));
    let got = lab.send("POST", &path, grant).await;
    assert_eq!((got.status, got.code()), (409, "Conflict"));
}

#[tokio::test]
async fn deleting_what_is_gone_is_no_error_and_a_new_one_is_another_disk() {
    let lab = Lab::new();
    let first = lab.disk("a", premium(8)).await;
    lab.done("DELETE", &disk("a"), Value::Null).await;
    assert_eq!(lab.get(&disk("a")).await.status, 404);
    assert_eq!(
        lab.send("DELETE", &disk("a"), Value::Null).await.status,
        204
    );
    let second = lab.disk("a", premium(8)).await;
    assert_ne!(
        first["properties"]["uniqueId"],
        second["properties"]["uniqueId"]
    );
}

#[tokio::test]
async fn a_shared_disk_names_all_its_owners_and_no_more_than_it_may_have() {
    let lab = Lab::new();
    let mut body = premium(8);
    body["properties"]["maxShares"] = json!(2);
    lab.disk("s", body).await;
    let request = |lun: u32| attach("s", lun);
    for name in ["vm1", "vm2"] {
        lab.done(
            "POST",
            &format!("{}/attachDetachDataDisks", vm(name)),
            request(0),
        )
        .await;
    }
    let shown = lab.get(&disk("s")).await.body;
    assert_eq!(shown["managedByExtended"], json!([vm("vm1"), vm("vm2")]));
    assert_eq!(shown["properties"]["shareInfo"][1]["vmUri"], vm("vm2"));
    let got = lab
        .send(
            "POST",
            &format!("{}/attachDetachDataDisks", vm("flex_1")),
            request(0),
        )
        .await;
    assert_eq!((got.status, got.code()), (409, "ConflictingUserInput"));
    assert!(lab.sim.violations().is_empty());
}

#[tokio::test]
async fn lists_come_in_pages_by_group_and_by_subscription() {
    let lab = Lab::options(|options| options.page_size = 2);
    for name in ["a", "b", "c", "d", "e"] {
        lab.disk(name, premium(8)).await;
    }
    for path in [
        format!("{R}/disks"),
        format!("{SUB}/providers/Microsoft.Compute/disks"),
    ] {
        let mut names = Vec::new();
        let mut next = path.clone();
        while !next.is_empty() {
            let page = lab.get(&next).await.body;
            let items = page["value"].as_array().expect("list");
            names.extend(
                items
                    .iter()
                    .map(|disk| disk["name"].as_str().expect("name").to_owned()),
            );
            page["nextLink"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut next);
        }
        assert_eq!(names, ["a", "b", "c", "d", "e"], "{path}");
    }
}
