//! File shares: the management plane, and what both planes share.

use std::time::Duration;

use azcsi_sim::Profile;
use serde_json::{Value, json};

use crate::storage_support::{below, body, share};
use crate::support::Lab;

fn sized(gib: u64) -> Value {
    json!({"properties": {"shareQuota": gib}})
}

#[tokio::test]
async fn a_share_is_made_once_and_then_changed() {
    let lab = Lab::new();
    lab.account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    let wanted =
        json!({"properties": {"shareQuota": 100, "metadata": {"createdBy": "file.csi.azure.com"}}});
    let got = lab
        .send("PUT", &share("files01", "pvc-1"), wanted.clone())
        .await;
    assert_eq!(
        (got.status, &got.body["properties"]),
        (201, &wanted["properties"])
    );
    assert_eq!(got.header("etag"), got.body["etag"]);
    assert_eq!(
        lab.send("PUT", &share("files01", "pvc-1"), wanted)
            .await
            .status,
        200
    );
    let got = lab.get(&share("files01", "pvc-1")).await.body;
    let properties = &got["properties"];
    assert_eq!(properties["shareQuota"], 100);
    assert_eq!(properties["accessTier"], "TransactionOptimized");
    assert_eq!(properties["leaseState"], "available");
    assert_eq!(properties["metadata"]["createdBy"], "file.csi.azure.com");
    assert_eq!(properties.get("shareUsageBytes"), None);
    let stats = format!("{}&$expand=stats", share("files01", "pvc-1"));
    assert_eq!(
        lab.get(&stats).await.body["properties"]["shareUsageBytes"],
        0
    );
}

#[tokio::test]
async fn a_share_of_an_account_without_provisioning_grows_and_shrinks_at_will() {
    let lab = Lab::new();
    lab.account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    lab.share("files01", "pvc-1", json!({"shareQuota": 100}))
        .await;
    let got = lab
        .send("PATCH", &share("files01", "pvc-1"), sized(200))
        .await;
    assert_eq!(
        (got.status, &got.body["properties"]["shareQuota"]),
        (200, &json!(200))
    );
    let got = lab
        .send("PATCH", &share("files01", "pvc-1"), sized(50))
        .await;
    assert_eq!(
        got.status, 200,
        "pay-as-you-go shares may shrink at any time"
    );
    let absent = lab.get(&share("files01", "absent")).await;
    assert_eq!((absent.status, absent.code()), (404, "ShareNotFound"));
    assert!(
        absent.message().contains("\nRequestId:"),
        "{}",
        absent.message()
    );
}

#[tokio::test]
async fn sizes_protocols_and_names_have_their_limits() {
    let lab = Lab::new();
    lab.account("hdd", body("StorageV2", "Standard_LRS")).await;
    lab.account("ssd", body("FileStorage", "Premium_LRS")).await;
    lab.account("two", body("FileStorage", "PremiumV2_LRS"))
        .await;
    let nfs = |gib: u64| json!({"properties": {"shareQuota": gib, "enabledProtocols": "NFS"}});
    for (account, name, wanted, status, code) in [
        ("hdd", "pvc-1", sized(5121), 400, "InvalidHeaderValue"),
        (
            "hdd",
            "pvc-1",
            nfs(100),
            400,
            "FeatureNotSupportedForAccount",
        ),
        ("hdd", "No--Good", sized(1), 400, "InvalidResourceName"),
        ("ssd", "pvc-1", sized(99), 400, "InvalidHeaderValue"),
        ("ssd", "pvc-1", nfs(100), 201, ""),
        (
            "two",
            "pvc-1",
            sized(31),
            400,
            "FileShareProvisionedStorageInvalid",
        ),
        (
            "two",
            "pvc-1",
            json!({"properties": {"shareQuota": 32, "provisionedIops": 10}}),
            400,
            "FileShareProvisionedIopsInvalid",
        ),
        ("two", "pvc-1", sized(100), 201, ""),
    ] {
        let got = lab.send("PUT", &share(account, name), wanted).await;
        assert_eq!((got.status, got.code()), (status, code), "{account} {name}");
    }
    let two = lab.get(&share("two", "pvc-1")).await.body;
    assert_eq!(two["properties"]["provisionedIops"], 3100);
    assert_eq!(two["properties"]["provisionedBandwidthMibps"], 135);
    let ssd = lab.get(&share("ssd", "pvc-1")).await.body;
    assert_eq!(ssd["properties"]["rootSquash"], "NoRootSquash");
    let smb = json!({"properties": {"enabledProtocols": "SMB"}});
    let got = lab.send("PUT", &share("ssd", "pvc-1"), smb).await;
    assert_eq!((got.status, got.code()), (409, "ShareAlreadyExists"));
}

