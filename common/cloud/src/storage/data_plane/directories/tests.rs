//! Tests of `directories`.

use super::EntryKind;
use crate::ErrorKind;
use crate::storage::data_plane::{FileAttributes, FileRef, SharePath};
use crate::testing::{Script, answer, answer_with, files, op, sent_header, share};

fn at(path: &str) -> FileRef {
    FileRef::live(share(), path.parse().unwrap())
}

const FIRST: &str = "<EnumerationResults ShareName=\"pvc-1\"><Entries><Directory><Name>sub</Name><FileId>7</FileId><Properties/></Directory><File><Name Encoded=\"true\">a%0Ab</Name><Attributes>Archive</Attributes><Properties><Content-Length>12</Content-Length><LastWriteTime>2026-03-03T09:30:00Z</LastWriteTime></Properties></File></Entries><NextMarker>m 1</NextMarker></EnumerationResults>";
const SECOND: &str = "<EnumerationResults><Entries><SymLink><Name>l</Name></SymLink></Entries><NextMarker/></EnumerationResults>";

#[tokio::test(start_paused = true)]
async fn a_directory_is_listed_over_all_its_pages() {
    let script = Script::new([
        (
            "GET /pvc-1/d?restype=directory&comp=list",
            answer(200, FIRST),
        ),
        ("GET &marker=m%201", answer(200, SECOND)),
    ]);
    let (files, clock) = files(&script);
    let all = files
        .list_directory(&op(&clock, 60), &at("d"))
        .await
        .unwrap();
    assert_eq!(all[0].kind, EntryKind::Directory);
    assert_eq!((all[0].name.as_str(), all[0].size), ("sub", None));
    assert_eq!((all[1].name.as_str(), all[1].size), ("a\nb", Some(12)));
    assert_eq!(all[1].attributes.attributes.as_deref(), Some("Archive"));
    assert_eq!(all[2].kind, EntryKind::Other("SymLink".to_owned()));
    assert_eq!(sent_header(&script, 0, "x-ms-file-extended-info"), "true");
}

#[tokio::test(start_paused = true)]
async fn the_root_is_listed_and_a_list_without_entries_is_an_error() {
    let script = Script::new([
        (
            "GET /pvc-1?restype=directory&comp=list",
            answer(200, "<EnumerationResults><Entries/></EnumerationResults>"),
        ),
        (
            "GET /pvc-1?restype=directory&comp=list",
            answer(200, "<EnumerationResults/>"),
        ),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    assert!(files.list_directory(&op, &at("")).await.unwrap().is_empty());
    let cut = files.list_directory(&op, &at("")).await.unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::Protocol);
}

#[tokio::test(start_paused = true)]
async fn a_directory_is_made_read_changed_and_deleted() {
    let full = answer_with(409, &[("x-ms-error-code", "DirectoryNotEmpty")], "");
    let script = Script::new([
        ("PUT /pvc-1/d?restype=directory", answer(201, "")),
        (
            "GET /pvc-1/d?restype=directory",
            answer_with(200, &[("x-ms-mode", "0755"), ("content-length", "4")], ""),
        ),
        (
            "PUT /pvc-1/d?restype=directory&comp=properties",
            answer(200, ""),
        ),
        ("DELETE /pvc-1/d?restype=directory", full),
        ("DELETE /pvc-1/d?restype=directory", answer(202, "")),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let dir = at("d");
    let mode = FileAttributes {
        mode: Some("0700".to_owned()),
        ..FileAttributes::default()
    };
    files.create_directory(&op, &dir, &mode).await.unwrap();
    assert_eq!(sent_header(&script, 0, "x-ms-mode"), "0700");
    let found = files.get_directory(&op, &dir).await.unwrap();
    assert_eq!(
        (found.attributes.mode.as_deref(), found.size),
        (Some("0755"), 0)
    );
    files
        .set_directory_properties(&op, &dir, &mode)
        .await
        .unwrap();
    let full = files.delete_directory(&op, &dir).await.unwrap_err();
    assert!(full.has_code("DirectoryNotEmpty"));
    files.delete_directory(&op, &dir).await.unwrap();
    assert_eq!(script.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_root_cannot_be_deleted_as_a_directory() {
    let script = Script::new([]);
    let (files, clock) = files(&script);
    let root = FileRef::live(share(), SharePath::root());
    let error = files
        .delete_directory(&op(&clock, 60), &root)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
