//! Capabilities and RPCs agree: UNIMPLEMENTED exactly where nothing is advertised.

use azcsi_proto::csi::v1::controller_service_capability::{Type, rpc};
use azcsi_proto::csi::v1::{
    ControllerGetCapabilitiesRequest, ControllerGetVolumeHealthRequest, ControllerGetVolumeRequest,
    ControllerListVolumeHealthRequest, GetCapacityRequest, GetSnapshotRequest,
    ListSnapshotsRequest, ListVolumesRequest,
};
use azcsi_rig::rig::Rig;
use tonic::{Code, Response, Status};

use crate::support::{USUAL, World, ok};

async fn advertised(rig: &Rig) -> Vec<rpc::Type> {
    let request = ControllerGetCapabilitiesRequest {};
    let reply = ok(rig
        .controller
        .controller()
        .controller_get_capabilities(request)
        .await);
    let types = reply
        .capabilities
        .into_iter()
        .filter_map(|entry| entry.r#type);
    types.map(|Type::Rpc(rpc)| rpc.r#type()).collect()
}

fn unimplemented<T>(result: Result<Response<T>, Status>) -> bool {
    result.is_err_and(|status| status.code() == Code::Unimplemented)
}

/// Each optional RPC, the capability that covers it, and whether it is unimplemented.
async fn optional(rig: &Rig) -> Vec<(rpc::Type, bool)> {
    let mut calls = rig.controller.controller();
    vec![
        (
            rpc::Type::GetCapacity,
            unimplemented(calls.get_capacity(GetCapacityRequest::default()).await),
        ),
        (
            rpc::Type::ListVolumes,
            unimplemented(calls.list_volumes(ListVolumesRequest::default()).await),
        ),
        (
            rpc::Type::ListSnapshots,
            unimplemented(calls.list_snapshots(ListSnapshotsRequest::default()).await),
        ),
        (
            rpc::Type::GetSnapshot,
            unimplemented(calls.get_snapshot(GetSnapshotRequest::default()).await),
        ),
        (
            rpc::Type::GetVolume,
            unimplemented(
                calls
                    .controller_get_volume(ControllerGetVolumeRequest::default())
                    .await,
            ),
        ),
        (
            rpc::Type::GetVolumeHealth,
            unimplemented(
                calls
                    .controller_get_volume_health(ControllerGetVolumeHealthRequest::default())
                    .await,
            ),
        ),
        (
            rpc::Type::ListVolumeHealth,
            unimplemented(
                calls
                    .controller_list_volume_health(ControllerListVolumeHealthRequest::default())
                    .await,
            ),
        ),
    ]
}

async fn agree(rig: &Rig) {
    let advertised = advertised(rig).await;
    for (capability, unimplemented) in optional(rig).await {
        assert_eq!(
            advertised.contains(&capability),
            !unimplemented,
            "{capability:?}"
        );
    }
}

#[tokio::test]
async fn an_rpc_is_unimplemented_exactly_where_its_capability_is_not_advertised() {
    USUAL.run(async |rig: &Rig| agree(rig).await).await;
}

#[tokio::test]
async fn the_same_holds_with_listing_switched_off() {
    let world = World {
        listing: false,
        ..USUAL
    };
    world
        .run(async |rig: &Rig| {
            agree(rig).await;
            assert!(!advertised(rig).await.contains(&rpc::Type::ListVolumes));
        })
        .await;
}

#[tokio::test]
async fn list_volume_health_comes_with_get_volume_health_and_published_nodes_with_list_volumes() {
    USUAL
        .run(async |rig: &Rig| {
            let all = advertised(rig).await;
            for (needs, needed) in [
                (rpc::Type::ListVolumeHealth, rpc::Type::GetVolumeHealth),
                (rpc::Type::ListVolumesPublishedNodes, rpc::Type::ListVolumes),
            ] {
                assert!(!all.contains(&needs) || all.contains(&needed), "{needs:?}");
            }
        })
        .await;
}