#[tokio::test]
async fn what_was_provisioned_stays_for_a_day() {
    let lab = Lab::new();
    lab.account("two", body("FileStorage", "StandardV2_LRS"))
        .await;
    lab.share("two", "pvc-1", json!({"shareQuota": 100})).await;
    let got = lab.send("PATCH", &share("two", "pvc-1"), sized(64)).await;
    assert_eq!(
        (got.status, got.code()),
        (409, "ContainerQuotaDowngradeNotAllowed")
    );
    let got = lab.get(&share("two", "pvc-1")).await.body;
    assert!(
        got["properties"]["nextAllowedQuotaDowngradeTime"]
            .as_str()
            .is_some_and(|t| t.starts_with("2026-01-02"))
    );
    lab.clock.advance(Duration::from_secs(25 * 3600));
    assert_eq!(
        lab.send("PATCH", &share("two", "pvc-1"), sized(64))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn deleted_shares_still_count_and_a_full_account_says_so() {
    let lab = Lab::new();
    lab.account("ssd", body("FileStorage", "Premium_LRS")).await;
    lab.share("ssd", "big", json!({"shareQuota": 102_400}))
        .await;
    assert_eq!(
        lab.send("DELETE", &share("ssd", "big"), Value::Null)
            .await
            .status,
        200
    );
    let got = lab.send("PUT", &share("ssd", "new"), sized(100)).await;
    assert_eq!(
        (got.status, got.code()),
        (409, "TotalSharesProvisionedCapacityExceedsAccountLimit")
    );
    lab.clock.advance(Duration::from_secs(8 * 24 * 3600));
    assert_eq!(
        lab.send("PUT", &share("ssd", "new"), sized(100))
            .await
            .status,
        201
    );
    lab.account("two", body("FileStorage", "PremiumV2_LRS"))
        .await;
    let usage = below("two", "fileServices/default/usages/default");
    let mut last = 201;
    let mut made = 0;
    while last == 201 && made < 60 {
        let wanted = json!({"properties": {"shareQuota": 32, "provisionedIops": 3000, "provisionedBandwidthMibps": 125}});
        let got = lab
            .send("PUT", &share("two", &format!("pvc-{made}")), wanted)
            .await;
        last = got.status;
        made += u64::from(last == 201);
    }
    let used =
        lab.get(&usage).await.body["properties"]["storageAccountUsage"]["liveShares"].clone();
    assert_eq!((last, &used["fileShareCount"]), (409, &json!(made)));
    assert_eq!(used["provisionedIOPS"], json!(made * 3000));
}

#[tokio::test]
async fn soft_delete_keeps_a_share_until_it_is_restored_or_its_time_is_over() {
    let lab = Lab::new();
    lab.account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    lab.share(
        "files01",
        "pvc-1",
        json!({"shareQuota": 7, "metadata": {"a": "b"}}),
    )
    .await;
    assert_eq!(
        lab.send("DELETE", &share("files01", "pvc-1"), Value::Null)
            .await
            .status,
        200
    );
    assert_eq!(
        lab.send("DELETE", &share("files01", "pvc-1"), Value::Null)
            .await
            .status,
        204
    );
    let list = below("files01", "fileServices/default/shares");
    assert_eq!(lab.get(&list).await.body["value"], json!([]));
    let deleted = lab.get(&format!("{list}&$expand=deleted")).await.body["value"][0].clone();
    assert_eq!(deleted["properties"]["deleted"], true);
    assert_eq!(deleted["properties"]["remainingRetentionDays"], 7);
    let version = deleted["properties"]["version"]
        .as_str()
        .expect("a version")
        .to_owned();
    let restore = below("files01", "fileServices/default/shares/pvc-1/restore");
    let wanted = json!({"deletedShareName": "pvc-1", "deletedShareVersion": version});
    assert_eq!(lab.send("POST", &restore, wanted.clone()).await.status, 200);
    let got = lab.get(&share("files01", "pvc-1")).await.body;
    assert_eq!(got["properties"]["metadata"], json!({"a": "b"}));
    let again = lab.send("POST", &restore, wanted).await;
    assert_eq!((again.status, again.code()), (404, "ShareNotFound"));
}

#[tokio::test]
async fn without_soft_delete_a_name_is_blocked_for_a_while() {
    let lab = Lab::with(Profile::Azure);
    lab.account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    let service = below("files01", "fileServices/default");
    let off = json!({"properties": {"shareDeleteRetentionPolicy": {"enabled": false}}});
    assert_eq!(lab.send("PUT", &service, off).await.status, 200);
    lab.share("files01", "pvc-1", json!({"shareQuota": 7}))
        .await;
    lab.send("DELETE", &share("files01", "pvc-1"), Value::Null)
        .await;
    let got = lab.send("PUT", &share("files01", "pvc-1"), sized(7)).await;
    assert_eq!((got.status, got.code()), (409, "ShareBeingDeleted"));
    lab.clock.advance(Duration::from_secs(600));
    assert_eq!(
        lab.send("PUT", &share("files01", "pvc-1"), sized(7))
            .await
            .status,
        201
    );
}

/// A share with two snapshots; gives their times.
async fn snapshotted(lab: &Lab) -> (String, String) {
    lab.account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    lab.share("files01", "pvc-1", json!({"shareQuota": 7}))
        .await;
    let take = format!("{}&$expand=snapshots", share("files01", "pvc-1"));
    let mut times = Vec::new();
    for _ in 0..2 {
        let wanted = json!({"properties": {"metadata": {"initiator": "snap-1"}}});
        let taken = lab.send("PUT", &take, wanted).await;
        assert_eq!(taken.status, 201);
        let time = taken.body["properties"]["snapshotTime"].as_str();
        times.push(time.expect("a time").to_owned());
    }
    let second = times.pop().expect("two");
    (times.pop().expect("two"), second)
}

#[tokio::test]
async fn snapshots_have_times_of_their_own() {
    let lab = Lab::new();
    let (first, second) = snapshotted(&lab).await;
    assert_ne!(first, second);
    assert_eq!(first.len(), "2026-01-01T00:00:00.0000000Z".len());
    let mut request = Lab::request("GET", &share("files01", "pvc-1"), &Value::Null);
    request
        .headers_mut()
        .insert("x-ms-snapshot", first.parse().expect("header"));
    let got = lab.raw(request).await.expect("an answer");
    assert_eq!(
        (got.status, &got.body["properties"]["metadata"]["initiator"]),
        (200, &json!("snap-1"))
    );
    let list = below(
        "files01",
        "fileServices/default/shares?$expand=snapshots&$filter=startswith(name,%20'pvc')",
    );
    assert_eq!(
        lab.get(&list).await.body["value"]
            .as_array()
            .expect("value")
            .len(),
        3
    );
}

#[tokio::test]
async fn a_delete_takes_snapshots_along_unless_it_says_none() {
    let lab = Lab::new();
    let (_, second) = snapshotted(&lab).await;

    let none = format!("{}&$include=none", share("files01", "pvc-1"));
    let got = lab.send("DELETE", &none, Value::Null).await;
    assert_eq!((got.status, got.code()), (409, "ShareHasSnapshots"));
    let mut request = Lab::request("DELETE", &share("files01", "pvc-1"), &Value::Null);
    request
        .headers_mut()
        .insert("x-ms-snapshot", second.parse().expect("header"));
    assert_eq!(lab.raw(request).await.expect("an answer").status, 200);
    assert!(lab.sim.violations().is_empty());
    assert_eq!(
        lab.send("DELETE", &share("files01", "pvc-1"), Value::Null)
            .await
            .status,
        200
    );
    let rules: Vec<String> = lab
        .sim
        .violations()
        .into_iter()
        .map(|found| found.rule)
        .collect();
    assert_eq!(
        rules,
        ["snapshotsDeletedUnasked"],
        "the default takes the snapshots too"
    );
}
