//! File shares: the management plane, and what both planes share.

use std::time::Duration;

use azcsi_sim::Profile;
use serde_json::{Value, json};

use crate::storage_support::{Plane, below, between, body, share, signed};
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

#[tokio::test]
async fn snapshots_have_times_of_their_own_and_a_delete_says_what_goes_with_it() {
    let lab = Lab::new();
    lab.account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    lab.share("files01", "pvc-1", json!({"shareQuota": 7}))
        .await;
    let take = format!("{}&$expand=snapshots", share("files01", "pvc-1"));
    let wanted = json!({"properties": {"metadata": {"initiator": "snap-1"}}});
    let first = lab.send("PUT", &take, wanted.clone()).await;
    assert_eq!(first.status, 201);
    let second = lab.send("PUT", &take, wanted).await;
    let time = |got: &Value| {
        got["properties"]["snapshotTime"]
            .as_str()
            .expect("a time")
            .to_owned()
    };
    let (first, second) = (time(&first.body), time(&second.body));
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

#[tokio::test]
async fn the_data_plane_makes_shows_lists_and_deletes_the_same_shares() {
    let lab = Lab::new();
    let key = lab
        .account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    let who = ("files01", key.as_str());
    let quota = Plane {
        headers: vec![("x-ms-share-quota", "5"), ("x-ms-meta-owner", "csi")],
        ..Plane::default()
    };
    let got = lab
        .plane(who, "PUT", "/pvc-1?restype=share", quota.clone())
        .await;
    assert_eq!(got.status, 201, "{}", got.text());
    let got = lab.plane(who, "PUT", "/pvc-1?restype=share", quota).await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (409, "ShareAlreadyExists")
    );
    let got = lab.ask(who, "GET", "/pvc-1?restype=share").await;
    assert_eq!(
        (
            got.header("x-ms-share-quota"),
            got.header("x-ms-meta-owner")
        ),
        ("5", "csi")
    );
    assert_eq!(
        lab.get(&share("files01", "pvc-1")).await.body["properties"]["shareQuota"],
        5
    );
    let more = Plane {
        headers: vec![("x-ms-share-quota", "9")],
        ..Plane::default()
    };
    assert_eq!(
        lab.plane(who, "PUT", "/pvc-1?restype=share&comp=properties", more)
            .await
            .status,
        200
    );
    let snapshot = lab
        .ask(who, "PUT", "/pvc-1?restype=share&comp=snapshot")
        .await;
    assert_eq!(snapshot.status, 201);
    let time = snapshot.header("x-ms-snapshot").to_owned();
    let list = lab
        .ask(who, "GET", "/?comp=list&include=metadata,snapshots")
        .await
        .text();
    assert_eq!(between(&list, "<Snapshot>", "</Snapshot>"), time);
    assert_eq!(list.matches("<owner>csi</owner>").count(), 2);
    let got = lab.ask(who, "DELETE", "/pvc-1?restype=share").await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (409, "ShareHasSnapshots")
    );
    let got = lab
        .ask(
            who,
            "DELETE",
            &format!("/pvc-1?restype=share&sharesnapshot={time}"),
        )
        .await;
    assert_eq!(got.status, 202);
    assert_eq!(
        lab.ask(who, "DELETE", "/pvc-1?restype=share").await.status,
        202
    );
    let got = lab.ask(who, "GET", "/pvc-1?restype=share").await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (404, "ShareNotFound")
    );
}

#[tokio::test]
async fn a_wrong_signature_is_refused_with_what_should_have_been_signed() {
    let lab = Lab::new();
    let key = lab
        .account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    let wrong =
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";
    let got = lab.ask(("files01", wrong), "GET", "/?comp=list").await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (403, "AuthenticationFailed")
    );
    assert!(
        got.text()
            .contains("<AuthenticationErrorDetail>The MAC signature found"),
        "{}",
        got.text()
    );
    assert!(
        got.text().contains("/files01/\ncomp:list"),
        "{}",
        got.text()
    );
    assert_eq!(
        lab.ask(("files01", &key), "GET", "/?comp=list")
            .await
            .status,
        200
    );

    lab.send(
        "POST",
        &below("files01", "regenerateKey"),
        json!({"keyName": "key1"}),
    )
    .await;
    assert_eq!(
        lab.ask(("files01", &key), "GET", "/?comp=list")
            .await
            .status,
        403,
        "the old key is void at once"
    );
    let key = lab.key("files01").await;
    let mut late = signed(("files01", &key), "GET", "/?comp=list", Plane::default());
    assert_eq!(lab.raw(late.clone()).await.expect("an answer").status, 200);
    lab.clock.advance(Duration::from_secs(16 * 60));
    let got = lab.raw(late.clone()).await.expect("an answer");
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (403, "AuthenticationFailed"),
        "too old"
    );
    late.headers_mut().remove("authorization");
    let got = lab.raw(late).await.expect("an answer");
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (401, "NoAuthenticationInformation")
    );
}
