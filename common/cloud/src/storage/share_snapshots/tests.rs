//! Tests of `share_snapshots`.

use azcsi_types::share::SnapshotTime;

use crate::testing::{Script, account, answer, azure, op, sent_header, share};
use crate::{ErrorKind, Metadata};

const TIME: &str = "2026-03-03T09:30:00.0000001Z";
const TAKEN: &str = r#"{"name":"pvc-1","properties":{"snapshotTime":"2026-03-03T09:30:00.0000001Z","shareQuota":10,"metadata":{"initiator":"n"}}}"#;

fn time() -> SnapshotTime {
    TIME.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_taken_once() {
    let script = Script::new([
        (
            "PUT /shares/pvc-1?api-version=2025-01-01&$expand=snapshots",
            answer(201, TAKEN),
        ),
        ("PUT /shares/pvc-1", answer(500, "")),
        ("PUT /shares/pvc-1", answer(200, r#"{"name":"pvc-1"}"#)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let snapshots = azure.share_snapshots();
    let metadata = Metadata::from([("initiator".to_owned(), "n".to_owned())]);
    let taken = snapshots
        .create(&op, &account(), &share(), &metadata)
        .await
        .unwrap();
    assert_eq!(taken.time.as_str(), TIME);
    assert_eq!(
        script.bodies()[0],
        r#"{"properties":{"metadata":{"initiator":"n"}}}"#
    );
    // Neither an error nor an answer without a time says that there is none.
    for _ in 0..2 {
        let taken = snapshots.create(&op, &account(), &share(), &metadata).await;
        assert!(taken.unwrap_err().is_uncertain());
    }
    assert_eq!(script.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_read_and_a_delete_always_name_the_snapshot() {
    let gone = r#"{"error":{"code":"ShareSnapshotNotFound","message":"m"}}"#;
    let no_share = r#"{"error":{"code":"ShareNotFound","message":"m"}}"#;
    let throttled = r#"{"error":{"code":"TooManyRequests","message":"m"}}"#;
    let script = Script::new([
        ("GET /shares/pvc-1", answer(200, TAKEN)),
        ("DELETE /shares/pvc-1", answer(200, "")),
        ("DELETE /shares/pvc-1", answer(404, gone)),
        ("DELETE /shares/pvc-1", answer(404, no_share)),
        ("GET /shares/pvc-1", answer(429, throttled)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let snapshots = azure.share_snapshots();
    let (share, time) = (share(), time());
    let found = snapshots
        .get(&op, &account(), (&share, &time))
        .await
        .unwrap();
    assert_eq!(found.share.meta("initiator"), Some("n"));
    for _ in 0..3 {
        snapshots
            .delete(&op, &account(), (&share, &time))
            .await
            .unwrap();
    }
    let busy = snapshots
        .get(&op, &account(), (&share, &time))
        .await
        .unwrap_err();
    assert!(busy.is_throttled() && !busy.is_not_found());
    for index in 0..5 {
        assert_eq!(sent_header(&script, index, "x-ms-snapshot"), TIME);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_holds_the_snapshots_of_exactly_this_share_oldest_first() {
    let other = TAKEN.replace("pvc-1", "pvc-10");
    let older = TAKEN
        .replace("2026", "2025")
        .replace(r#","metadata":{"initiator":"n"}"#, "");
    let live = r#"{"name":"pvc-1","properties":{"shareQuota":10}}"#;
    let page = format!(r#"{{"value":[{TAKEN},{other},{live},{older}]}}"#);
    let script = Script::new([
        (
            "GET /shares?api-version=2025-01-01&$expand=snapshots&$filter=startswith(name,%20%27pvc-1%27)",
            answer(200, &page),
        ),
        (
            "GET /shares?",
            answer(
                200,
                r#"{"value":[{"name":"pvc-1","properties":{"snapshotTime":"odd"}}]}"#,
            ),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let found = azure
        .share_snapshots()
        .list(&op, &account(), &share())
        .await
        .unwrap();
    let years: Vec<&str> = found.iter().map(|s| &s.time.as_str()[..4]).collect();
    assert_eq!(years, ["2025", "2026"]);
    // Not told is not the same as none.
    assert_eq!(found[0].share.properties.metadata, None);
    let odd = azure
        .share_snapshots()
        .list(&op, &account(), &share())
        .await;
    assert_eq!(odd.unwrap_err().kind(), ErrorKind::Protocol);
}
