//! ValidateVolumeCapabilities: whether an existing share can be used as asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::access::{Access, AccessMode, VolumeMode};
use azcsi_types::op::Op;
use azcsi_types::share_handle::ShareHandle;

use super::Controller;
use super::create_volume::sorted;
use super::credentials::{self, Credentials};
use super::error::ControllerError;
use crate::model::params::FileParams;

/// The RPC.
#[derive(Debug)]
pub struct ValidateCapabilities;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: ShareHandle,
    access: Vec<Access>,
    parameters: BTreeMap<String, String>,
    mutable: BTreeMap<String, String>,
    secrets: Option<Credentials>,
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
            volume: super::common::handle(id)?,
            access,
            parameters: sorted(validate::map("parameters", wire.parameters.clone())?),
            mutable: sorted(wire.mutable_parameters.clone()),
            secrets: credentials::read(wire.secrets)?,
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
        let parts = request.volume.parts();
        let at = ctx.locate(&op, parts, request.secrets.as_ref()).await?;
        ctx.need_share(&op, &at).await?;
        let secrets = request.secrets.as_ref();
        ctx.need_directory(&op, &at, (parts, secrets)).await?;
        let refused = request.access.iter();
        if let Some(reason) = refused
            .filter_map(|one| refuse(one, &request.volume))
            .next()
        {
            return Ok(Err(reason.to_owned()));
        }
        if !(request.parameters.is_empty() && request.mutable.is_empty())
            && let Err(reason) = FileParams::parse(request.parameters, request.mutable)
        {
            return Ok(Err(reason.to_string()));
        }
        Ok(Ok(request.echo))
    }

    fn encode(reply: Reply) -> Self::WireReply {
        let (confirmed, message) = match reply {
            Ok(confirmed) => (Some(confirmed), String::new()),
            Err(message) => (None, message),
        };
        v1::ValidateVolumeCapabilitiesResponse { confirmed, message }
    }
}

/// Why a volume cannot be used so.
fn refuse(access: &Access, volume: &ShareHandle) -> Option<&'static str> {
    let writers = matches!(
        access.mode,
        AccessMode::MultiNodeMultiWriter | AccessMode::MultiNodeSingleWriter
    );
    if access.volume == VolumeMode::Block {
        Some("a file share has no block device: use volumeMode Filesystem")
    } else if writers && volume.parts().disk.is_some() {
        Some("the filesystem in a disk file has one writer: several nodes would destroy it")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use azcsi_types::access::{Access, AccessMode, VolumeMode};

    use super::refuse;

    #[test]
    fn a_disk_file_has_one_writer_and_no_share_is_a_device() {
        let filesystem = VolumeMode::Filesystem {
            fs_type: String::new(),
            mount_flags: Vec::new(),
        };
        let (share, disk) = ("rg#acct#share###ns", "rg#acct#share#d.vhd##ns");
        for mode in AccessMode::ALL {
            let on = |volume: &VolumeMode, id: &str| {
                let volume = volume.clone();
                refuse(&Access { mode, volume }, &id.parse().unwrap()).is_some()
            };
            let shared = mode.is_multi_node() && !mode.is_read_only();
            assert!(!on(&filesystem, share) && on(&VolumeMode::Block, share));
            assert_eq!(on(&filesystem, disk), shared, "{mode:?}");
        }
    }
}
