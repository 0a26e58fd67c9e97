//! CreateSnapshot: one for each name, always. Azure takes another one with each call, so it is looked
//! for first, and where that cannot be done nothing is taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use azcsi_cloud::ShareSnapshot;
use azcsi_proto::csi::v1;
use azcsi_rpc::{GuardKey, Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use azcsi_types::share_handle::{Plane, ShareHandle};

use super::Controller;
use super::access::History;
use super::common::{Located, in_share_guard};
use super::create_volume::sorted;
use super::credentials::{self, Credentials};
use super::error::ControllerError;
use super::record;
use super::taken::{SOURCE, Taken};
use crate::model::params::DataPlane;
use crate::model::snapshot_params::{INITIATOR, SnapshotParams};

/// Most snapshots of a share (Azure Files scale targets).
const MOST: usize = 200;

/// The RPC.
#[derive(Debug)]
pub struct CreateSnapshot;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    name: String,
    source: ShareHandle,
    params: SnapshotParams,
    secrets: Option<Credentials>,
    given: BTreeMap<String, String>,
}

impl Handler for CreateSnapshot {
    type Ctx = Controller;
    type Wire = v1::CreateSnapshotRequest;
    type WireReply = v1::CreateSnapshotResponse;
    type Request = Request;
    type Reply = Taken;
    type Error = ControllerError;
    const METHOD: Method = Method::CreateSnapshot;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let source = validate::required("source_volume_id", wire.source_volume_id)?;
        let name = validate::name("name", wire.name)?;
        let given = sorted(validate::map("parameters", wire.parameters)?);
        Ok(Request {
            name,
            source: source.parse::<ShareHandle>()?,
            params: SnapshotParams::parse(given.clone())?,
            secrets: credentials::read(wire.secrets)?,
            given,
        })
    }

    fn scope(request: &Request) -> Scope {
        let share = &request.source.parts().share;
        Scope::Operation {
            guards: vec![
                GuardKey::new("snapshot", &record::value(&request.name)),
                GuardKey::new("snapshots of", share.as_str()),
                in_share_guard(share),
            ],
            fingerprint: format!("{} {:?}", request.source.folded(), request.given),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<Taken, ControllerError> {
        let volume = managed(&request)?;
        let parts = volume.parts();
        if parts.directory.is_some() {
            let text = "the volume is a directory in a share that others use: a snapshot would hold all of it";
            return Err(ControllerError::Refused(text.to_owned()));
        }
        let at = ctx.locate(&op, parts, request.secrets.as_ref()).await?;
        ctx.no_other_source(&request)?;
        let doing = || format!("listing the snapshots of share {}", at.share);
        let History { share, snapshots } = match at.access.history(&op, &at.share).await {
            Ok(listed) => listed,
            Err(error) if error.absence().is_some() => History::default(),
            Err(error) => return Err(ControllerError::azure(doing(), error)),
        };
        let share = share.ok_or_else(|| ControllerError::Absent {
            what: format!("share {} of account {}", at.share, at.account.name()),
        })?;
        let count = snapshots.len();
        let name = record::value(&request.name);
        let size = share.quota().unwrap_or_default();
        let snapshot = match ctx.made_for(&op, (&at, &name), snapshots).await? {
            Some(found) => found,
            None if count >= MOST => {
                return Err(ControllerError::NoRoom(format!(
                    "share {} has {count} snapshots, and Azure keeps no more: delete some",
                    at.share
                )));
            }
            None => {
                let mut taken = share;
                let time = take(&request, &op, &at).await?;
                taken.properties.snapshot_time = Some(time.clone());
                ShareSnapshot { time, share: taken }
            }
        };
        let size = snapshot.share.quota().unwrap_or(size);
        let source = request.source.to_string();
        Ok(Taken::new(
            ctx.snapshot_id(&volume, &snapshot),
            source,
            size.bytes(),
        ))
    }

    fn encode(taken: Taken) -> Self::WireReply {
        v1::CreateSnapshotResponse {
            snapshot: Some(taken.to_wire()),
        }
    }
}

/// The volume, managed as the snapshot's class wants it; the snapshot's id says so too.
fn managed(request: &Request) -> Result<ShareHandle, ControllerError> {
    let plane = match request.params.data_plane {
        None => return Ok(request.source.clone()),
        Some(DataPlane::Key) => Plane::Key,
        Some(DataPlane::Oauth) => Plane::Oauth,
    };
    let mut parts = request.source.parts().clone();
    parts.plane = plane;
    Ok(ShareHandle::new(parts)?)
}

async fn take(
    request: &Request,
    op: &Op,
    at: &Located,
) -> Result<azcsi_types::share::SnapshotTime, ControllerError> {
    let mut metadata = request.params.metadata.clone();
    metadata.insert(INITIATOR.to_owned(), record::value(&request.name));
    metadata.insert(SOURCE.to_owned(), record::value(request.source.as_str()));
    let taken = at.access.take_snapshot(op, &at.share, &metadata).await;
    taken.map_err(|error| {
        let doing = format!("taking a snapshot of share {}", at.share);
        ControllerError::azure(doing, error)
    })
}

impl Controller {
    /// A name that was used for another volume lately. Names of snapshots are unique in Kubernetes, so
    /// this is for callers that are not.
    fn no_other_source(&self, request: &Request) -> Result<(), ControllerError> {
        let source = request.source.folded();
        let other = self.sources.peek(&request.name);
        if other.is_some_and(|other| other != source) {
            return Err(ControllerError::Differs {
                what: format!("snapshot {}", request.name),
                difference: "it is of another volume".to_owned(),
            });
        }
        self.sources.put(&request.name, source);
        Ok(())
    }
}
