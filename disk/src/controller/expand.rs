//! ControllerExpandVolume: a larger disk.

use std::sync::Arc;

use azcsi_cloud::{DiskUpdate, DiskUpdateProperties};
use azcsi_proto::csi::v1;
use azcsi_rpc::validate::Invalid;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::access::VolumeMode;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::op::Op;
use azcsi_types::size::{Bytes, CapacityRange};

use super::Controller;
use super::common::disk_guard;
use super::error::ControllerError;
use super::expand_plan::{ExpandPlan, NoGrowth, Online, plan};
use super::notices::{Act, Place};

/// The RPC.
#[derive(Debug)]
pub struct Expand;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    disk: DiskUri,
    range: CapacityRange,
    block: bool,
}

/// The reply.
#[derive(Clone, Debug)]
pub struct Reply {
    size: Bytes,
    node_expansion: bool,
}

impl Handler for Expand {
    type Ctx = Controller;
    type Wire = v1::ControllerExpandVolumeRequest;
    type WireReply = v1::ControllerExpandVolumeResponse;
    type Request = Request;
    type Reply = Reply;
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerExpandVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        if wire.capacity_range.is_none() {
            return Err(Invalid::Missing("capacity_range").into());
        }
        let range = validate::capacity_range(wire.capacity_range)?;
        if range.required().is_none() {
            return Err(Invalid::Missing("capacity_range.required_bytes").into());
        }
        let access = validate::optional_capability(wire.volume_capability)?;
        Ok(Request {
            disk: super::common::disk_uri(id)?,
            range,
            block: access.is_some_and(|access| access.volume == VolumeMode::Block),
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![disk_guard(&request.disk)],
            fingerprint: format!("{:?}", request.range),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<Reply, ControllerError> {
        let place = Place {
            disk: &request.disk,
            node: None,
        };
        let work = Box::pin(grow(&ctx, &request, &op));
        let size = ctx.in_sight(Act::Expand, place, work).await?;
        Ok(Reply {
            size,
            node_expansion: !request.block,
        })
    }

    fn encode(reply: Reply) -> Self::WireReply {
        v1::ControllerExpandVolumeResponse {
            capacity_bytes: reply.size.as_i64(),
            node_expansion_required: reply.node_expansion,
        }
    }
}

async fn grow(ctx: &Controller, request: &Request, op: &Op) -> Result<Bytes, ControllerError> {
    let uri = &request.disk;
    let disk = ctx.need_disk(op, uri).await?;
    let online = if ctx.settings.online_resize {
        Online::Allowed
    } else {
        Online::Off
    };
    let size = match plan(&disk, request.range, online) {
        Ok(ExpandPlan::Enough(size)) => return Ok(size),
        Ok(ExpandPlan::Grow(size)) => size,
        Err(NoGrowth::Size(error)) => return Err(error.into()),
        Err(NoGrowth::State(text)) => {
            return Err(ControllerError::State(format!("volume {uri}: {text}")));
        }
    };
    let change = DiskUpdate {
        properties: DiskUpdateProperties {
            disk_size_gb: Some(size.get()),
            ..DiskUpdateProperties::default()
        },
        ..DiskUpdate::default()
    };
    let grown = ctx.azure.disks().update(op, uri, &change).await;
    let grown = grown.map_err(|error| {
        ControllerError::azure(format!("growing volume {uri} to {size}"), error)
    })?;
    ctx.facts.put(uri, &grown);
    Ok(grown.size().unwrap_or(size).bytes())
}
