//! GetSnapshot: one snapshot by its id.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use azcsi_types::share_handle::ShareSnapshotHandle;

use super::Controller;
use super::credentials::{self, Credentials};
use super::error::ControllerError;
use super::taken::{SOURCE, Taken, parts_of};

/// The RPC.
#[derive(Debug)]
pub struct GetSnapshot;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    snapshot: ShareSnapshotHandle,
    secrets: Option<Credentials>,
}

impl Handler for GetSnapshot {
    type Ctx = Controller;
    type Wire = v1::GetSnapshotRequest;
    type WireReply = v1::GetSnapshotResponse;
    type Request = Request;
    type Reply = Taken;
    type Error = ControllerError;
    const METHOD: Method = Method::GetSnapshot;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("snapshot_id", wire.snapshot_id)?;
        Ok(Request {
            snapshot: id
                .parse()
                .map_err(|source| ControllerError::NoSuchId { id, source })?,
            secrets: credentials::read(wire.secrets)?,
        })
    }

    fn scope(_: &Request) -> Scope {
        Scope::Read
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<Taken, ControllerError> {
        let id = &request.snapshot;
        let found = ctx.find_taken(&op, id, request.secrets.as_ref()).await?;
        found.ok_or_else(|| ControllerError::Absent {
            what: format!("snapshot {id}"),
        })
    }

    fn encode(taken: Taken) -> Self::WireReply {
        v1::GetSnapshotResponse {
            snapshot: Some(taken.to_wire()),
        }
    }
}

impl Controller {
    /// A snapshot; `None` only if it is proven that there is none.
    pub(super) async fn find_taken(
        &self,
        op: &Op,
        id: &ShareSnapshotHandle,
        secrets: Option<&Credentials>,
    ) -> Result<Option<Taken>, ControllerError> {
        let at = self.locate(op, &parts_of(id), secrets).await?;
        let found = at.access.snapshot(op, &at.share, id.time()).await;
        let doing = || format!("reading snapshot {} of share {}", id.time(), at.share);
        let found = found.map_err(|error| ControllerError::azure(doing(), error))?;
        Ok(found.map(|found| {
            let told = found.share.meta(SOURCE).map(str::to_owned);
            let source = told.unwrap_or_else(|| id.volume().to_string());
            let size = found.share.quota().unwrap_or_default();
            Taken::new(id.clone(), source, size.bytes())
        }))
    }
}
