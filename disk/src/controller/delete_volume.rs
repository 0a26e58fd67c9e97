//! DeleteVolume: one disk, never one that a machine holds.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;

use super::Controller;
use super::common::disk_guard;
use super::error::ControllerError;

/// The RPC.
#[derive(Debug)]
pub struct DeleteVolume;

/// The request. An id that is no disk's names nothing that could be deleted.
#[derive(Clone, Debug)]
pub struct Request(Option<DiskUri>);

impl Handler for DeleteVolume {
    type Ctx = Controller;
    type Wire = v1::DeleteVolumeRequest;
    type WireReply = v1::DeleteVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = ControllerError;
    const METHOD: Method = Method::DeleteVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        Ok(Request(id.parse().ok()))
    }

    fn scope(request: &Request) -> Scope {
        match &request.0 {
            None => Scope::Read,
            Some(disk) => Scope::Operation {
                guards: vec![disk_guard(disk)],
                fingerprint: String::new(),
            },
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<(), ControllerError> {
        let Some(uri) = request.0 else {
            return Ok(());
        };
        ctx.facts.forget(&uri);
        // Azure itself refuses to delete a disk that is in use, and takes an absent one as deleted;
        // so nothing is read first that could be out of date.
        match ctx.azure.disks().delete(&op, &uri).await {
            Ok(()) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) if error.fault() == Fault::Precondition => {
                Err(explain(&ctx, &op, &uri, error).await)
            }
            Err(error) => Err(ControllerError::azure(
                format!("deleting volume {uri}"),
                error,
            )),
        }
    }

    fn encode((): ()) -> Self::WireReply {
        v1::DeleteVolumeResponse {}
    }
}

/// Who holds the disk, in the words of whoever has to let go of it.
async fn explain(
    ctx: &Controller,
    op: &Op,
    uri: &DiskUri,
    error: azcsi_cloud::ArmError,
) -> ControllerError {
    let held = match ctx.find_disk(op, uri).await {
        Ok(Some(disk)) => disk.holders().first().map(ToString::to_string),
        _ => None,
    };
    match held {
        Some(holder) => ControllerError::State(format!(
            "volume {uri} is in use by {holder}: detach it before it is deleted"
        )),
        None => ControllerError::azure(format!("deleting volume {uri}"), error),
    }
}
