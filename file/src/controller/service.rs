//! The tonic trait of the Controller service: one line for each RPC.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::status::not_offered;
use azcsi_rpc::{Dispatcher, Method};
use tonic::{Request, Response, Status};
use v1::controller_server::Controller as Rpcs;

use super::Controller;
use super::create_snapshot::CreateSnapshot;
use super::create_volume::CreateVolume;
use super::delete_snapshot::DeleteSnapshot;
use super::delete_volume::DeleteVolume;
use super::expand::Expand;
use super::get_capabilities::GetCapabilities;
use super::get_capacity::GetCapacity;
use super::get_snapshot::GetSnapshot;
use super::get_volume::GetVolume;
use super::get_volume_health::GetVolumeHealth;
use super::list_snapshots::ListSnapshots;
use super::modify::Modify;
use super::validate_capabilities::ValidateCapabilities;

/// The service.
#[derive(Clone, Debug)]
pub struct ControllerService {
    ctx: Arc<Controller>,
    dispatcher: Dispatcher,
}

impl ControllerService {
    /// The service over a controller.
    #[must_use]
    pub const fn new(ctx: Arc<Controller>, dispatcher: Dispatcher) -> Self {
        Self { ctx, dispatcher }
    }
}

macro_rules! rpcs {
    (
        offered: { $($method:ident($request:ident) -> $response:ident by $handler:ident;)* }
        others: { $($other:ident($asked:ident) -> $never:ident as $name:ident;)* }
    ) => {
        #[tonic::async_trait]
        impl Rpcs for ControllerService {
            $(
                async fn $method(
                    &self,
                    request: Request<v1::$request>,
                ) -> Result<Response<v1::$response>, Status> {
                    self.dispatcher.unary::<$handler>(&self.ctx, request).await
                }
            )*
            $(
                async fn $other(
                    &self,
                    _: Request<v1::$asked>,
                ) -> Result<Response<v1::$never>, Status> {
                    Err(not_offered(Method::$name))
                }
            )*
        }
    };
}

rpcs! {
    offered: {
    create_volume(CreateVolumeRequest) -> CreateVolumeResponse by CreateVolume;
    delete_volume(DeleteVolumeRequest) -> DeleteVolumeResponse by DeleteVolume;
    validate_volume_capabilities(ValidateVolumeCapabilitiesRequest) -> ValidateVolumeCapabilitiesResponse by ValidateCapabilities;
    controller_get_volume_health(ControllerGetVolumeHealthRequest) -> ControllerGetVolumeHealthResponse by GetVolumeHealth;
    get_capacity(GetCapacityRequest) -> GetCapacityResponse by GetCapacity;
    create_snapshot(CreateSnapshotRequest) -> CreateSnapshotResponse by CreateSnapshot;
    delete_snapshot(DeleteSnapshotRequest) -> DeleteSnapshotResponse by DeleteSnapshot;
    list_snapshots(ListSnapshotsRequest) -> ListSnapshotsResponse by ListSnapshots;
    get_snapshot(GetSnapshotRequest) -> GetSnapshotResponse by GetSnapshot;
    controller_expand_volume(ControllerExpandVolumeRequest) -> ControllerExpandVolumeResponse by Expand;
    controller_get_volume(ControllerGetVolumeRequest) -> ControllerGetVolumeResponse by GetVolume;
    controller_modify_volume(ControllerModifyVolumeRequest) -> ControllerModifyVolumeResponse by Modify;
    controller_get_capabilities(ControllerGetCapabilitiesRequest) -> ControllerGetCapabilitiesResponse by GetCapabilities;
    }
    others: {
    controller_publish_volume(ControllerPublishVolumeRequest) -> ControllerPublishVolumeResponse as ControllerPublishVolume;
    controller_unpublish_volume(ControllerUnpublishVolumeRequest) -> ControllerUnpublishVolumeResponse as ControllerUnpublishVolume;
    list_volumes(ListVolumesRequest) -> ListVolumesResponse as ListVolumes;
    controller_list_volume_health(ControllerListVolumeHealthRequest) -> ControllerListVolumeHealthResponse as ControllerListVolumeHealth;
    }
}
