//! ListVolumes, ListSnapshots, ControllerGetVolume.

use std::collections::BTreeSet;

use azcsi_proto::csi::v1::{
    ControllerGetVolumeRequest, DeleteVolumeRequest, ListSnapshotsRequest, ListVolumesRequest,
    ListVolumesResponse,
};
use azcsi_rig::rig::Rig;
use tonic::Code;

use crate::support::{Attached, USUAL, code, create, machine, ok};

async fn page(rig: &Rig, max_entries: i32, token: &str) -> ListVolumesResponse {
    let request = ListVolumesRequest {
        max_entries,
        starting_token: token.to_owned(),
    };
    ok(rig.controller.controller().list_volumes(request).await)
}

fn ids(page: &ListVolumesResponse) -> Vec<String> {
    let volumes = page
        .entries
        .iter()
        .filter_map(|entry| entry.volume.as_ref());
    volumes
        .map(|volume| volume.volume_id.to_ascii_lowercase())
        .collect()
}

#[tokio::test]
async fn a_token_stays_good_when_the_last_volume_of_its_page_is_deleted() {
    USUAL
        .run(async |rig: &Rig| {
            let mut all = BTreeSet::new();
            for name in ["a", "b", "c", "d", "e"] {
                all.insert(create(rig, name).await.volume_id.to_ascii_lowercase());
            }
            let first = page(rig, 2, "").await;
            assert_eq!(ids(&first).len(), 2);
            assert!(!first.next_token.is_empty());
            let volume_id = ids(&first).pop().unwrap();
            let delete = DeleteVolumeRequest {
                volume_id,
                ..DeleteVolumeRequest::default()
            };
            ok(rig.controller.controller().delete_volume(delete).await);
            let mut seen: BTreeSet<_> = ids(&first).into_iter().collect();
            let mut token = first.next_token;
            while !token.is_empty() {
                let next = page(rig, 2, &token).await;
                assert!(next.entries.len() <= 2);
                seen.extend(ids(&next));
                token = next.next_token;
            }
            assert_eq!(seen, all, "no volume is missed that was there all the time");
        })
        .await;
}

#[tokio::test]
async fn the_last_page_has_no_token_and_zero_means_no_limit() {
    USUAL
        .run(async |rig: &Rig| {
            for name in ["a", "b"] {
                create(rig, name).await;
            }
            for limit in [0, 2, 3] {
                let all = page(rig, limit, "").await;
                assert_eq!(
                    (all.entries.len(), all.next_token.as_str()),
                    (2, ""),
                    "{limit}"
                );
            }
        })
        .await;
}

#[tokio::test]
async fn a_bad_token_is_aborted_and_a_negative_limit_is_invalid() {
    USUAL
        .run(async |rig: &Rig| {
            let mut calls = rig.controller.controller();
            for token in ["nonsense", "-1", "999999999999999999999"] {
                let request = ListVolumesRequest {
                    max_entries: 0,
                    starting_token: token.to_owned(),
                };
                assert_eq!(
                    code(calls.list_volumes(request).await),
                    Code::Aborted,
                    "{token}"
                );
                let request = ListSnapshotsRequest {
                    starting_token: token.to_owned(),
                    ..ListSnapshotsRequest::default()
                };
                assert_eq!(
                    code(calls.list_snapshots(request).await),
                    Code::Aborted,
                    "{token}"
                );
            }
            let request = ListVolumesRequest {
                max_entries: -1,
                starting_token: String::new(),
            };
            assert_eq!(
                code(calls.list_volumes(request).await),
                Code::InvalidArgument
            );
        })
        .await;
}

#[tokio::test]
async fn get_volume_tells_where_it_is_published_and_does_not_find_what_is_not_there() {
    USUAL
        .run(async |rig: &Rig| {
            let mut calls = rig.controller.controller();
            let get = |id: &str| ControllerGetVolumeRequest {
                volume_id: id.to_owned(),
            };
            let volume = create(rig, "free").await;
            let reply = ok(calls.controller_get_volume(get(&volume.volume_id)).await);
            assert_eq!(reply.volume.unwrap().capacity_bytes, volume.capacity_bytes);
            assert!(reply.status.unwrap().published_node_ids.is_empty());
            let attached = Attached::new(rig, "attached").await;
            let reply = ok(calls
                .controller_get_volume(get(&attached.volume.volume_id))
                .await);
            assert_eq!(
                reply.status.unwrap().published_node_ids,
                [machine(rig).name.clone()]
            );
            assert_eq!(
                code(calls.controller_get_volume(get("no-such-volume")).await),
                Code::NotFound
            );
            assert_eq!(
                code(calls.controller_get_volume(get("")).await),
                Code::InvalidArgument
            );
        })
        .await;
}

#[tokio::test]
async fn list_volumes_tells_where_each_is_published() {
    USUAL
        .run(async |rig: &Rig| {
            let attached = Attached::new(rig, "attached").await;
            create(rig, "free").await;
            let mut published = Vec::new();
            for entry in page(rig, 0, "").await.entries {
                let nodes = entry.status.unwrap().published_node_ids;
                let id = entry.volume.unwrap().volume_id;
                if id.eq_ignore_ascii_case(&attached.volume.volume_id) {
                    published = nodes;
                } else {
                    assert!(nodes.is_empty(), "{id}: {nodes:?}");
                }
            }
            assert_eq!(published, [machine(rig).name.clone()]);
        })
        .await;
}
