//! CreateSnapshot: of a disk, in its own region or another one.

use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::{Snapshot, SnapshotCreate};
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Measure, Method, Scope, validate};
use azcsi_types::disk_uri::{DiskUri, SnapshotUri};
use azcsi_types::op::Op;
use azcsi_types::topology::Region;

use super::Controller;
use super::common::{requirement, snapshot_guard};
use super::create_volume::sorted;
use super::error::ControllerError;
use super::get_snapshot::{Taken, to_wire};
use super::snapshot_plan::{self, Facts, Remote, Step, step};
use crate::model::names;
use crate::model::snapshot_params::SnapshotParams;
use crate::model::topology::{Requirement, snapshot_meets};

/// The RPC.
#[derive(Debug)]
pub struct CreateSnapshot;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    source: DiskUri,
    snapshot: SnapshotUri,
    params: SnapshotParams,
    requirement: Requirement,
}

/// How often readiness is looked at while the call waits for it.
const LOOK: Duration = Duration::from_secs(5);
/// For how long at the most.
const PATIENCE: u32 = 120;

impl Handler for CreateSnapshot {
    type Ctx = Controller;
    type Wire = v1::CreateSnapshotRequest;
    type WireReply = v1::CreateSnapshotResponse;
    type Request = Request;
    type Reply = Taken;
    type Error = ControllerError;
    const METHOD: Method = Method::CreateSnapshot;

