//! Tests of `shares` and `share_snapshots`.

use azcsi_types::share::SnapshotTime;

use crate::testing::{Script, answer, answer_with, files, op, sent_header, share};
use crate::{ErrorKind, Metadata, ShareCreate, ShareFilter, ShareUpdate, SnapshotsToo};

const TIME: &str = "2026-03-03T09:30:00.0000001Z";

fn metadata() -> Metadata {
    Metadata::from([("createdBy".to_owned(), "file.csi.azure.com".to_owned())])
}

#[tokio::test(start_paused = true)]
async fn a_create_sends_everything_that_was_asked_for() {
    let script = Script::new([("PUT /pvc-1?restype=share", answer(201, ""))]);
    let (files, clock) = files(&script);
    let properties = ShareCreate {
        share_quota: Some(100),
        enabled_protocols: Some("NFS".to_owned()),
        access_tier: Some("Premium".to_owned()),
        root_squash: Some("RootSquash".to_owned()),
        provisioned_iops: Some(3100),
        provisioned_bandwidth_mibps: Some(135),
        metadata: metadata(),
    };
    files
        .create_share(&op(&clock, 60), &share(), &properties)
        .await
        .unwrap();
    for (name, value) in [
        ("x-ms-share-quota", "100"),
        ("x-ms-enabled-protocols", "NFS"),
        ("x-ms-access-tier", "Premium"),
        ("x-ms-root-squash", "RootSquash"),
        ("x-ms-share-provisioned-iops", "3100"),
        ("x-ms-share-provisioned-bandwidth-mibps", "135"),
        ("x-ms-meta-createdby", "file.csi.azure.com"),
    ] {
        assert_eq!(sent_header(&script, 0, name), value, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_properties_of_a_share_are_in_the_headers() {
    let headers = [
        ("x-ms-share-quota", "100"),
        ("x-ms-enabled-protocols", "NFS"),
        ("x-ms-meta-createdby", "file.csi.azure.com"),
        ("etag", "\"0x1\""),
        ("x-ms-share-provisioned-iops", "odd"),
    ];
    let stats =
        "<?xml version=\"1.0\"?><ShareStats><ShareUsageBytes>123</ShareUsageBytes></ShareStats>";
    let script = Script::new([
        ("GET /pvc-1?restype=share", answer_with(200, &headers, "")),
        ("GET /pvc-1?restype=share&comp=stats", answer(200, stats)),
        (
            "GET /pvc-1?restype=share&comp=stats",
            answer(200, "<ShareStats/>"),
        ),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let found = files.get_share(&op, &share()).await.unwrap();
    assert_eq!(found.quota().unwrap().get(), 100);
    assert!(found.is_nfs());
    assert_eq!(found.meta("createdBy"), Some("file.csi.azure.com"));
    assert_eq!(found.properties.provisioned_iops, None);
    assert_eq!(files.share_usage(&op, &share()).await.unwrap(), 123);
    let unknown = files.share_usage(&op, &share()).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Protocol);
}

#[tokio::test(start_paused = true)]
async fn an_update_sends_only_what_changes() {
    let script = Script::new([
        ("PUT /pvc-1?restype=share&comp=properties", answer(200, "")),
        ("PUT /pvc-1?restype=share&comp=metadata", answer(200, "")),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let quota = ShareUpdate {
        share_quota: Some(200),
        ..ShareUpdate::default()
    };
    files.update_share(&op, &share(), &quota).await.unwrap();
    assert_eq!(sent_header(&script, 0, "x-ms-share-quota"), "200");
    assert_eq!(sent_header(&script, 0, "x-ms-access-tier"), "");
    let only_metadata = ShareUpdate {
        metadata: Some(metadata()),
        ..ShareUpdate::default()
    };
    files
        .update_share(&op, &share(), &only_metadata)
        .await
        .unwrap();
    assert_eq!(script.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_delete_says_what_becomes_of_snapshots_and_an_absent_share_is_gone() {
    let absent = answer_with(404, &[("x-ms-error-code", "ShareNotFound")], "");
    let kept = answer_with(409, &[("x-ms-error-code", "ShareHasSnapshots")], "");
    let script = Script::new([
        ("DELETE /pvc-1?restype=share", kept),
        ("DELETE /pvc-1?restype=share", answer(202, "")),
        ("DELETE /pvc-1?restype=share", answer(202, "")),
        ("DELETE /pvc-1?restype=share", absent),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let share = share();
    let refused = files.delete_share(&op, &share, SnapshotsToo::No).await;
    assert!(refused.unwrap_err().has_share_snapshots());
    for snapshots in [
        SnapshotsToo::Yes,
        SnapshotsToo::EvenLeased,
        SnapshotsToo::No,
    ] {
        files.delete_share(&op, &share, snapshots).await.unwrap();
    }
    let sent: Vec<String> = (0..4)
        .map(|index| sent_header(&script, index, "x-ms-delete-snapshots"))
        .collect();
    assert_eq!(sent, ["", "include", "include-leased", ""]);
}

const FIRST: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint=\"https://acct1.file.core.windows.net/\"><Prefix>pvc</Prefix><Unknown><Shares/></Unknown><Shares><Share><Name>pvc-1</Name><Snapshot>2026-03-03T09:30:00.0000001Z</Snapshot><Properties><Quota>10</Quota></Properties><Metadata><initiator>snap &amp; 1</initiator></Metadata></Share><Share><Name>pvc-1</Name><Properties><Etag>\"0x1\"</Etag><Quota>20</Quota><EnabledProtocols>SMB</EnabledProtocols></Properties><Metadata/></Share></Shares><NextMarker>/acct1/pvc-2</NextMarker></EnumerationResults>";
const SECOND: &str = "<EnumerationResults><Shares><Share><Version>01D6</Version><Deleted>true</Deleted><Name>pvc-10</Name><Snapshot>2026-01-01T00:00:00.0000000Z</Snapshot></Share></Shares><NextMarker /></EnumerationResults>";

#[tokio::test(start_paused = true)]
async fn a_list_is_read_over_all_its_pages() {
    let script = Script::new([
        (
            "GET /?comp=list&include=metadata%2Csnapshots%2Cdeleted&prefix=pvc&maxresults=2",
            answer(200, FIRST),
        ),
        ("GET &marker=%2Facct1%2Fpvc-2", answer(200, SECOND)),
        (
            "GET /?comp=list&include=metadata",
            answer(200, "<EnumerationResults/>"),
        ),
    ]);
    let (files, clock) = files(&script);
    let filter = ShareFilter {
        prefix: Some("pvc".to_owned()),
        snapshots: true,
        deleted: true,
        page_size: Some(2),
    };
    let op = op(&clock, 60);
    let all = files.list_shares(&op, &filter).await.unwrap();
    let names: Vec<&str> = all.iter().map(|share| share.name.as_str()).collect();
    assert_eq!(names, ["pvc-1", "pvc-1", "pvc-10"]);
    assert_eq!(all[0].meta("Initiator"), Some("snap & 1"));
    assert_eq!(all[0].properties.snapshot_time, Some(TIME.parse().unwrap()));
    assert_eq!(all[1].quota().unwrap().get(), 20);
    assert!(all[2].properties.deleted && all[2].properties.metadata.is_some());
    // A list without its list must not look like an empty one.
    let cut = files.list_shares(&op, &ShareFilter::live()).await;
    assert_eq!(cut.unwrap_err().kind(), ErrorKind::Protocol);
}

#[tokio::test(start_paused = true)]
async fn snapshots_are_those_of_exactly_this_share() {
    let page = FIRST.replace("/acct1/pvc-2", "");
    let page = page.replace("<Shares><Share>", "<Shares><Share><Name>pvc-10</Name><Snapshot>2020-01-01T00:00:00.0000000Z</Snapshot></Share><Share>");
    let script = Script::new([(
        "GET /?comp=list&include=metadata%2Csnapshots&prefix=pvc-1",
        answer(200, &page),
    )]);
    let (files, clock) = files(&script);
    let found = files
        .list_share_snapshots(&op(&clock, 60), &share())
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].time.as_str(), TIME);
    assert_eq!(found[0].share.meta("initiator"), Some("snap & 1"));
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_taken_read_and_deleted_by_its_time() {
    let gone = answer_with(404, &[("x-ms-error-code", "ShareSnapshotNotFound")], "");
    let at = "/pvc-1?restype=share&sharesnapshot=2026-03-03T09%3A30%3A00.0000001Z";
    let get: &'static str = Box::leak(format!("GET {at}").into_boxed_str());
    let delete: &'static str = Box::leak(format!("DELETE {at}").into_boxed_str());
    let script = Script::new([
        (
            "PUT /pvc-1?restype=share&comp=snapshot",
            answer_with(201, &[("x-ms-snapshot", TIME)], ""),
        ),
        (get, answer_with(200, &[("x-ms-meta-initiator", "n")], "")),
        (delete, answer(202, "")),
        (delete, gone),
        ("PUT comp=snapshot", answer(201, "")),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let share = share();
    let taken: SnapshotTime = files
        .create_share_snapshot(&op, &share, &metadata())
        .await
        .unwrap();
    assert_eq!(taken.as_str(), TIME);
    let read = files.get_share_snapshot(&op, &share, &taken).await.unwrap();
    assert_eq!(read.share.meta("initiator"), Some("n"));
    for _ in 0..2 {
        files
            .delete_share_snapshot(&op, &share, &taken)
            .await
            .unwrap();
    }
    let nameless = files.create_share_snapshot(&op, &share, &metadata()).await;
    assert!(nameless.unwrap_err().is_uncertain());
}
