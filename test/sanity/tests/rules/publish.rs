//! ControllerPublishVolume, ControllerUnpublishVolume, ValidateVolumeCapabilities, DeleteVolume.

use azcsi_proto::csi::v1::volume_capability::access_mode::Mode;
use azcsi_proto::csi::v1::{
    ControllerUnpublishVolumeRequest, DeleteVolumeRequest, NodeGetInfoRequest,
    ValidateVolumeCapabilitiesRequest,
};
use azcsi_rig::csi::filesystem;
use azcsi_rig::rig::Rig;
use tonic::Code;

use crate::support::{USUAL, World, attach, code, count, create, machine, ok, with_mode};

fn delete(volume: &str) -> DeleteVolumeRequest {
    DeleteVolumeRequest {
        volume_id: volume.to_owned(),
        ..DeleteVolumeRequest::default()
    }
}

fn detach(volume: &str, node: &str) -> ControllerUnpublishVolumeRequest {
    ControllerUnpublishVolumeRequest {
        volume_id: volume.to_owned(),
        node_id: node.to_owned(),
        ..ControllerUnpublishVolumeRequest::default()
    }
}

#[tokio::test]
async fn a_volume_published_to_another_node_is_a_failed_precondition_that_names_the_node() {
    let world = World { nodes: 2, ..USUAL };
    world
        .run(async |rig: &Rig| {
            let volume = create(rig, "one").await.volume_id;
            let nodes: Vec<&str> = rig.machines.iter().map(|node| node.name.as_str()).collect();
            let (here, there) = (nodes[0], nodes[1]);
            // Kubernetes says that the first node still uses it; without that it is a leftover that
            // may be moved.
            let attachment = serde_json::json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
                "metadata": {"name": "one"},
                "spec": {"attacher": "disk.csi.azure.com", "nodeName": here, "source": {
                    "inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], "csi": {
                        "driver": "disk.csi.azure.com", "volumeHandle": volume}}}},
            });
            crate::support::kubernetes(
                rig,
                "/apis/storage.k8s.io/v1/volumeattachments",
                &attachment,
            )
            .await;
            let mut calls = rig.controller.controller();
            ok(calls.controller_publish_volume(attach(&volume, here)).await);
            let status = calls
                .controller_publish_volume(attach(&volume, there))
                .await
                .unwrap_err();
            assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
            assert!(status.message().contains(here), "{status:?}");
            ok(calls
                .controller_unpublish_volume(detach(&volume, here))
                .await);
            ok(calls
                .controller_publish_volume(attach(&volume, there))
                .await);
        })
        .await;
}

#[tokio::test]
async fn a_volume_in_use_is_not_deleted() {
    USUAL
        .run(async |rig: &Rig| {
            let volume = create(rig, "used").await.volume_id;
            let mut calls = rig.controller.controller();
            ok(calls
                .controller_publish_volume(attach(&volume, &machine(rig).name))
                .await);
            assert_eq!(
                code(calls.delete_volume(delete(&volume)).await),
                Code::FailedPrecondition
            );
            assert_eq!(count(rig, "disks").await, 1);
            ok(calls
                .controller_unpublish_volume(detach(&volume, &machine(rig).name))
                .await);
            ok(calls.delete_volume(delete(&volume)).await);
            assert_eq!(count(rig, "disks").await, 0);
        })
        .await;
}

#[tokio::test]
async fn unpublish_without_a_node_detaches_from_every_node() {
    USUAL
        .run(async |rig: &Rig| {
            let volume = create(rig, "everywhere").await.volume_id;
            let mut calls = rig.controller.controller();
            ok(calls
                .controller_publish_volume(attach(&volume, &machine(rig).name))
                .await);
            ok(calls.controller_unpublish_volume(detach(&volume, "")).await);
            ok(calls.delete_volume(delete(&volume)).await);
        })
        .await;
}

#[tokio::test]
async fn unpublish_of_what_is_not_published_or_not_there_succeeds() {
    USUAL
        .run(async |rig: &Rig| {
            let volume = create(rig, "never").await.volume_id;
            let mut calls = rig.controller.controller();
            for (volume, node) in [
                (volume.as_str(), machine(rig).name.as_str()),
                (volume.as_str(), "no-such-node"),
                ("no-such-volume", machine(rig).name.as_str()),
            ] {
                ok(calls
                    .controller_unpublish_volume(detach(volume, node))
                    .await);
            }
        })
        .await;
}

#[tokio::test]
async fn publish_again_answers_the_same_context() {
    USUAL
        .run(async |rig: &Rig| {
            let volume = create(rig, "again").await.volume_id;
            let mut calls = rig.controller.controller();
            let call = attach(&volume, &machine(rig).name);
            let first = ok(calls.controller_publish_volume(call.clone()).await);
            let second = ok(calls.controller_publish_volume(call).await);
            assert_eq!(first.publish_context, second.publish_context);
            assert!(!first.publish_context.is_empty());
        })
        .await;
}

#[tokio::test]
async fn a_capability_that_is_not_supported_is_answered_with_a_message_and_not_confirmed() {
    USUAL
        .run(async |rig: &Rig| {
            let volume = create(rig, "validated").await;
            let ask = |capability| ValidateVolumeCapabilitiesRequest {
                volume_id: volume.volume_id.clone(),
                volume_context: volume.volume_context.clone(),
                volume_capabilities: vec![capability],
                ..ValidateVolumeCapabilitiesRequest::default()
            };
            let mut calls = rig.controller.controller();
            let no = ask(with_mode(Mode::MultiNodeMultiWriter));
            let no = ok(calls.validate_volume_capabilities(no).await);
            assert_eq!(no.confirmed, None);
            assert!(!no.message.is_empty());
            let yes = ok(calls
                .validate_volume_capabilities(ask(filesystem("ext4")))
                .await);
            assert_eq!(
                yes.confirmed.unwrap().volume_capabilities,
                [filesystem("ext4")]
            );
        })
        .await;
}

#[tokio::test]
async fn a_filesystem_for_several_nodes_or_an_unknown_mode_is_invalid() {
    USUAL
        .run(async |rig: &Rig| {
            for mode in [
                Mode::MultiNodeMultiWriter,
                Mode::MultiNodeReaderOnly,
                Mode::Unknown,
            ] {
                let mut call = crate::support::request("shared");
                call.volume_capabilities = vec![with_mode(mode)];
                let reply = rig.controller.controller().create_volume(call).await;
                assert_eq!(code(reply), Code::InvalidArgument, "{mode:?}");
            }
            assert_eq!(count(rig, "disks").await, 0);
        })
        .await;
}

#[tokio::test]
async fn the_limit_of_a_node_counts_no_volume_that_has_left() {
    USUAL
        .run(async |rig: &Rig| {
            let volume = create(rig, "left").await.volume_id;
            let node = machine(rig);
            let limit = async || {
                let mut calls = node.plugin().unwrap().node();
                ok(calls.node_get_info(NodeGetInfoRequest {}).await).max_volumes_per_node
            };
            let free = limit().await;
            let mut calls = rig.controller.controller();
            ok(calls
                .controller_publish_volume(attach(&volume, &node.name))
                .await);
            // No VolumeAttachment claims it, so it is somebody else's disk.
            assert_eq!(limit().await, free - 1);
            ok(calls
                .controller_unpublish_volume(detach(&volume, &node.name))
                .await);
            assert_eq!(limit().await, free);
        })
        .await;
}
