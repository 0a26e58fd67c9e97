//! Tests of `files`.

use azcsi_types::fault::{Fault, Faulty};

use super::FileAttributes;
use crate::storage::data_plane::{CopyStatus, FileRef};
use crate::testing::{Script, answer, answer_with, files, op, sent_header, share};

fn at(path: &str) -> FileRef {
    FileRef::live(share(), path.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_file_is_made_with_its_size_and_attributes() {
    let script = Script::new([("PUT /pvc-1/d%20d/f.", answer(201, ""))]);
    let (files, clock) = files(&script);
    let attributes = FileAttributes {
        mode: Some("0640".to_owned()),
        owner: Some("1000".to_owned()),
        ..FileAttributes::default()
    };
    let made = files
        .create_file(&op(&clock, 60), &at("d d/f."), 5, &attributes)
        .await
        .unwrap();
    assert_eq!(made.size, 5);
    for (name, value) in [
        ("x-ms-type", "file"),
        ("x-ms-content-length", "5"),
        ("x-ms-mode", "0640"),
        ("x-ms-owner", "1000"),
        ("x-ms-allow-trailing-dot", "true"),
        ("x-ms-file-attributes", ""),
    ] {
        assert_eq!(sent_header(&script, 0, name), value, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_known_of_a_file_is_in_the_headers() {
    let headers = [
        ("content-length", "123"),
        ("etag", "\"0x1\""),
        ("x-ms-file-attributes", "Archive"),
        ("x-ms-file-last-write-time", "2026-03-03T09:30:00.0000000Z"),
        ("x-ms-file-file-type", "Regular"),
        ("x-ms-meta-a", "1"),
        ("x-ms-copy-id", "c1"),
        ("x-ms-copy-status", "Pending"),
        ("x-ms-copy-progress", "10/123"),
    ];
    let script = Script::new([("HEAD /pvc-1/f", answer_with(200, &headers, ""))]);
    let (files, clock) = files(&script);
    let found = files.get_file(&op(&clock, 60), &at("f")).await.unwrap();
    assert_eq!(found.size, 123);
    assert_eq!(found.attributes.attributes.as_deref(), Some("Archive"));
    assert_eq!(found.file_type.as_deref(), Some("Regular"));
    assert_eq!(found.metadata["a"], "1");
    let copy = found.copy.unwrap();
    assert_eq!(
        (copy.status, copy.progress),
        (CopyStatus::Pending, Some((10, 123)))
    );
}

#[tokio::test(start_paused = true)]
async fn settings_change_and_absent_files_are_gone() {
    let parent = answer_with(404, &[("x-ms-error-code", "ParentNotFound")], "");
    let absent = answer_with(404, &[("x-ms-error-code", "ResourceNotFound")], "");
    let script = Script::new([
        ("PUT /pvc-1/f?comp=properties", answer(200, "")),
        ("PUT /pvc-1/f?comp=metadata", answer(200, "")),
        ("DELETE /pvc-1/f", answer(202, "")),
        ("DELETE /pvc-1/f", parent),
        ("DELETE /pvc-1/f", absent),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let file = at("f");
    let keep = FileAttributes::default();
    files
        .set_file_properties(&op, &file, (Some(9), &keep))
        .await
        .unwrap();
    assert_eq!(sent_header(&script, 0, "x-ms-content-length"), "9");
    let metadata = crate::Metadata::from([("Key".to_owned(), "v".to_owned())]);
    files
        .set_file_metadata(&op, &file, &metadata)
        .await
        .unwrap();
    assert_eq!(sent_header(&script, 1, "x-ms-meta-key"), "v");
    for _ in 0..3 {
        files.delete_file(&op, &file).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_read_and_never_written() {
    let script = Script::new([(
        "HEAD /pvc-1/f?sharesnapshot=2026-01-01T00%3A00%3A00Z",
        answer(200, ""),
    )]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let old = FileRef {
        snapshot: Some("2026-01-01T00:00:00Z".parse().unwrap()),
        ..at("f")
    };
    files.get_file(&op, &old).await.unwrap();
    let deleted = files.delete_file(&op, &old).await.unwrap_err();
    assert_eq!(deleted.fault(), Fault::Invalid);
    let made = files
        .create_file(&op, &old, 0, &FileAttributes::default())
        .await;
    assert_eq!(made.unwrap_err().fault(), Fault::Invalid);
    assert_eq!(script.left(), 0);
}
