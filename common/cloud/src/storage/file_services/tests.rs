//! Tests of `file_services`.

use super::{FileServiceProperties, RetentionPolicy, Switch};
use crate::testing::{Script, account, answer, azure, op};

const SERVICE: &str = r#"{"id":"x","name":"default","sku":{"name":"Premium_LRS"},"properties":{"cors":{"corsRules":[]},
 "protocolSettings":{"smb":{"multichannel":{"enabled":false},"versions":"SMB3.1.1;","newThing":{"a":1}},"nfs":{"encryptionInTransit":{"required":true}}},
 "shareDeleteRetentionPolicy":{"enabled":true,"days":7}}}"#;

#[tokio::test(start_paused = true)]
async fn a_block_is_changed_and_the_rest_of_it_stays() {
    let script = Script::new([
        (
            "GET /acct1/fileServices/default?api-version=2025-01-01",
            answer(200, SERVICE),
        ),
        (
            "PUT /acct1/fileServices/default?api-version=2025-01-01",
            answer(200, SERVICE),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let mut found = azure.file_services().get(&op, &account()).await.unwrap();
    assert!(found.keeps_deleted_shares() && !found.has_multichannel());
    let smb = found
        .protocol_settings
        .as_mut()
        .unwrap()
        .smb
        .as_mut()
        .unwrap();
    smb.multichannel = Some(Switch {
        enabled: Some(true),
        ..Switch::default()
    });
    found.share_delete_retention_policy = None;
    azure
        .file_services()
        .set(&op, &account(), found)
        .await
        .unwrap();
    assert_eq!(
        script.bodies()[1],
        r#"{"properties":{"protocolSettings":{"smb":{"multichannel":{"enabled":true},"versions":"SMB3.1.1;","newThing":{"a":1}},"nfs":{"encryptionInTransit":{"required":true}}}}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn soft_delete_alone_is_sent_alone() {
    let script = Script::new([(
        "PUT /fileServices/default",
        answer(200, r#"{"properties":null}"#),
    )]);
    let (azure, clock) = azure(&script);
    let off = FileServiceProperties {
        share_delete_retention_policy: Some(RetentionPolicy {
            enabled: Some(false),
            ..RetentionPolicy::default()
        }),
        ..FileServiceProperties::default()
    };
    assert!(!off.keeps_deleted_shares());
    let op = op(&clock, 60);
    let answered = azure
        .file_services()
        .set(&op, &account(), off)
        .await
        .unwrap();
    assert!(answered.keeps_deleted_shares());
    assert_eq!(
        script.bodies()[0],
        r#"{"properties":{"shareDeleteRetentionPolicy":{"enabled":false}}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn the_use_of_a_provisioned_account_counts_deleted_shares_too() {
    let usage = r#"{"properties":{"storageAccountLimits":{"maxFileShares":50,"maxProvisionedStorageGiB":262144,"maxProvisionedIOPS":102400,"maxProvisionedBandwidthMiBPerSec":10340},
      "fileShareLimits":{"minProvisionedStorageGiB":32,"maxProvisionedBandwidthMiBPerSec":10340},
      "fileShareRecommendations":{"baseIOPS":3000,"ioScalar":1,"baseBandwidthMiBPerSec":125,"bandwidthScalar":0.1},
      "storageAccountUsage":{"liveShares":{"fileShareCount":2,"provisionedStorageGiB":64,"provisionedIOPS":6064,"provisionedBandwidthMiBPerSec":260},
       "softDeletedShares":{"fileShareCount":1,"provisionedStorageGiB":32}}}}"#;
    let script = Script::new([(
        "GET /fileServices/default/usages/default",
        answer(200, usage),
    )]);
    let (azure, clock) = azure(&script);
    let usage = azure
        .file_services()
        .usage(&op(&clock, 60), &account())
        .await
        .unwrap();
    assert_eq!(usage.storage_account_limits.max_file_shares, Some(50));
    assert_eq!(
        usage.file_share_limits.min_provisioned_storage_gib,
        Some(32)
    );
    assert_eq!(
        usage.file_share_limits.max_provisioned_bandwidth,
        Some(10340)
    );
    assert_eq!(usage.file_share_recommendations.bandwidth_scalar, Some(0.1));
    let taken = usage.taken();
    assert_eq!(
        (taken.file_share_count, taken.provisioned_storage_gib),
        (3, 96)
    );
    assert_eq!(
        (taken.provisioned_iops, taken.provisioned_bandwidth),
        (6064, 260)
    );
}

#[tokio::test(start_paused = true)]
async fn a_service_without_its_account_says_so() {
    let body = r#"{"error":{"code":"ParentResourceNotFound","message":"no parent"}}"#;
    let script = Script::new([("GET /fileServices/default", answer(404, body))]);
    let (azure, clock) = azure(&script);
    let found = azure.file_services().get(&op(&clock, 60), &account()).await;
    assert!(found.unwrap_err().is_parent_not_found());
}
