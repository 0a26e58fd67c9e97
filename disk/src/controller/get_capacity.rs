//! GetCapacity: what one disk of a SKU can hold. Azure publishes no pool that could run out.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use azcsi_types::size::GiB;

use super::Controller;
use super::create_volume::sorted;
use super::error::ControllerError;
use crate::model::params::DiskParams;
use crate::model::topology::{self, Requirement};

/// The RPC.
#[derive(Debug)]
pub struct GetCapacity;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    params: DiskParams,
    requirement: Requirement,
}

/// The reply; no sizes where the SKU is not offered.
pub type Reply = Option<(GiB, GiB)>;

impl Handler for GetCapacity {
    type Ctx = Controller;
    type Wire = v1::GetCapacityRequest;
    type WireReply = v1::GetCapacityResponse;
    type Request = Request;
    type Reply = Reply;
    type Error = ControllerError;
    const METHOD: Method = Method::GetCapacity;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        if !wire.volume_capabilities.is_empty() {
            validate::capabilities(wire.volume_capabilities)?;
        }
        let parameters = sorted(validate::map("parameters", wire.parameters)?);
        let requisite = wire.accessible_topology.into_iter();
        Ok(Request {
            params: DiskParams::parse(parameters, Default::default())?,
            requirement: Requirement {
                requisite: requisite
                    .map(|place| place.segments.into_iter().collect())
                    .collect(),
                preferred: Vec::new(),
            },
        })
    }

    fn scope(_: &Request) -> Scope {
        Scope::Read
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<Reply, ControllerError> {
        let params = &request.params;
        let home = &ctx.settings.location;
        let wanted = params.placement.location.as_ref();
        let zones = ctx
            .skus
            .zones(&op, wanted.unwrap_or(home), params.sku)
            .await;
        let spot = topology::pick(&request.requirement, wanted, home, (params.sku, &zones));
        Ok(spot.ok().map(|_| (params.sku.least(), params.sku.most())))
    }

    fn encode(reply: Reply) -> Self::WireReply {
        let Some((least, most)) = reply else {
            return v1::GetCapacityResponse::default();
        };
        v1::GetCapacityResponse {
            available_capacity: most.bytes().as_i64(),
            maximum_volume_size: Some(most.bytes().as_i64()),
            minimum_volume_size: Some(least.bytes().as_i64()),
        }
    }
}
