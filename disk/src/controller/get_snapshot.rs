//! GetSnapshot, and what all snapshot calls answer with.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azcsi_cloud::Snapshot;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::disk_uri::{DiskUri, SnapshotUri};
use azcsi_types::op::Op;
use azcsi_types::size::Bytes;
use azcsi_types::topology::{Place, Region};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Controller;
use super::common::to_wire_places;
use super::error::ControllerError;
use super::snapshot_plan;
use crate::model::topology::snapshot_reach;

/// The RPC.
#[derive(Debug)]
pub struct GetSnapshot;

/// A snapshot as CSI sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    id: String,
    source: String,
    size: Bytes,
    created: SystemTime,
    ready: bool,
    reach: Vec<Place>,
}

impl Taken {
    /// The snapshot `id` of the disk `source`, as Azure describes it, for a cluster in `home`.
    ///
    /// # Errors
    /// If Azure does not tell size and time yet.
    pub fn of(
        id: &SnapshotUri,
        source: &DiskUri,
        snapshot: &Snapshot,
        home: &Region,
    ) -> Result<Self, ControllerError> {
        let region = snapshot.location.parse();
        let going = || ControllerError::Going(format!("snapshot {id} is being created"));
        let created = snapshot.properties.time_created.as_deref().and_then(moment);
        Ok(Self {
            id: id.to_string(),
            source: source.to_string(),
            size: snapshot.size().ok_or_else(going)?.bytes(),
            created: created.ok_or_else(going)?,
            ready: snapshot.is_ready(),
            // Where its place cannot be read it is taken as the usual one.
            reach: region.map_or_else(|_| Vec::new(), |region| snapshot_reach(&region, home)),
        })
    }

    /// One that was found, with whatever source it has.
    fn found(snapshot: &Snapshot, home: &Region) -> Option<Self> {
        let source = snapshot_plan::source(snapshot)?;
        Self::of(&snapshot.id, &source, snapshot, home).ok()
    }

    /// Whether a volume can be made from it.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.ready
    }

    /// The same, on its way to another region and not usable yet.
    #[must_use]
    pub fn on_its_way(self, to: &Region, home: &Region) -> Self {
        Self {
            ready: false,
            reach: snapshot_reach(to, home),
            ..self
        }
    }
}

fn moment(text: &str) -> Option<SystemTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(Into::into)
}

/// Writes it.
pub(super) fn to_wire(taken: &Taken) -> v1::Snapshot {
    let since = taken
        .created
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    v1::Snapshot {
        size_bytes: taken.size.as_i64(),
        snapshot_id: taken.id.clone(),
        source_volume_id: taken.source.clone(),
        creation_time: Some(prost_types::Timestamp {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanos: i32::try_from(since.subsec_nanos()).unwrap_or(0),
        }),
        ready_to_use: taken.ready,
        accessible_topology: to_wire_places(&taken.reach),
        ..Default::default()
    }
}

/// The snapshots of a listing that CSI can carry: those of disks.
pub(super) fn listed(snapshot: &Snapshot, home: &Region) -> Option<Taken> {
    Taken::found(snapshot, home)
}

impl Handler for GetSnapshot {
    type Ctx = Controller;
    type Wire = v1::GetSnapshotRequest;
    type WireReply = v1::GetSnapshotResponse;
    type Request = SnapshotUri;
    type Reply = Taken;
    type Error = ControllerError;
    const METHOD: Method = Method::GetSnapshot;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<SnapshotUri, ControllerError> {
        super::common::snapshot_uri(wire.snapshot_id)
    }

    fn scope(_: &SnapshotUri) -> Scope {
        Scope::Read
    }

    async fn run(ctx: Arc<Controller>, uri: SnapshotUri, op: Op) -> Result<Taken, ControllerError> {
        let snapshot = ctx.need_snapshot(&op, &uri).await?;
        Taken::found(&snapshot, &ctx.settings.location)
            .ok_or_else(|| ControllerError::Going(format!("snapshot {uri} is being created")))
    }

    fn encode(reply: Taken) -> Self::WireReply {
        v1::GetSnapshotResponse {
            snapshot: Some(to_wire(&reply)),
        }
    }
}

impl Controller {
    /// Reads a snapshot; `None` if it is proven absent.
    pub(super) async fn find_snapshot(
        &self,
        op: &Op,
        uri: &SnapshotUri,
    ) -> Result<Option<Snapshot>, ControllerError> {
        match self.azure.snapshots().get(op, uri).await {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(ControllerError::azure(
                format!("reading snapshot {uri}"),
                error,
            )),
        }
    }

    /// Reads a snapshot that has to exist.
    pub(super) async fn need_snapshot(
        &self,
        op: &Op,
        uri: &SnapshotUri,
    ) -> Result<Snapshot, ControllerError> {
        let snapshot = self.find_snapshot(op, uri).await?;
        snapshot.ok_or_else(|| ControllerError::Absent {
            what: format!("snapshot {uri}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Taken, listed, to_wire};
    use azcsi_cloud::Snapshot;
    use azcsi_types::disk_uri::{DiskUri, SnapshotUri};
    use azcsi_types::topology::Region;

    fn home() -> Region {
        "eastus2".parse().unwrap()
    }

    fn snapshot(properties: &str) -> Snapshot {
        let group = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute";
        serde_json::from_str(&format!(
            r#"{{"id":"{group}/snapshots/n","location":"East US 2","properties":{{"provisioningState":"Succeeded",
            "creationData":{{"createOption":"Copy","sourceResourceId":"{group}/disks/d"}}{properties}}}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn a_snapshot_carries_size_time_source_and_readiness() {
        let full = r#","diskSizeGB":2,"timeCreated":"1970-01-01T00:00:07.5000000+00:00""#;
        let wire = to_wire(&listed(&snapshot(full), &home()).unwrap());
        assert_eq!(wire.size_bytes, 2 << 30);
        let time = wire.creation_time.unwrap();
        assert_eq!((time.seconds, time.nanos), (7, 500_000_000));
        assert!(wire.ready_to_use && wire.source_volume_id.ends_with("/disks/d"));
        let copying = snapshot(&format!(r#"{full},"completionPercent":50"#));
        let copying = listed(&copying, &home()).unwrap();
        assert!(!copying.is_ready());
    }

    #[test]
    fn a_snapshot_is_usable_everywhere_in_its_region_and_nowhere_else() {
        let full = snapshot(r#","diskSizeGB":2,"timeCreated":"1970-01-01T00:00:07.5000000+00:00""#);
        let reach = |home: &str| {
            let taken = listed(&full, &home.parse().unwrap()).unwrap();
            to_wire(&taken).accessible_topology.len()
        };
        assert_eq!((reach("eastus2"), reach("westus")), (0, 3));
    }

    #[test]
    fn an_incomplete_answer_is_no_snapshot_yet() {
        let uri = SnapshotUri::new("s", "g", "n").unwrap();
        let disk = DiskUri::new("s", "g", "d").unwrap();
        assert!(Taken::of(&uri, &disk, &snapshot(""), &home()).is_err());
        assert!(listed(&snapshot(r#","diskSizeGB":2"#), &home()).is_none());
    }
}
