//! ControllerGetCapabilities: the same set that opens the gate of the dispatcher.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::capability::ControllerCapabilities;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;

use super::Controller;
use super::error::ControllerError;

/// The RPC.
#[derive(Debug)]
pub struct GetCapabilities;

impl Handler for GetCapabilities {
    type Ctx = Controller;
    type Wire = v1::ControllerGetCapabilitiesRequest;
    type WireReply = v1::ControllerGetCapabilitiesResponse;
    type Request = ();
    type Reply = ControllerCapabilities;
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerGetCapabilities;

    fn decode(_: &Controller, _: Self::Wire) -> Result<(), ControllerError> {
        Ok(())
    }

    fn scope((): &()) -> Scope {
        Scope::Read
    }

    async fn run(ctx: Arc<Controller>, (): (), _: Op) -> Result<Self::Reply, ControllerError> {
        Ok(ctx.settings.capabilities.clone())
    }

    fn encode(reply: Self::Reply) -> Self::WireReply {
        reply.to_wire()
    }
}
