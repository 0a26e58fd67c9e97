//! ControllerGetVolume: one share. Shares are not attached, so there are no nodes to tell.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;
use azcsi_types::share_handle::ShareHandle;
use azcsi_types::size::Bytes;

use super::Controller;
use super::error::ControllerError;

/// The RPC.
#[derive(Debug)]
pub struct GetVolume;

impl Handler for GetVolume {
    type Ctx = Controller;
    type Wire = v1::ControllerGetVolumeRequest;
    type WireReply = v1::ControllerGetVolumeResponse;
    type Request = ShareHandle;
    type Reply = (ShareHandle, Bytes);
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerGetVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<ShareHandle, ControllerError> {
        super::common::handle(wire.volume_id)
    }

    fn scope(_: &ShareHandle) -> Scope {
        Scope::Read
    }

    async fn run(
        ctx: Arc<Controller>,
        volume: ShareHandle,
        op: Op,
    ) -> Result<Self::Reply, ControllerError> {
        let at = ctx.locate(&op, volume.parts(), None).await?;
        let share = ctx.need_share(&op, &at).await?;
        let directory = ctx.need_directory(&op, &at, (volume.parts(), None)).await?;
        let size = match directory {
            Some(directory) => directory.size,
            None => share.quota().unwrap_or_default(),
        };
        Ok((volume, size.bytes()))
    }

    fn encode((volume, size): Self::Reply) -> Self::WireReply {
        v1::ControllerGetVolumeResponse {
            volume: Some(v1::Volume {
                volume_id: volume.to_string(),
                capacity_bytes: size.as_i64(),
                ..v1::Volume::default()
            }),
            status: Some(v1::controller_get_volume_response::VolumeStatus::default()),
        }
    }
}
