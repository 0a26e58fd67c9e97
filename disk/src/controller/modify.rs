//! ControllerModifyVolume: a disk as its VolumeAttributesClass wants it.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Measure, Method, Scope, validate};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::op::Op;

use super::Controller;
use super::common::disk_guard;
use super::create_volume::sorted;
use super::error::ControllerError;
use super::modify_plan::plan;
use super::notices::{Act, Place};
use crate::model::params::MutableParams;

/// The RPC.
#[derive(Debug)]
pub struct Modify;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    disk: DiskUri,
    wish: MutableParams,
}

impl Handler for Modify {
    type Ctx = Controller;
    type Wire = v1::ControllerModifyVolumeRequest;
    type WireReply = v1::ControllerModifyVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerModifyVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let map = validate::map("mutable_parameters", wire.mutable_parameters)?;
        let wish = MutableParams::parse(sorted(map))?;
        Ok(Request {
            disk: super::common::disk_uri(id)?,
            wish,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![disk_guard(&request.disk)],
            fingerprint: format!("{:?}", request.wish),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<(), ControllerError> {
        let place = Place {
            disk: &request.disk,
            node: None,
        };
        let work = Box::pin(modify(&ctx, &request, &op));
        ctx.in_sight(Act::Modify, place, work).await
    }

    fn encode((): ()) -> Self::WireReply {
        v1::ControllerModifyVolumeResponse {}
    }

    fn measure(request: &Request) -> Option<Measure> {
        Self::METHOD.operation().map(|operation| Measure {
            operation,
            sku: request.wish.sku.map(|sku| sku.to_string()),
        })
    }
}

async fn modify(ctx: &Controller, request: &Request, op: &Op) -> Result<(), ControllerError> {
    let uri = &request.disk;
    let disk = ctx.need_disk(op, uri).await?;
    if let (Some(percent), Some(to)) = (disk.properties.completion_percent, request.wish.sku)
        && percent < 100.0
        && disk.sku() != Some(to)
    {
        let text = format!(
            "volume {uri} is still being converted ({percent} percent); its SKU can change when that has ended"
        );
        return Err(ControllerError::Going(text));
    }
    // The resizer gives up on a class only for INVALID_ARGUMENT.
    let update = plan(&disk, &request.wish)
        .map_err(|error| ControllerError::Refused(format!("volume {uri}: {error}")))?;
    if let Some(update) = update {
        let changed = ctx.azure.disks().update(op, uri, &update).await;
        let changed = changed
            .map_err(|error| ControllerError::azure(format!("changing volume {uri}"), error))?;
        ctx.facts.put(uri, &changed);
        let from = disk.sku.as_ref().map(|sku| sku.name.as_str());
        ctx.watch_change(uri, from, request.wish.sku);
    }
    Ok(())
}
