//! ValidateVolumeCapabilities: whether an existing disk can be used as asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::access::{Access, MaxShares};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::op::Op;

use super::Controller;
use super::create_volume::sorted;
use super::error::ControllerError;
use crate::model::params::DiskParams;

/// The RPC.
#[derive(Debug)]
pub struct ValidateCapabilities;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    disk: DiskUri,
    access: Vec<Access>,
    parameters: BTreeMap<String, String>,
    mutable: BTreeMap<String, String>,
    echo: v1::validate_volume_capabilities_response::Confirmed,
}

/// What is confirmed, or why nothing is.
pub type Reply = Result<v1::validate_volume_capabilities_response::Confirmed, String>;

impl Handler for ValidateCapabilities {
    type Ctx = Controller;
    type Wire = v1::ValidateVolumeCapabilitiesRequest;
    type WireReply = v1::ValidateVolumeCapabilitiesResponse;
    type Request = Request;
    type Reply = Reply;
    type Error = ControllerError;
    const METHOD: Method = Method::ValidateVolumeCapabilities;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let access = validate::capabilities(wire.volume_capabilities.clone())?;
        Ok(Request {
            disk: super::common::disk_uri(id)?,
            access,
            parameters: sorted(validate::map("parameters", wire.parameters.clone())?),
            mutable: sorted(wire.mutable_parameters.clone()),
            echo: v1::validate_volume_capabilities_response::Confirmed {
                volume_context: wire.volume_context,
                volume_capabilities: wire.volume_capabilities,
                parameters: wire.parameters,
                mutable_parameters: wire.mutable_parameters,
            },
        })
    }

    fn scope(_: &Request) -> Scope {
        Scope::Read
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<Reply, ControllerError> {
        let disk = ctx.need_disk(&op, &request.disk).await?;
        let shares = MaxShares::new(disk.max_shares().into()).unwrap_or(MaxShares::ONE);
        for access in &request.access {
            if let Err(reason) = access.on_disk(shares) {
                return Ok(Err(reason.to_string()));
            }
        }
        if !(request.parameters.is_empty() && request.mutable.is_empty())
            && let Err(reason) = DiskParams::parse(request.parameters, request.mutable)
        {
            return Ok(Err(reason.to_string()));
        }
        Ok(Ok(request.echo))
    }

    fn encode(reply: Reply) -> Self::WireReply {
        match reply {
            Ok(confirmed) => v1::ValidateVolumeCapabilitiesResponse {
                confirmed: Some(confirmed),
                message: String::new(),
            },
            Err(message) => v1::ValidateVolumeCapabilitiesResponse {
                confirmed: None,
                message,
            },
        }
    }
}
