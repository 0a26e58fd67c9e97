//! Tests of `copies`.

use azcsi_types::secret::Secret;

use super::{CopySource, CopyStatus, Preserve};
use crate::Environment;
use crate::storage::data_plane::{FileRef, FilesEndpoint};
use crate::testing::{Script, answer, answer_with, files, op, sent_header, share};

fn at(path: &str) -> FileRef {
    FileRef::live(share(), path.parse().unwrap())
}

fn source() -> CopySource {
    let environment = Environment::named("").unwrap();
    CopySource {
        endpoint: FilesEndpoint::in_cloud(&environment, &"other".parse().unwrap()),
        at: FileRef {
            snapshot: Some("2026-01-01T00:00:00.0000000Z".parse().unwrap()),
            ..at("d d/g")
        },
        sas: Some(Secret::new("?sv=1&sig=geheim")),
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_names_its_source_and_shows_no_signature() {
    let started = answer_with(
        202,
        &[("x-ms-copy-id", "c1"), ("x-ms-copy-status", "pending")],
        "",
    );
    let script = Script::new([("PUT /pvc-1/f", started)]);
    let (files, clock) = files(&script);
    let source = source();
    let copy = files
        .start_copy(&op(&clock, 60), &at("f"), (&source, Preserve::Smb))
        .await
        .unwrap();
    assert_eq!((copy.id.as_str(), copy.status), ("c1", CopyStatus::Pending));
    assert_eq!(
        sent_header(&script, 0, "x-ms-copy-source"),
        "https://other.file.core.windows.net/pvc-1/d%20d/g?sharesnapshot=2026-01-01T00%3A00%3A00.0000000Z&sv=1&sig=geheim"
    );
    for name in [
        "x-ms-file-permission-copy-mode",
        "x-ms-file-attributes",
        "x-ms-file-last-write-time",
    ] {
        assert_eq!(sent_header(&script, 0, name), "source", "{name}");
    }
    let shown = format!("{source:?} {:?}", script.seen.lock().unwrap());
    assert!(!shown.contains("geheim"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_not_started_twice_and_can_be_ended() {
    let over = answer_with(409, &[("x-ms-error-code", "NoPendingCopyOperation")], "");
    let script = Script::new([
        ("PUT /pvc-1/f", answer(500, "")),
        ("PUT /pvc-1/f?comp=copy&copyid=c%2F1", answer(204, "")),
        ("PUT /pvc-1/f?comp=copy&copyid=c%2F1", over),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let lost = files
        .start_copy(&op, &at("f"), (&source(), Preserve::Nothing))
        .await;
    assert!(lost.unwrap_err().is_uncertain());
    files.abort_copy(&op, &at("f"), "c/1").await.unwrap();
    assert_eq!(sent_header(&script, 1, "x-ms-copy-action"), "abort");
    let over = files.abort_copy(&op, &at("f"), "c/1").await.unwrap_err();
    assert!(over.has_code("NoPendingCopyOperation"));
}
