//! Tests of `shares`.

use azcsi_types::fault::{Fault, Faulty};

use crate::testing::{Script, account, answer, azure, op, share};
use crate::{AccountLimit, Metadata, Put, ShareCreate, ShareFilter, ShareUpdate, SnapshotsToo};

const SHARE: &str = r#"{"id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/acct1/fileServices/default/shares/pvc-1","name":"pvc-1","etag":"\"0x8D\"","properties":{"shareQuota":100,"enabledProtocols":"nfs","accessTier":"Premium","metadata":{"CreatedBy":"x"},"shareUsageBytes":42,"deleted":null,"newThing":[]}}"#;

fn create() -> ShareCreate {
    ShareCreate {
        share_quota: Some(100),
        enabled_protocols: Some("NFS".to_owned()),
        metadata: Metadata::from([("createdBy".to_owned(), "x".to_owned())]),
        ..ShareCreate::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_tells_a_new_share_from_one_that_was_there() {
    let script = Script::new([
        (
            "PUT /acct1/fileServices/default/shares/pvc-1?api-version=2025-01-01",
            answer(201, SHARE),
        ),
        ("PUT /shares/pvc-1", answer(200, SHARE)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let shares = azure.shares();
    let first = shares
        .create(&op, &account(), &share(), &create())
        .await
        .unwrap();
    assert!(first.is_new());
    let second = shares
        .create(&op, &account(), &share(), &create())
        .await
        .unwrap();
    let Put::Existing(found) = second else {
        panic!("it was there")
    };
    assert!(found.is_nfs());
    assert_eq!(found.meta("createdby"), Some("x"));
    assert_eq!(found.quota().unwrap().get(), 100);
    assert_eq!(
        script.bodies()[0],
        r#"{"properties":{"shareQuota":100,"enabledProtocols":"NFS","metadata":{"createdBy":"x"}}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn reasons_to_refuse_a_share_are_told_apart() {
    for (code, fault, limit) in [
        (
            "TotalSharesCountExceedsAccountLimit",
            Fault::Exhausted,
            Some(AccountLimit::Shares),
        ),
        (
            "TotalSharesProvisionedCapacityExceedsAccountLimit",
            Fault::Exhausted,
            Some(AccountLimit::Capacity),
        ),
        (
            "TotalSharesProvisionedIopsExceedsAccountLimit",
            Fault::Exhausted,
            Some(AccountLimit::Iops),
        ),
        (
            "TotalSharesProvisionedBandwidthExceedsAccountLimit",
            Fault::Exhausted,
            Some(AccountLimit::Bandwidth),
        ),
        ("ShareAlreadyExists", Fault::Exists, None),
        ("ShareBeingDeleted", Fault::InProgress, None),
        ("StorageAccountIsNotProvisioned", Fault::InProgress, None),
        (
            "ContainerQuotaDowngradeNotAllowed",
            Fault::Precondition,
            None,
        ),
        ("ScopeLocked", Fault::Precondition, None),
    ] {
        let body =
            format!(r#"{{"error":{{"code":"{code}","message":"m \"q\"\nRequestId:1\nTime:2"}}}}"#);
        let script = Script::new([("PUT /shares/pvc-1", answer(409, &body))]);
        let (azure, clock) = azure(&script);
        let made = azure
            .shares()
            .create(&op(&clock, 60), &account(), &share(), &create())
            .await;
        let error = made.unwrap_err();
        assert_eq!(
            (error.fault(), error.account_limit()),
            (fault, limit),
            "{code}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_sends_only_what_changes() {
    let script = Script::new([("PATCH /shares/pvc-1", answer(200, SHARE))]);
    let (azure, clock) = azure(&script);
    let quota = ShareUpdate {
        share_quota: Some(200),
        ..ShareUpdate::default()
    };
    let op = op(&clock, 60);
    azure
        .shares()
        .update(&op, &account(), &share(), &quota)
        .await
        .unwrap();
    assert_eq!(script.bodies()[0], r#"{"properties":{"shareQuota":200}}"#);
}

#[tokio::test(start_paused = true)]
async fn the_use_is_told_only_when_asked_for() {
    let script = Script::new([
        (
            "GET /shares/pvc-1?api-version=2025-01-01",
            answer(200, r#"{"name":"pvc-1","properties":{}}"#),
        ),
        (
            "GET /shares/pvc-1?api-version=2025-01-01&$expand=stats",
            answer(200, SHARE),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let plain = azure.shares().get(&op, &account(), &share()).await.unwrap();
    assert_eq!(
        (plain.properties.share_usage_bytes, plain.is_nfs()),
        (None, false)
    );
    let used = azure
        .shares()
        .get_with_usage(&op, &account(), &share())
        .await
        .unwrap();
    assert_eq!(used.properties.share_usage_bytes, Some(42));
}

#[tokio::test(start_paused = true)]
async fn a_delete_always_says_what_becomes_of_snapshots() {
    let kept = r#"{"error":{"code":"ShareHasSnapshots","message":"m"}}"#;
    let script = Script::new([
        (
            "DELETE /shares/pvc-1?api-version=2025-01-01&$include=none",
            answer(409, kept),
        ),
        (
            "DELETE /shares/pvc-1?api-version=2025-01-01&$include=snapshots",
            answer(200, ""),
        ),
        (
            "DELETE /shares/pvc-1?api-version=2025-01-01&$include=leased-snapshots",
            answer(204, ""),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let shares = azure.shares();
    let kept = shares
        .delete(&op, &account(), &share(), SnapshotsToo::No)
        .await;
    let error = kept.unwrap_err();
    assert!(error.has_share_snapshots());
    assert_eq!(error.fault(), Fault::Precondition);
    for snapshots in [SnapshotsToo::Yes, SnapshotsToo::EvenLeased] {
        shares
            .delete(&op, &account(), &share(), snapshots)
            .await
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_share_is_gone_with_its_account_and_group_but_not_by_a_bare_404() {
    for (code, gone) in [
        ("ShareNotFound", true),
        ("ResourceNotFound", true),
        ("ParentResourceNotFound", true),
        ("ResourceGroupNotFound", true),
        ("SubscriptionNotFound", false),
        ("", false),
    ] {
        let body = format!(r#"{{"error":{{"code":"{code}","message":"m"}}}}"#);
        let script = Script::new([("DELETE /shares/pvc-1", answer(404, &body))]);
        let (azure, clock) = azure(&script);
        let op = op(&clock, 60);
        let deleted = azure
            .shares()
            .delete(&op, &account(), &share(), SnapshotsToo::No)
            .await;
        assert_eq!(deleted.is_ok(), gone, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_is_filtered_and_read_over_all_pages() {
    let next = "https://management.azure.com/subscriptions/s/x?$skipToken=1";
    let deleted = r#"{"name":"pvc-2","properties":{"deleted":true,"version":"01D6","remainingRetentionDays":3,"snapshotTime":""}}"#;
    let page = format!(r#"{{"value":[{SHARE}],"nextLink":"{next}"}}"#);
    let last = format!(r#"{{"value":[{deleted}],"nextLink":null}}"#);
    let script = Script::new([
        (
            "GET /fileServices/default/shares?api-version=2025-01-01&$expand=deleted,snapshots&$filter=startswith(name,%20%27pvc%27%27%27)&$maxpagesize=100",
            answer(200, &page),
        ),
        ("GET /subscriptions/s/x?$skipToken=1", answer(200, &last)),
    ]);
    let (azure, clock) = azure(&script);
    let filter = ShareFilter {
        prefix: Some("pvc'".to_owned()),
        snapshots: true,
        deleted: true,
        page_size: Some(100),
    };
    let all = azure
        .shares()
        .list(&op(&clock, 60), &account(), &filter)
        .await
        .unwrap();
    assert_eq!(all.len(), 2);
    assert!(all[1].properties.deleted);
    assert_eq!(all[1].properties.snapshot_time, None);
    assert_eq!(all[1].properties.metadata, None);
}
