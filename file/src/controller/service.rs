//! The tonic trait of the Controller service: one line for each RPC.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::status::not_offered;
use azcsi_rpc::{Dispatcher, Method};
use tonic::{Request, Response, Status};
use v1::controller_server::Controller as Rpcs;

use super::Controller;
use super::create_volume::CreateVolume;
use super::delete_volume::DeleteVolume;
use super::get_capabilities::GetCapabilities;

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
    controller_get_capabilities(ControllerGetCapabilitiesRequest) -> ControllerGetCapabilitiesResponse by GetCapabilities;
    }
    others: {
    controller_publish_volume(ControllerPublishVolumeRequest) -> ControllerPublishVolumeResponse as ControllerPublishVolume;
    controller_unpublish_volume(ControllerUnpublishVolumeRequest) -> ControllerUnpublishVolumeResponse as ControllerUnpublishVolume;
    validate_volume_capabilities(ValidateVolumeCapabilitiesRequest) -> ValidateVolumeCapabilitiesResponse as ValidateVolumeCapabilities;
    list_volumes(ListVolumesRequest) -> ListVolumesResponse as ListVolumes;
    controller_list_volume_health(ControllerListVolumeHealthRequest) -> ControllerListVolumeHealthResponse as ControllerListVolumeHealth;
    controller_get_volume_health(ControllerGetVolumeHealthRequest) -> ControllerGetVolumeHealthResponse as ControllerGetVolumeHealth;
    get_capacity(GetCapacityRequest) -> GetCapacityResponse as GetCapacity;
    create_snapshot(CreateSnapshotRequest) -> CreateSnapshotResponse as CreateSnapshot;
    delete_snapshot(DeleteSnapshotRequest) -> DeleteSnapshotResponse as DeleteSnapshot;
    list_snapshots(ListSnapshotsRequest) -> ListSnapshotsResponse as ListSnapshots;
    get_snapshot(GetSnapshotRequest) -> GetSnapshotResponse as GetSnapshot;
    controller_expand_volume(ControllerExpandVolumeRequest) -> ControllerExpandVolumeResponse as ControllerExpandVolume;
    controller_get_volume(ControllerGetVolumeRequest) -> ControllerGetVolumeResponse as ControllerGetVolume;
    controller_modify_volume(ControllerModifyVolumeRequest) -> ControllerModifyVolumeResponse as ControllerModifyVolume;
    }
}
