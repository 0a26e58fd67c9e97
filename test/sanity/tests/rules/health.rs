//! ControllerGetVolumeHealth, ControllerListVolumeHealth, NodeGetVolumeHealth, NodeGetStorageHealth.

use azcsi_proto::csi::v1::{
    ControllerGetVolumeHealthRequest, ControllerListVolumeHealthRequest,
    NodeGetStorageHealthRequest, NodeGetVolumeHealthRequest,
};
use azcsi_rig::rig::Rig;
use tonic::Code;

use crate::support::{Attached, USUAL, code, create, machine, ok};

#[tokio::test]
async fn the_health_of_a_volume_that_is_not_known_is_not_found() {
    USUAL
        .run(async |rig: &Rig| {
            let request = ControllerGetVolumeHealthRequest {
                volume_id: "no-such-volume".to_owned(),
                ..ControllerGetVolumeHealthRequest::default()
            };
            let mut calls = rig.controller.controller();
            assert_eq!(
                code(calls.controller_get_volume_health(request).await),
                Code::NotFound
            );
            let request = NodeGetVolumeHealthRequest {
                volume_id: "no-such-volume".to_owned(),
                ..NodeGetVolumeHealthRequest::default()
            };
            let mut node = machine(rig).plugin().unwrap().node();
            assert_eq!(
                code(node.node_get_volume_health(request).await),
                Code::NotFound
            );
        })
        .await;
}

#[tokio::test]
async fn a_healthy_volume_has_no_condition_and_is_left_out_of_the_list() {
    USUAL
        .run(async |rig: &Rig| {
            let volume = create(rig, "healthy").await;
            let mut calls = rig.controller.controller();
            let request = ControllerGetVolumeHealthRequest {
                volume_id: volume.volume_id.clone(),
                ..ControllerGetVolumeHealthRequest::default()
            };
            let health = ok(calls.controller_get_volume_health(request).await);
            let health = health.volume_health.unwrap();
            assert_eq!(health.volume_id, volume.volume_id);
            assert_eq!(health.health_statuses, []);
            let list = ControllerListVolumeHealthRequest::default();
            let list = ok(calls.controller_list_volume_health(list).await);
            assert_eq!((list.entries.len(), list.next_token.as_str()), (0, ""));
        })
        .await;
}

#[tokio::test]
async fn the_list_of_health_aborts_on_a_bad_token_and_refuses_a_negative_limit() {
    USUAL
        .run(async |rig: &Rig| {
            let mut calls = rig.controller.controller();
            let request = ControllerListVolumeHealthRequest {
                starting_token: "nonsense".to_owned(),
                ..ControllerListVolumeHealthRequest::default()
            };
            assert_eq!(
                code(calls.controller_list_volume_health(request).await),
                Code::Aborted
            );
            let request = ControllerListVolumeHealthRequest {
                max_entries: -1,
                ..ControllerListVolumeHealthRequest::default()
            };
            assert_eq!(
                code(calls.controller_list_volume_health(request).await),
                Code::InvalidArgument
            );
        })
        .await;
}

#[tokio::test]
async fn a_staged_volume_is_found_by_its_id_alone_and_healthy_with_its_node() {
    USUAL
        .run(async |rig: &Rig| {
            let attached = Attached::new(rig, "staged").await;
            let mut node = machine(rig).plugin().unwrap().node();
            ok(node.node_stage_volume(attached.stage()).await);
            let request = NodeGetVolumeHealthRequest {
                volume_id: attached.volume.volume_id.clone(),
                ..NodeGetVolumeHealthRequest::default()
            };
            let health = ok(node.node_get_volume_health(request).await)
                .volume_health
                .unwrap();
            assert_eq!(health.volume_id, attached.volume.volume_id);
            assert_eq!(health.health_statuses, []);
            let storage = node
                .node_get_storage_health(NodeGetStorageHealthRequest::default())
                .await;
            assert_eq!(ok(storage).backend_health, []);
        })
        .await;
}
