//! Others who change the cluster while a conversion runs.

use std::sync::{Arc, Mutex};

use azcsi_migrate::engine::Tell;
use azcsi_migrate::failure::Exit;
use azcsi_sim::kubeapi::resources::Target;
use azcsi_sim::kubeapi::store::PatchKind;
use serde_json::{Value, json};

use crate::cluster::{CLAIM, Cluster, SET, VOLUME};

/// Changes an object whenever a step begins whose words contain `at`.
fn meddler(cluster: &Cluster, at: &'static str, path: &'static str, body: Value) -> Tell {
    let store = Arc::clone(&cluster.store);
    let done = Mutex::new(0);
    Arc::new(move |line: &str| {
        if line.contains(at) && *done.lock().unwrap() == 0 {
            *done.lock().unwrap() += 1;
            let target = Target::parse(path).unwrap();
            let _ = store.patch(&target, PatchKind::Merge, &body);
            store.settle();
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_change_after_the_plan_stops_the_conversion_before_it_begins() {
    for (path, body) in [
        (VOLUME, json!({"metadata": {"labels": {"new": "x"}}})),
        (VOLUME, json!({"spec": {"mountOptions": ["discard"]}})),
        (
            CLAIM,
            json!({"spec": {"resources": {"requests": {"storage": "16Gi"}}}}),
        ),
    ] {
        let cluster = Cluster::new();
        let apply = cluster.plan("").await;
        cluster.patch(path, &body);
        let before = cluster.get(VOLUME);
        let report = cluster.run("a", &apply).await.unwrap();
        assert_eq!(report.exit, Exit::Changed, "{}", report.text);
        assert_eq!(cluster.get(VOLUME), before);
        cluster.assert_running();
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_in_the_middle_is_seen_before_anything_is_deleted() {
    let cluster = Cluster::new();
    let apply = cluster.plan("").await;
    let grown = json!({"spec": {"resources": {"requests": {"storage": "16Gi"}}}});
    let tell = meddler(&cluster, "wait until nothing is attached", CLAIM, grown);
    let report = cluster.run_heard("a", &apply, tell).await.unwrap();
    assert_eq!(report.exit, Exit::Resumable, "{}", report.text);
    let back = cluster
        .run("a", "rollback --journal JOURNAL")
        .await
        .unwrap();
    assert_eq!(back.exit, Exit::Done, "{}", back.text);
    cluster.assert_original();
}

#[tokio::test(start_paused = true)]
async fn a_policy_put_back_to_delete_never_costs_the_disk() {
    for at in [
        "set the reclaim policy",
        "pause the workload",
        "nothing is attached",
        "delete the old claim",
    ] {
        let cluster = Cluster::new();
        let apply = cluster.plan("").await;
        let delete = json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}});
        let tell = meddler(&cluster, at, VOLUME, delete);
        let report = cluster.run_heard("a", &apply, tell).await.unwrap();
        cluster.assert_sound();
        if report.exit != Exit::Done {
            assert_eq!(report.exit, Exit::Resumable, "{at}: {}", report.text);
            let report = cluster.run("a", "resume --journal JOURNAL").await.unwrap();
            assert_eq!(report.exit, Exit::Done, "{at}: {}", report.text);
        }
        cluster.assert_converted();
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_scales_back_up_makes_the_conversion_give_way() {
    let cluster = Cluster::new();
    let apply = cluster.plan("").await;
    let up = json!({"spec": {"replicas": 1}});
    let tell = meddler(&cluster, "nothing is attached", SET, up);
    let report = cluster.run_heard("a", &apply, tell).await.unwrap();
    assert_eq!(report.exit, Exit::Blocked, "{}", report.text);
    cluster.assert_original();
}

#[tokio::test(start_paused = true)]
async fn a_stranger_under_the_name_of_the_volume_is_left_alone() {
    let cluster = Cluster::new();
    let apply = cluster.plan("").await;
    let store = Arc::clone(&cluster.store);
    let tell: Tell = Arc::new(move |line: &str| {
        if line.contains("make the CSI volume") {
            let target = Target::parse("/api/v1/persistentvolumes").unwrap();
            let stranger = json!({"metadata": {"name": "pv-db"}, "spec": {
                "hostPath": {"path": "/x"}, "persistentVolumeReclaimPolicy": "Retain"}});
            store.create(&target, stranger).unwrap();
        }
    });
    let report = cluster.run_heard("a", &apply, tell).await.unwrap();
    assert_eq!(report.exit, Exit::Operator, "{}", report.text);
    assert_eq!(
        cluster.get(VOLUME).unwrap()["spec"]["hostPath"]["path"],
        "/x"
    );
    cluster.assert_sound();
    // With the stranger gone, the way is free again.
    cluster
        .store
        .delete(&Target::parse(VOLUME).unwrap(), &Value::Null)
        .unwrap();
    cluster.store.settle();
    let report = cluster.run("a", "resume --journal JOURNAL").await.unwrap();
    assert_eq!(report.exit, Exit::Done, "{}", report.text);
    cluster.assert_converted();
}

#[tokio::test(start_paused = true)]
async fn of_two_converters_one_works_and_the_other_goes_away() {
    let cluster = Cluster::new();
    let apply = cluster.plan("").await;
    let (one, other) = tokio::join!(cluster.run("a", &apply), cluster.run("b", &apply));
    let mut exits = [one.unwrap().exit as u8, other.unwrap().exit as u8];
    exits.sort_unstable();
    assert_eq!(exits, [Exit::Done as u8, Exit::Blocked as u8]);
    cluster.assert_converted();
}
