//! CreateVolume, ControllerExpandVolume, CreateSnapshot: names, sizes, conflicts.

use azcsi_proto::csi::v1::volume_content_source::{SnapshotSource, Type};
use azcsi_proto::csi::v1::{
    CapacityRange, ControllerExpandVolumeRequest, CreateSnapshotRequest, CreateVolumeRequest,
    DeleteSnapshotRequest, DeleteVolumeRequest, VolumeContentSource,
};
use azcsi_rig::rig::Rig;
use tonic::Code;

use crate::support::{GIB, USUAL, code, count, create, ok, parameters, request};

fn sized(name: &str, required_bytes: i64, limit_bytes: i64) -> CreateVolumeRequest {
    CreateVolumeRequest {
        capacity_range: Some(CapacityRange {
            required_bytes,
            limit_bytes,
        }),
        ..request(name)
    }
}

#[tokio::test]
async fn a_size_that_no_disk_can_have_is_out_of_range() {
    USUAL
        .run(async |rig: &Rig| {
            let mut calls = rig.controller.controller();
            let huge = calls.create_volume(sized("huge", 70_000 * GIB, 0)).await;
            assert_eq!(code(huge), Code::OutOfRange);
            // Disks come in whole GiB: no size lies between these two.
            let between = sized("between", GIB + 1, GIB + 2);
            assert_eq!(code(calls.create_volume(between).await), Code::OutOfRange);
            assert_eq!(count(rig, "disks").await, 0);
        })
        .await;
}

#[tokio::test]
async fn a_range_that_contradicts_itself_is_invalid() {
    USUAL
        .run(async |rig: &Rig| {
            let mut calls = rig.controller.controller();
            for (required, limit) in [(2 * GIB, GIB), (-1, 0), (0, -1)] {
                let reply = calls.create_volume(sized("range", required, limit)).await;
                assert_eq!(code(reply), Code::InvalidArgument, "{required} {limit}");
            }
        })
        .await;
}

#[tokio::test]
async fn a_name_that_is_taken_by_a_different_volume_already_exists() {
    USUAL
        .run(async |rig: &Rig| {
            let volume = create(rig, "taken").await;
            let mut calls = rig.controller.controller();
            let other_sku = CreateVolumeRequest {
                parameters: parameters(&[("skuName", "Premium_LRS")]),
                ..request("taken")
            };
            let snapshot = CreateSnapshotRequest {
                source_volume_id: volume.volume_id.clone(),
                name: "snap".to_owned(),
                ..CreateSnapshotRequest::default()
            };
            let snapshot = ok(calls.create_snapshot(snapshot).await).snapshot.unwrap();
            let source = SnapshotSource {
                snapshot_id: snapshot.snapshot_id.clone(),
            };
            let other_content = CreateVolumeRequest {
                volume_content_source: Some(VolumeContentSource {
                    r#type: Some(Type::Snapshot(source)),
                }),
                ..request("taken")
            };
            for (what, call) in [
                ("size", sized("taken", 4 * GIB, 4 * GIB)),
                ("sku", other_sku),
                ("content", other_content),
            ] {
                let reply = calls.create_volume(call).await;
                assert_eq!(code(reply), Code::AlreadyExists, "{what}");
            }
            let again = ok(calls.create_volume(request("taken")).await)
                .volume
                .unwrap();
            assert_eq!(again, volume);
            let delete = DeleteSnapshotRequest {
                snapshot_id: snapshot.snapshot_id,
                ..DeleteSnapshotRequest::default()
            };
            ok(calls.delete_snapshot(delete).await);
        })
        .await;
}

#[tokio::test]
async fn control_characters_in_a_name_are_invalid() {
    USUAL
        .run(async |rig: &Rig| {
            let mut calls = rig.controller.controller();
            for name in ["a\u{1}b", "a\u{b}", "a\u{7f}"] {
                let reply = calls.create_volume(request(name)).await;
                assert_eq!(code(reply), Code::InvalidArgument, "{name:?}");
            }
        })
        .await;
}

/// CSI, size limits. Ids of Azure and tokens of pods are longer than CSI's limits for them.
#[tokio::test]
async fn a_field_of_the_greatest_length_is_taken_and_a_longer_one_is_invalid() {
    USUAL
        .run(async |rig: &Rig| {
            create(rig, &"n".repeat(128)).await;
            let mut calls = rig.controller.controller();
            let mut too_long = request("sizes");
            too_long.parameters = [("tags".to_owned(), "v".repeat(64 << 10))].into();
            for size in [4096, 4097] {
                let request = DeleteVolumeRequest {
                    volume_id: "i".repeat(size),
                    ..DeleteVolumeRequest::default()
                };
                let reply = calls.delete_volume(request).await;
                let (expected, ended) = match size {
                    // No id of a disk, but as long as an id may be: nothing to delete.
                    4096 => (
                        Code::Ok,
                        reply.map_or_else(|status| status.code(), |_| Code::Ok),
                    ),
                    _ => (Code::InvalidArgument, code(reply)),
                };
                assert_eq!(ended, expected, "an id of {size} bytes");
            }
            for (wrong, word) in [(request(&"n".repeat(129)), "128"), (too_long, "65536")] {
                let status = calls.create_volume(wrong).await.unwrap_err();
                assert_eq!(status.code(), Code::InvalidArgument);
                assert!(status.message().contains(word), "{}", status.message());
            }
        })
        .await;
}

#[tokio::test]
async fn names_that_differ_only_in_characters_that_azure_forbids_are_different_volumes() {
    USUAL
        .run(async |rig: &Rig| {
            let first = create(rig, "data/one").await;
            let second = create(rig, "data:one").await;
            assert_ne!(first.volume_id, second.volume_id);
            assert_eq!(create(rig, "data/one").await, first);
        })
        .await;
}

#[tokio::test]
async fn a_parameter_that_is_not_known_is_invalid_and_creates_nothing() {
    USUAL
        .run(async |rig: &Rig| {
            let call = CreateVolumeRequest {
                parameters: parameters(&[("noSuchKey", "1")]),
                ..request("unknown")
            };
            let reply = rig.controller.controller().create_volume(call).await;
            assert_eq!(code(reply), Code::InvalidArgument);
            assert_eq!(count(rig, "disks").await, 0);
        })
        .await;
}

#[tokio::test]
async fn to_expand_beyond_what_a_disk_can_be_is_out_of_range_and_to_shrink_changes_nothing() {
    USUAL
        .run(async |rig: &Rig| {
            let volume = create(rig, "grown").await;
            let to = |required_bytes| ControllerExpandVolumeRequest {
                volume_id: volume.volume_id.clone(),
                capacity_range: Some(CapacityRange {
                    required_bytes,
                    limit_bytes: 0,
                }),
                ..ControllerExpandVolumeRequest::default()
            };
            let mut calls = rig.controller.controller();
            let huge = calls.controller_expand_volume(to(70_000 * GIB)).await;
            assert_eq!(code(huge), Code::OutOfRange);
            assert_eq!(
                ok(calls.controller_expand_volume(to(3 * GIB)).await).capacity_bytes,
                3 * GIB
            );
            let smaller = ok(calls.controller_expand_volume(to(2 * GIB)).await);
            assert_eq!(smaller.capacity_bytes, 3 * GIB);
        })
        .await;
}
