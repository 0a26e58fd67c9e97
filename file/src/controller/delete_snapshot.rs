//! DeleteSnapshot: one snapshot, never its share. An id without the time of a snapshot is no id of
//! one, so nothing is done with it.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{GuardKey, Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use azcsi_types::share_handle::ShareSnapshotHandle;

use super::Controller;
use super::common::in_share_guard;
use super::credentials::{self, Credentials};
use super::error::ControllerError;
use super::taken::parts_of;

/// The RPC.
#[derive(Debug)]
pub struct DeleteSnapshot;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    snapshot: Option<ShareSnapshotHandle>,
    secrets: Option<Credentials>,
}

impl Handler for DeleteSnapshot {
    type Ctx = Controller;
    type Wire = v1::DeleteSnapshotRequest;
    type WireReply = v1::DeleteSnapshotResponse;
    type Request = Request;
    type Reply = ();
    type Error = ControllerError;
    const METHOD: Method = Method::DeleteSnapshot;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("snapshot_id", wire.snapshot_id)?;
        Ok(Request {
            snapshot: id.parse().ok(),
            secrets: credentials::read(wire.secrets)?,
        })
    }

    fn scope(request: &Request) -> Scope {
        let Some(snapshot) = &request.snapshot else {
            return Scope::Read;
        };
        Scope::Operation {
            guards: vec![
                GuardKey::new("snapshot", &snapshot.folded()),
                in_share_guard(&snapshot.volume().parts().share),
            ],
            fingerprint: String::new(),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<(), ControllerError> {
        let Some(snapshot) = request.snapshot else {
            return Ok(());
        };
        let parts = parts_of(&snapshot);
        let at = ctx.locate(&op, &parts, request.secrets.as_ref()).await?;
        let time = snapshot.time();
        let done = at.access.delete_snapshot(&op, &at.share, time).await;
        done.map_err(|error| {
            let doing = format!("deleting snapshot {time} of share {}", at.share);
            ControllerError::azure(doing, error)
        })
    }

    fn encode((): ()) -> Self::WireReply {
        v1::DeleteSnapshotResponse {}
    }
}
