//! ControllerGetVolume: one disk, and where it is published.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::op::Op;

use super::Controller;
use super::brief::Brief;
use super::error::ControllerError;

/// The RPC.
#[derive(Debug)]
pub struct GetVolume;

impl Handler for GetVolume {
    type Ctx = Controller;
    type Wire = v1::ControllerGetVolumeRequest;
    type WireReply = v1::ControllerGetVolumeResponse;
    type Request = DiskUri;
    type Reply = (Brief, Vec<String>);
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerGetVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<DiskUri, ControllerError> {
        super::common::disk_uri(wire.volume_id)
    }

    fn scope(_: &DiskUri) -> Scope {
        Scope::Read
    }

    async fn run(
        ctx: Arc<Controller>,
        uri: DiskUri,
        op: Op,
    ) -> Result<Self::Reply, ControllerError> {
        let disk = Brief::from(ctx.need_disk(&op, &uri).await?);
        let nodes = super::publish::published(&ctx, &op, &disk.holders).await?;
        Ok((disk, nodes))
    }

    fn encode((disk, nodes): Self::Reply) -> Self::WireReply {
        v1::ControllerGetVolumeResponse {
            volume: Some(super::list_volumes::volume(&disk)),
            status: Some(v1::controller_get_volume_response::VolumeStatus {
                published_node_ids: nodes,
            }),
        }
    }
}
