//! Snapshots.

use std::time::Duration;

use azcsi_sim::Profile;
use serde_json::{Value, json};

use crate::support::{Lab, R, disk, premium};

fn path(name: &str) -> String {
    format!("{R}/snapshots/{name}")
}

fn of(source: &str, incremental: bool) -> Value {
    json!({"location": "eastus2", "properties": {"incremental": incremental,
        "creationData": {"createOption": "Copy", "sourceResourceId": source}}})
}

#[tokio::test]
async fn a_snapshot_has_its_disks_size_and_family_and_a_disk_is_made_from_it() {
    let lab = Lab::new();
    let source = lab.disk("a", premium(16)).await;
    let first =
        lab.done("PUT", &path("s1"), of(&disk("a"), true)).await["properties"]["output"].clone();
    let second =
        lab.done("PUT", &path("s2"), of(&disk("a"), true)).await["properties"]["output"].clone();
    assert_eq!(first["properties"]["diskSizeGB"], 16);
    assert_eq!(first["properties"]["completionPercent"], 100.0);
    assert_eq!(
        first["properties"]["creationData"]["sourceUniqueId"],
        source["properties"]["uniqueId"]
    );
    let family = "incrementalSnapshotFamilyId";
    assert_eq!(first["properties"][family], second["properties"][family]);
    let mut body = premium(8);
    body["properties"]["creationData"] =
        json!({"createOption": "Copy", "sourceResourceId": path("s1")});
    assert_eq!(
        lab.send("PUT", &disk("small"), body.clone()).await.status,
        400,
        "too small"
    );
    body["properties"]["diskSizeGB"] = Value::Null;
    assert_eq!(lab.disk("b", body).await["properties"]["diskSizeGB"], 16);
    lab.done("DELETE", &path("s1"), Value::Null).await;
    assert_eq!(lab.get(&path("s1")).await.status, 404);
    assert_eq!(
        lab.send("DELETE", &path("s1"), Value::Null).await.status,
        204
    );
}

#[tokio::test]
async fn the_same_name_for_another_disk_is_refused() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    lab.disk("b", premium(8)).await;
    let first = lab.done("PUT", &path("s"), of(&disk("a"), true)).await;
    let again = lab.done("PUT", &path("s"), of(&disk("A"), true)).await;
    let unique = "/properties/output/properties/uniqueId";
    assert_eq!(first.pointer(unique), again.pointer(unique));
    let got = lab.send("PUT", &path("s"), of(&disk("b"), true)).await;
    assert_eq!(got.status, 409);
    assert!(got.message().contains("existing disk"));
    assert_eq!(
        lab.send("PUT", &path("t"), of(&disk("none"), true))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn a_copy_to_another_region_fills_up() {
    let lab = Lab::with(Profile::Azure);
    lab.disk("a", premium(8)).await;
    lab.done("PUT", &path("s"), of(&disk("a"), true)).await;
    let mut body = of(&path("s"), true);
    body["location"] = json!("westus2");
    assert_eq!(
        lab.send("PUT", &path("far"), body.clone()).await.status,
        400,
        "Copy stays in its region"
    );
    body["properties"]["creationData"]["createOption"] = json!("CopyStart");
    lab.send("PUT", &path("far"), body).await;
    let mut seen = Vec::new();
    for _ in 0..200 {
        let shown = lab.get(&path("far")).await.body;
        let percent = shown["properties"]["completionPercent"]
            .as_f64()
            .expect("percent");
        assert!(
            seen.last().is_none_or(|last| *last <= percent),
            "it never falls"
        );
        seen.push(percent);
        lab.clock.advance(Duration::from_secs(20));
    }
    assert!(
        seen.iter()
            .any(|percent| *percent > 0.0 && *percent < 100.0),
        "{seen:?}"
    );
    assert_eq!(seen.last(), Some(&100.0));
}

#[tokio::test]
async fn flexible_disks_take_incremental_snapshots_only() {
    let lab = Lab::new();
    let mut body = premium(8);
    body["sku"]["name"] = json!("PremiumV2_LRS");
    lab.disk("v2", body).await;
    assert_eq!(
        lab.send("PUT", &path("s"), of(&disk("v2"), false))
            .await
            .status,
        400
    );
    lab.done("PUT", &path("s"), of(&disk("v2"), true)).await;
}
