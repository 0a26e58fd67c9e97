//! Long-running operations.

use std::time::Duration;

use azcsi_sim::Profile;
use serde_json::{Value, json};

use crate::support::{Lab, attach, disk, premium, vm, whole};

#[tokio::test]
async fn an_operation_runs_until_its_time_has_come_whoever_asks() {
    let lab = Lab::with(Profile::Azure);
    let got = lab.send("PUT", &disk("a"), premium(8)).await;
    assert_eq!(got.status, 202);
    assert_eq!(got.body["properties"]["provisioningState"], "Updating");
    assert_eq!(
        got.body.get("sku"),
        None,
        "the first answer does not have it"
    );
    let (poll, result) = (got.header("azure-asyncoperation"), got.header("location"));
    assert!(
        poll.starts_with("https://arm.test/") && poll.contains("/DiskOperations/"),
        "{poll}"
    );
    let running = lab.get(poll).await;
    assert_eq!(running.body["status"], "InProgress");
    assert_eq!(
        (running.body.get("endTime"), running.header("retry-after")),
        (None, "1")
    );
    assert_eq!(lab.get(result).await.status, 202);
    assert_eq!(
        lab.get(&disk("a")).await.body["properties"]["provisioningState"],
        "Updating"
    );
    lab.clock.advance(Duration::from_secs(60));
    let end = lab.get(poll).await.body;
    assert_eq!(end["status"], "Succeeded");
    assert_eq!(end["properties"]["output"]["name"], "a");
    assert_eq!(lab.get(result).await.body["name"], "a");
    assert_eq!(
        lab.get(&disk("a")).await.body["properties"]["provisioningState"],
        "Succeeded"
    );
}

#[tokio::test]
async fn which_headers_lead_to_an_operation_depends_on_its_kind() {
    let lab = Lab::with(Profile::Azure);
    lab.disk("a", premium(8)).await;
    let action = format!("{}/attachDetachDataDisks", vm("vm1"));
    for (method, path, body, status, location) in [
        ("PATCH", disk("a"), json!({"tags": {"x": "y"}}), 202, true),
        ("PATCH", vm("vm1"), whole(&[]), 200, false),
        ("POST", action, attach("a", 0), 202, true),
        ("DELETE", vm("vm2"), Value::Null, 202, true),
    ] {
        let got = lab.send(method, &path, body).await;
        assert_eq!(got.status, status, "{method} {path}");
        assert_ne!(got.header("azure-asyncoperation"), "", "{method} {path}");
        assert_eq!(
            !got.header("location").is_empty(),
            location,
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn an_unknown_operation_is_not_found() {
    let lab = Lab::new();
    let path = "/subscriptions/sub-1/providers/Microsoft.Compute/locations/eastus2/operations/none";
    assert_eq!(lab.get(path).await.status, 404);
}

#[tokio::test]
async fn a_disk_can_be_deleted_while_its_attach_runs() {
    let lab = Lab::with(Profile::Azure);
    lab.disk("a", premium(8)).await;
    lab.send(
        "POST",
        &format!("{}/attachDetachDataDisks", vm("vm1")),
        attach("a", 0),
    )
    .await;
    let got = lab.send("DELETE", &disk("a"), Value::Null).await;
    assert_eq!(
        got.status, 202,
        "until the attach is done, nothing stands in the way"
    );
    lab.clock.advance(Duration::from_secs(600));
    assert_eq!(lab.get(&disk("a")).await.status, 404);
}
