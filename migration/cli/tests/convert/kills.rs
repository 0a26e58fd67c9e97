//! A converter that dies at every write, in every way; one that meets a conflict or an old answer at
//! every request. Whatever happens, the next converter gets through, forward or back.

use azcsi_migrate::failure::Exit;
use azcsi_sim::kubeapi::faults::{Effect, Which};

use crate::cluster::Cluster;

const RESUME: &str = "resume --journal JOURNAL";
const BACK: &str = "rollback --pv pv-db --journal JOURNAL";

/// Runs a command until it ends or dies; whether it died.
async fn until_death(cluster: &Cluster, holder: &str, line: &str) -> bool {
    let lost = cluster.store.faults().lost();
    tokio::select! {
        biased;
        () = lost => true,
        _ = cluster.run(holder, line) => false,
    }
}

/// How many writes a command makes when nothing happens.
async fn writes(cluster: &Cluster, line: &str) -> usize {
    let before = cluster.store.faults().writes();
    let report = cluster.run("first", line).await.unwrap();
    assert_eq!(report.exit, Exit::Done, "{}", report.text);
    cluster.store.faults().writes() - before
}

/// A cluster whose converter died at that write of its way forward.
async fn killed(options: &str, at: usize, effect: Effect) -> (Cluster, String) {
    let cluster = Cluster::new();
    let apply = cluster.plan(options).await;
    cluster.store.faults().plan(Which::Writes, at, effect);
    assert!(
        until_death(&cluster, "first", &apply).await,
        "write {at} was never made"
    );
    cluster.store.settle();
    cluster.assert_sound();
    (cluster, apply)
}

/// The folder that the next converter works from: the one of the dead, or an empty one.
const fn successor(at: usize) -> &'static str {
    if at.is_multiple_of(2) {
        "first"
    } else {
        "second"
    }
}

async fn has_journal(cluster: &Cluster, holder: &str) -> bool {
    let status = cluster
        .run(holder, "status --journal JOURNAL")
        .await
        .unwrap();
    status.text.contains("pv-db")
}

async fn resumes_after_every_kill(options: &str) {
    let cluster = Cluster::new();
    let apply = cluster.plan(options).await;
    let count = writes(&cluster, &apply).await;
    assert!(count > 20, "only {count} writes");
    for at in 0..count {
        for effect in [Effect::LostBefore, Effect::LostAfter] {
            let (cluster, apply) = killed(options, at, effect).await;
            let next = successor(at);
            if has_journal(&cluster, next).await {
                let report = cluster.run(next, RESUME).await.unwrap();
                assert_eq!(report.exit, Exit::Done, "{at} {effect:?}: {}", report.text);
            } else {
                // It died before it wrote anything down: nothing was done, and its lease runs out.
                cluster.assert_original();
                tokio::time::sleep(std::time::Duration::from_secs(61)).await;
                let report = cluster.run(next, &apply).await.unwrap();
                assert_eq!(report.exit, Exit::Done, "{at} {effect:?}: {}", report.text);
            }
            cluster.assert_converted();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversion_killed_at_any_write_is_resumed() {
    resumes_after_every_kill("").await;
}

#[tokio::test(start_paused = true)]
async fn a_conversion_that_keeps_its_claim_killed_at_any_write_is_resumed() {
    resumes_after_every_kill("--keep-pvc").await;
}

async fn rolls_back_after_every_kill(options: &str) {
    let cluster = Cluster::new();
    let apply = cluster.plan(options).await;
    let count = writes(&cluster, &apply).await;
    for at in 0..count {
        for effect in [Effect::LostBefore, Effect::LostAfter] {
            let (cluster, _) = killed(options, at, effect).await;
            let next = successor(at);
            if has_journal(&cluster, next).await {
                let report = cluster.run(next, BACK).await.unwrap();
                assert_eq!(report.exit, Exit::Done, "{at} {effect:?}: {}", report.text);
            }
            cluster.assert_original();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversion_killed_at_any_write_is_rolled_back() {
    rolls_back_after_every_kill("").await;
    rolls_back_after_every_kill("--keep-pvc").await;
}

#[tokio::test(start_paused = true)]
async fn a_rollback_killed_at_any_write_is_taken_up_again() {
    let cluster = Cluster::new();
    let apply = cluster.plan("").await;
    cluster.run("first", &apply).await.unwrap();
    let count = writes(&cluster, BACK).await;
    for at in 0..count {
        for effect in [Effect::LostBefore, Effect::LostAfter] {
            let cluster = Cluster::new();
            let apply = cluster.plan("").await;
            cluster.run("first", &apply).await.unwrap();
            cluster.store.faults().plan(Which::Writes, at, effect);
            assert!(until_death(&cluster, "first", BACK).await);
            cluster.store.settle();
            let report = cluster.run(successor(at), BACK).await.unwrap();
            assert_eq!(report.exit, Exit::Done, "{at} {effect:?}: {}", report.text);
            cluster.assert_original();
        }
    }
}

/// Whatever the first try came to, a second one ends it.
async fn gets_through(which: Which, effect: Effect, at: usize) {
    let cluster = Cluster::new();
    let apply = cluster.plan("").await;
    cluster.store.faults().plan(which, at, effect);
    let report = cluster.run("first", &apply).await.unwrap();
    cluster.assert_sound();
    match report.exit {
        Exit::Done => cluster.assert_converted(),
        Exit::Blocked | Exit::Changed => cluster.assert_original(),
        Exit::Resumable => {
            let report = cluster.run("first", RESUME).await.unwrap();
            assert_eq!(report.exit, Exit::Done, "{at}: {}", report.text);
            cluster.assert_converted();
        }
        other => panic!("{effect:?} at {at}: {other:?} {}", report.text),
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_at_any_write_loses_nothing() {
    let cluster = Cluster::new();
    let apply = cluster.plan("").await;
    let count = writes(&cluster, &apply).await;
    for at in 0..count {
        gets_through(Which::Writes, Effect::Conflict, at).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_answer_at_any_read_loses_nothing() {
    for at in 0..80 {
        gets_through(Which::Reads, Effect::Stale, at).await;
    }
}
