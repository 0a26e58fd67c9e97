//! GetCapacity: what one share of a SKU can hold. There is always room for another account, so there
//! is no pool that could run out.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use azcsi_types::size::GiB;

use super::Controller;
use super::create_volume::sorted;
use super::error::ControllerError;
use crate::model::params::FileParams;
use crate::model::sku::Sku;

/// The RPC.
#[derive(Debug)]
pub struct GetCapacity;

impl Handler for GetCapacity {
    type Ctx = Controller;
    type Wire = v1::GetCapacityRequest;
    type WireReply = v1::GetCapacityResponse;
    type Request = Sku;
    type Reply = (GiB, GiB);
    type Error = ControllerError;
    const METHOD: Method = Method::GetCapacity;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Sku, ControllerError> {
        if !wire.volume_capabilities.is_empty() {
            validate::capabilities(wire.volume_capabilities)?;
        }
        let parameters = sorted(validate::map("parameters", wire.parameters)?);
        let params = FileParams::parse(parameters, Default::default())?;
        Ok(params.account.sku.unwrap_or(Sku::STANDARD))
    }

    fn scope(_: &Sku) -> Scope {
        Scope::Read
    }

    async fn run(_: Arc<Controller>, sku: Sku, _: Op) -> Result<Self::Reply, ControllerError> {
        Ok(sku.sizes())
    }

    fn encode((least, most): Self::Reply) -> Self::WireReply {
        v1::GetCapacityResponse {
            available_capacity: most.bytes().as_i64(),
            maximum_volume_size: Some(most.bytes().as_i64()),
            minimum_volume_size: Some(least.bytes().as_i64()),
        }
    }
}
