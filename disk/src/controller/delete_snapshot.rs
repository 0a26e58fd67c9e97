//! DeleteSnapshot: one snapshot, and the one that was made beside the disk for it, if any is left.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::disk_uri::SnapshotUri;
use azcsi_types::op::Op;

use super::Controller;
use super::common::snapshot_guard;
use super::error::ControllerError;
use super::snapshot_plan;

/// The RPC.
#[derive(Debug)]
pub struct DeleteSnapshot;

/// The request. An id that is no snapshot's names nothing that could be deleted.
#[derive(Clone, Debug)]
pub struct Request(Option<SnapshotUri>);

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
        Ok(Request(id.parse().ok()))
    }

    fn scope(request: &Request) -> Scope {
        match &request.0 {
            None => Scope::Read,
            Some(snapshot) => Scope::Operation {
                guards: vec![snapshot_guard(snapshot)],
                fingerprint: String::new(),
            },
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<(), ControllerError> {
        let Some(uri) = request.0 else {
            return Ok(());
        };
        delete_left_over(&ctx, &op, &uri).await?;
        match ctx.azure.snapshots().delete(&op, &uri).await {
            Ok(()) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(ControllerError::azure(
                format!("deleting snapshot {uri}"),
                error,
            )),
        }
    }

    fn encode((): ()) -> Self::WireReply {
        v1::DeleteSnapshotResponse {}
    }
}

/// A copy to another region that was given up half-way leaves its first snapshot behind. It is
/// deleted first, so that a retry of this call still finds its way to it.
async fn delete_left_over(
    ctx: &Controller,
    op: &Op,
    uri: &SnapshotUri,
) -> Result<(), ControllerError> {
    let wanted = ctx.find_snapshot(op, uri).await?;
    let near = wanted.as_ref().is_some_and(|there| {
        let option = &there.properties.creation_data.create_option;
        !option.eq_ignore_ascii_case("CopyStart")
    });
    if near {
        return Ok(());
    }
    let source = wanted.as_ref().and_then(snapshot_plan::source);
    let subscription = source
        .as_ref()
        .map_or(uri.subscription(), |disk| disk.subscription());
    let name = snapshot_plan::local_name(uri.name());
    let local = SnapshotUri::new(subscription, uri.resource_group(), &name)
        .map_err(|error| ControllerError::Refused(error.to_string()))?;
    let Some(there) = ctx.find_snapshot(op, &local).await? else {
        return Ok(());
    };
    if !snapshot_plan::is_local_of(&there, uri, source.as_ref()) {
        return Ok(());
    }
    let deleted = ctx.azure.snapshots().delete(op, &local).await;
    deleted.map_err(|error| ControllerError::azure(format!("deleting snapshot {local}"), error))
}
