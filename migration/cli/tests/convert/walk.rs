//! The way an operator goes: scan, plan, diff, apply, verify, finalize, and back.

use azcsi_migrate::failure::Exit;
use serde_json::json;

use crate::cluster::{CLAIM, Cluster, DISK, VOLUME};

#[tokio::test(start_paused = true)]
async fn scan_plan_and_diff_change_nothing_and_tell_everything() {
    let cluster = Cluster::new();
    let before = cluster.store.version();
    let scan = cluster.run("a", "scan").await.unwrap();
    assert_eq!(scan.exit, Exit::Convertible);
    assert!(scan.text.contains("READY-RESTART") && scan.text.contains("1 pod uses it"));
    cluster.plan("").await;
    let diff = cluster.run("a", "diff --plan PLAN").await.unwrap();
    assert_eq!(diff.exit, Exit::Convertible);
    assert!(
        diff.text
            .contains(&format!("+ volume.spec.csi.volumeHandle: \"{DISK}\""))
    );
    assert!(diff.text.contains("= the driver sees the same volume"));
    let dry = cluster
        .run("a", "apply --plan PLAN --journal JOURNAL")
        .await
        .unwrap();
    assert!(dry.text.contains("would be converted"));
    assert_eq!(cluster.store.version(), before);
}

#[tokio::test(start_paused = true)]
async fn a_conversion_becomes_final_and_deletes_the_disk_only_when_its_claim_goes() {
    let cluster = Cluster::new();
    let apply = cluster.plan("").await;
    let report = cluster.run("a", &apply).await.unwrap();
    assert_eq!(
        (report.exit, report.text.contains("converted")),
        (Exit::Done, true),
        "{}",
        report.text
    );
    cluster.assert_converted();
    let verify = cluster.run("a", "verify --journal JOURNAL").await.unwrap();
    assert_eq!(verify.exit, Exit::Done, "{}", verify.text);
    // Too early without a word.
    let early = cluster
        .run("a", "finalize --journal JOURNAL")
        .await
        .unwrap();
    assert_eq!(early.exit, Exit::Blocked);
    let end = cluster
        .run("a", "finalize --journal JOURNAL --soak 0")
        .await
        .unwrap();
    assert_eq!(end.exit, Exit::Done, "{}", end.text);
    let volume = cluster.get(VOLUME).unwrap();
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    assert_eq!(
        volume["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"],
        "disk.csi.azure.com"
    );
    let status = cluster.run("a", "status --journal JOURNAL").await.unwrap();
    assert_eq!(status.exit, Exit::Done, "{}", status.text);
    let scan = cluster.run("a", "scan --pv pv-db").await.unwrap();
    assert_eq!(scan.exit, Exit::Done, "{}", scan.text);
}

#[tokio::test(start_paused = true)]
async fn a_rollback_restores_the_original_before_and_after_the_end() {
    for finalize in [false, true] {
        let cluster = Cluster::new();
        let apply = cluster.plan("").await;
        cluster.run("a", &apply).await.unwrap();
        if finalize {
            cluster
                .run("a", "finalize --journal JOURNAL --soak 0")
                .await
                .unwrap();
        }
        let back = cluster
            .run("b", "rollback --pv pv-db --journal JOURNAL")
            .await
            .unwrap();
        assert_eq!(back.exit, Exit::Done, "{}", back.text);
        cluster.assert_original();
        // And once more forward, with the same volume.
        let apply = cluster.plan("").await;
        let again = cluster.run("a", &apply).await.unwrap();
        assert_eq!(again.exit, Exit::Done, "{}", again.text);
        cluster.assert_converted();
    }
}

#[tokio::test(start_paused = true)]
async fn a_kept_claim_keeps_its_uid() {
    let cluster = Cluster::new();
    let uid = cluster.get(CLAIM).unwrap()["metadata"]["uid"].clone();
    let apply = cluster.plan("--keep-pvc").await;
    let report = cluster.run("a", &apply).await.unwrap();
    assert_eq!(report.exit, Exit::Done, "{}", report.text);
    cluster.assert_converted();
    assert_eq!(cluster.get(CLAIM).unwrap()["metadata"]["uid"], uid);
    let back = cluster
        .run("a", "rollback --journal JOURNAL")
        .await
        .unwrap();
    assert_eq!(back.exit, Exit::Done, "{}", back.text);
    cluster.assert_original();
    assert_eq!(cluster.get(CLAIM).unwrap()["metadata"]["uid"], uid);
}

#[tokio::test(start_paused = true)]
async fn what_applies_manifests_again_is_found_before_anything_happens() {
    let cluster = Cluster::new();
    let mark = json!({"metadata": {"labels": {"argocd.argoproj.io/instance": "shop"}}});
    cluster.patch(CLAIM, &mark);
    let report = cluster.run("a", "plan --out PLAN").await.unwrap();
    assert_eq!(report.exit, Exit::Blocked);
    assert!(report.text.contains("BLOCKED-GITOPS"), "{}", report.text);
    cluster.plan("--gitops-acknowledged").await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_carried_out_only_under_its_own_hash() {
    let cluster = Cluster::new();
    cluster.plan("").await;
    let line = "apply --plan PLAN --journal JOURNAL --execute --confirm 00";
    let error = cluster.run("a", line).await.unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    cluster.assert_original();
}