    fn decode(ctx: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let source = validate::required("source_volume_id", wire.source_volume_id)?;
        let name = validate::name("name", wire.name)?;
        let map = validate::map("parameters", wire.parameters)?;
        let mut params = SnapshotParams::parse(sorted(map))?;
        params.incremental &= !ctx.settings.stack;
        let source: DiskUri = source.parse().map_err(|error| {
            // CSI knows no NOT_FOUND here; repeating the call cannot help.
            ControllerError::Refused(format!("source_volume_id: {error}"))
        })?;
        let subscription = params.subscription.as_deref();
        let group = params.resource_group.as_deref();
        let snapshot = SnapshotUri::new(
            subscription.unwrap_or_else(|| source.subscription()),
            group.unwrap_or_else(|| source.resource_group()),
            &names::derive(&name),
        )
        .map_err(|error| ControllerError::Refused(error.to_string()))?;
        let requirement = requirement(wire.accessibility_requirements);
        if let Some(region) = &params.location {
            usable(&requirement, region, &ctx.settings.location)?;
        }
        Ok(Request {
            source,
            snapshot,
            params,
            requirement,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![snapshot_guard(&request.snapshot)],
            fingerprint: format!(
                "{:?} {:?} {:?}",
                request.source, request.params, request.requirement
            ),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<Taken, ControllerError> {
        let work = Work {
            ctx: &ctx,
            op: &op,
            request: &request,
        };
        let mut taken = work.advance().await?;
        if ctx.settings.wait_for_snapshot {
            for _ in 0..PATIENCE {
                if taken.is_ready() {
                    break;
                }
                tokio::time::sleep(LOOK).await;
                taken = work.advance().await?;
            }
        }
        Ok(taken)
    }

    fn encode(reply: Taken) -> Self::WireReply {
        v1::CreateSnapshotResponse {
            snapshot: Some(to_wire(&reply)),
        }
    }

    fn measure(request: &Request) -> Option<Measure> {
        let remote = request.params.location.is_some();
        Self::METHOD.operation().map(|operation| Measure {
            operation: if remote {
                "controller_create_snapshot_cross_region"
            } else {
                operation
            },
            sku: None,
        })
    }
}

/// Refuses a snapshot that could not be used where it is wanted.
fn usable(
    requirement: &Requirement,
    region: &Region,
    home: &Region,
) -> Result<(), ControllerError> {
    if snapshot_meets(requirement, region, home) {
        return Ok(());
    }
    Err(ControllerError::NoRoom(format!(
        "a snapshot in region {region} cannot be used in the requested topology: volumes can be made of it in {region} only"
    )))
}

/// One snapshot under way.
struct Work<'a> {
    ctx: &'a Controller,
    op: &'a Op,
    request: &'a Request,
}

impl Work<'_> {
    /// Takes every step that can be taken now.
    async fn advance(&self) -> Result<Taken, ControllerError> {
        let uri = &self.request.snapshot;
        let mut wanted = self.ctx.find_snapshot(self.op, uri).await?;
        let region = match (&wanted, &self.request.params.location) {
            // What exists, and whatever has no region of its own, needs no look at the disk.
            (Some(there), None) => return self.found(there),
            (_, location) => location.clone(),
        };
        let local_uri = self.local()?;
        let disk_region = self.disk_region().await?;
        let remote = match &region {
            Some(region) if Some(region) != disk_region.as_ref() => Remote::Yes,
            _ => Remote::No,
        };
        let mut local = match remote {
            Remote::Yes => self.ctx.find_snapshot(self.op, &local_uri).await?,
            Remote::No => None,
        };
        loop {
            let facts = Facts {
                source: &self.request.source,
                wanted: wanted.as_ref(),
                local: local.as_ref(),
                remote,
            };
            match step(facts) {
                Step::OtherSource => return Err(self.other_source()),
                Step::Create => wanted = Some(self.create().await?),
                Step::CreateLocal => local = Some(self.create_local(&local_uri).await?),
                Step::Copy => wanted = Some(self.copy(&local_uri, region.as_ref()).await?),
                Step::DeleteLocal => {
                    self.delete_local(&local_uri).await?;
                    local = None;
                }
                Step::AwaitLocal => return self.pending(local.as_ref()),
                Step::Done => {
                    return wanted
                        .as_ref()
                        .map_or_else(|| self.pending(None), |there| self.found(there));
                }
            }
        }
    }

    fn local(&self) -> Result<SnapshotUri, ControllerError> {
        let uri = &self.request.snapshot;
        let name = snapshot_plan::local_name(uri.name());
        SnapshotUri::new(
            self.request.source.subscription(),
            uri.resource_group(),
            &name,
        )
        .map_err(|error| ControllerError::Refused(error.to_string()))
    }

    /// The region of the disk; `None` if the disk is gone, which is no harm once it was copied.
    async fn disk_region(&self) -> Result<Option<Region>, ControllerError> {
        let disk = self.ctx.find_disk(self.op, &self.request.source).await?;
        Ok(disk.and_then(|disk| disk.location.parse().ok()))
    }

    fn found(&self, there: &Snapshot) -> Result<Taken, ControllerError> {
        if !snapshot_plan::is_of(there, &self.request.source) {
            return Err(self.other_source());
        }
        if let Some(error) = &there.properties.copy_completion_error {
            return Err(ControllerError::State(format!(
                "snapshot {} failed: {} {}",
                self.request.snapshot, error.error_code, error.error_message
            )));
        }
        let home = &self.ctx.settings.location;
        Taken::of(&self.request.snapshot, &self.request.source, there, home)
    }

    /// The copy does not exist yet; the snapshot beside the disk holds the cut.
    fn pending(&self, local: Option<&Snapshot>) -> Result<Taken, ControllerError> {
        let uri = &self.request.snapshot;
        let text = || ControllerError::Going(format!("snapshot {uri} is being created"));
        let home = &self.ctx.settings.location;
        let taken = Taken::of(uri, &self.request.source, local.ok_or_else(text)?, home)?;
        let region = self.request.params.location.as_ref().unwrap_or(home);
        Ok(taken.on_its_way(region, home))
    }

    fn other_source(&self) -> ControllerError {
        ControllerError::Differs {
            what: format!("snapshot {}", self.request.snapshot),
            difference: format!("it is not one of {}", self.request.source),
        }
    }

    async fn create(&self) -> Result<Snapshot, ControllerError> {
        let disk = self.disk().await?;
        if let Ok(region) = disk.location.parse() {
            let home = &self.ctx.settings.location;
            usable(&self.request.requirement, &region, home)?;
        }
        let body = snapshot_plan::body(
            &self.request.params,
            &self.request.source,
            &disk,
            self.ctx.settings.extended_location.clone(),
        );
        self.put(&self.request.snapshot, &body).await
    }

    async fn create_local(&self, uri: &SnapshotUri) -> Result<Snapshot, ControllerError> {
        if !self.request.params.incremental {
            return Err(ControllerError::Refused(
                "parameter 'location' names another region, which needs incremental snapshots"
                    .to_owned(),
            ));
        }
        let disk = self.disk().await?;
        let body = snapshot_plan::local_body(&self.request.params, &self.request.source, &disk);
        self.put(uri, &body).await
    }

    async fn copy(
        &self,
        local: &SnapshotUri,
        region: Option<&Region>,
    ) -> Result<Snapshot, ControllerError> {
        let region = region.unwrap_or(&self.ctx.settings.location);
        let request = self.request;
        let body = snapshot_plan::copy_body(&request.params, &request.source, local.id(), region);
        let copied = self.put(&request.snapshot, &body).await;
        // The cut is taken, and may have been told already: whoever asked must not forget it.
        copied.map_err(|error| match error {
            ControllerError::Azure { doing, source } => ControllerError::HalfWay { doing, source },
            other => other,
        })
    }

    async fn delete_local(&self, uri: &SnapshotUri) -> Result<(), ControllerError> {
        let deleted = self.ctx.azure.snapshots().delete(self.op, uri).await;
        deleted.map_err(|error| ControllerError::azure(format!("deleting snapshot {uri}"), error))
    }

    async fn disk(&self) -> Result<azcsi_cloud::Disk, ControllerError> {
        let source = &self.request.source;
        let disk = self.ctx.find_disk(self.op, source).await?;
        disk.ok_or_else(|| ControllerError::Refused(format!("volume {source} does not exist")))
    }

    async fn put(
        &self,
        uri: &SnapshotUri,
        body: &SnapshotCreate,
    ) -> Result<Snapshot, ControllerError> {
        let azure = self.ctx.azure_as(self.request.params.user_agent.as_deref());
        let error = match azure.snapshots().create(self.op, uri, body).await {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
        if error.is_other_source() {
            return Err(self.other_source());
        }
        let doing = format!("creating snapshot {uri}");
        // As with a disk: a failed operation can leave a snapshot behind.
        let gone = async || matches!(self.ctx.find_snapshot(self.op, uri).await, Ok(None));
        if error.is_from_operation() && !gone().await {
            return Err(ControllerError::HalfWay {
                doing,
                source: error,
            });
        }
        Err(ControllerError::azure(doing, error))
    }
}
