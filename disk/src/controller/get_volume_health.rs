//! ControllerGetVolumeHealth: what is wrong with one disk.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;

use super::Controller;
use super::brief::Brief;
use super::common::Whereabouts;
use super::error::ControllerError;
use super::health::{self, Condition, Holders};

/// The RPC.
#[derive(Debug)]
pub struct GetVolumeHealth;

impl Handler for GetVolumeHealth {
    type Ctx = Controller;
    type Wire = v1::ControllerGetVolumeHealthRequest;
    type WireReply = v1::ControllerGetVolumeHealthResponse;
    type Request = DiskUri;
    type Reply = (Brief, DiskUri, Vec<Condition>);
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerGetVolumeHealth;

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
        let conditions = health::conditions(&disk, holders(&ctx, &op, &disk).await?);
        Ok((disk, uri, conditions))
    }

    fn encode((disk, uri, conditions): Self::Reply) -> Self::WireReply {
        let health = health::to_wire(&disk, conditions);
        v1::ControllerGetVolumeHealthResponse {
            volume_health: Some(v1::VolumeHealth {
                // The spelling that was asked for, so that the caller finds its volume.
                volume_id: uri.to_string(),
                ..health
            }),
        }
    }
}

/// Whether the machines that hold a disk run nodes of the cluster.
pub(super) async fn holders(
    ctx: &Controller,
    op: &Op,
    disk: &Brief,
) -> Result<Holders, ControllerError> {
    for id in &disk.holders {
        let foreign = match VmRef::try_from(id.clone()) {
            Ok(vm) => ctx.whereabouts(op, &vm).await? == Whereabouts::Foreign,
            Err(_) => true,
        };
        if foreign {
            return Ok(Holders::Foreign);
        }
    }
    Ok(Holders::Known)
}
