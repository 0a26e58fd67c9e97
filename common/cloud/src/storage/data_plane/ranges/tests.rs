//! Tests of `ranges`.

use azcsi_types::secret::Secret;
use bytes::Bytes;

use super::{RANGE_LIMIT, RangeSource};
use crate::storage::data_plane::{CopySource, FileRef, FilesEndpoint};
use crate::testing::{Script, answer, files, files_with, op, sent_header, share};
use crate::{Environment, ErrorKind, FilesCredential};

fn at(path: &str) -> FileRef {
    FileRef::live(share(), path.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn bytes_are_written_and_cleared_where_they_belong() {
    let script = Script::new([
        ("PUT /pvc-1/f?comp=range", answer(201, "")),
        ("PUT /pvc-1/f?comp=range", answer(201, "")),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let bytes = Bytes::from_static(b"abc");
    files.put_range(&op, &at("f"), 4096, bytes).await.unwrap();
    files.clear_range(&op, &at("f"), 0..512).await.unwrap();
    assert_eq!(script.bodies(), ["abc", ""]);
    assert_eq!(sent_header(&script, 0, "x-ms-range"), "bytes=4096-4098");
    assert_eq!(sent_header(&script, 0, "x-ms-write"), "update");
    assert_eq!(sent_header(&script, 1, "x-ms-range"), "bytes=0-511");
    assert_eq!(sent_header(&script, 1, "x-ms-write"), "clear");
}

#[tokio::test(start_paused = true)]
async fn ranges_that_cannot_be_are_not_sent() {
    let script = Script::new([]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let long = Bytes::from(vec![0; usize::try_from(RANGE_LIMIT).unwrap() + 1]);
    for (offset, bytes) in [
        (0, Bytes::new()),
        (0, long),
        (u64::MAX, Bytes::from_static(b"ab")),
    ] {
        let error = files
            .put_range(&op, &at("f"), offset, bytes)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    let backwards = files.get_range(&op, &at("f"), 5..2).await;
    assert_eq!(backwards.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_read_takes_only_the_part_that_was_asked_for() {
    let script = Script::new([
        ("GET /pvc-1/f", answer(206, "abc")),
        ("GET /pvc-1/f", answer(206, "ab")),
        ("GET /pvc-1/f", answer(200, "abc")),
        ("GET /pvc-1/f", answer(206, "abcd")),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    assert_eq!(files.get_range(&op, &at("f"), 1..4).await.unwrap(), "abc");
    assert_eq!(sent_header(&script, 0, "x-ms-range"), "bytes=1-3");
    assert_eq!(files.get_range(&op, &at("f"), 1..4).await.unwrap(), "ab");
    for _ in 0..2 {
        let other = files.get_range(&op, &at("f"), 1..4).await.unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Protocol);
    }
}

#[tokio::test(start_paused = true)]
async fn the_parts_with_data_are_told_apart_from_holes() {
    let list = "<Ranges><Range><Start>0</Start><End>511</End></Range><ClearRange><Start>512</Start><End>1023</End></ClearRange><Range><Start>4096</Start><End>4096</End></Range></Ranges>";
    let script = Script::new([
        ("GET /pvc-1/f?comp=rangelist", answer(200, list)),
        ("GET /pvc-1/f?comp=rangelist", answer(200, "<Ranges/>")),
        (
            "GET /pvc-1/f?comp=rangelist",
            answer(
                200,
                "<Ranges><Range><Start>9</Start><End>x</End></Range></Ranges>",
            ),
        ),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    assert_eq!(
        files.list_ranges(&op, &at("f")).await.unwrap(),
        [0..512, 4096..4097]
    );
    assert!(files.list_ranges(&op, &at("f")).await.unwrap().is_empty());
    let odd = files.list_ranges(&op, &at("f")).await.unwrap_err();
    assert_eq!(odd.kind(), ErrorKind::Protocol);
}

fn source(sas: Option<Secret>) -> RangeSource {
    let environment = Environment::named("").unwrap();
    RangeSource {
        file: CopySource {
            endpoint: FilesEndpoint::in_cloud(&environment, &"other".parse().unwrap()),
            at: at("d/g"),
            sas,
        },
        offset: 100,
    }
}

#[tokio::test(start_paused = true)]
async fn a_part_of_another_file_is_named_not_sent() {
    let script = Script::new([("PUT /pvc-1/f?comp=range", answer(201, ""))]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    files
        .put_range_from(&op, &at("f"), (0, 10), &source(None))
        .await
        .unwrap();
    for (name, value) in [
        ("x-ms-source-range", "bytes=100-109"),
        ("x-ms-range", "bytes=0-9"),
        (
            "x-ms-copy-source",
            "https://other.file.core.windows.net/pvc-1/d/g",
        ),
        ("x-ms-copy-source-authorization", ""),
    ] {
        assert_eq!(sent_header(&script, 0, name), value, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_lent_only_to_azure_and_only_without_a_signature() {
    let line = || ("PUT /pvc-1/f?comp=range", answer(201, ""));
    let script = Script::new([line(), line(), line()]);
    let (files, clock) = files_with(&script, FilesCredential::Identity);
    let op = op(&clock, 60);
    for sas in [None, Some(Secret::new("sv=1&sig=x"))] {
        files
            .put_range_from(&op, &at("f"), (0, 10), &source(sas))
            .await
            .unwrap();
    }
    let mut foreign = source(None);
    let account = "other".parse().unwrap();
    foreign.file.endpoint = FilesEndpoint::at("https://other.example", &account).unwrap();
    files
        .put_range_from(&op, &at("f"), (0, 10), &foreign)
        .await
        .unwrap();
    let lent: Vec<String> = (0..3)
        .map(|index| sent_header(&script, index, "x-ms-copy-source-authorization"))
        .collect();
    assert_eq!(lent, ["Bearer token-1", "", ""]);
}
