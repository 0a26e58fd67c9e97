//! What all snapshot calls answer with, and how a snapshot is found by the name that it was asked for
//! under.

use std::time::Duration;

use azcsi_cloud::{Metadata, ShareSnapshot};
use azcsi_proto::csi::v1;
use azcsi_types::op::Op;
use azcsi_types::share_handle::{ShareHandle, ShareParts, ShareSnapshotHandle};
use azcsi_types::size::Bytes;

use super::Controller;
use super::common::Located;
use super::error::ControllerError;
use crate::model::snapshot_params::INITIATOR;

/// Key of a snapshot's metadata that holds the id of its volume.
pub(super) const SOURCE: &str = "sourceVolume";

/// A snapshot as CSI sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    id: ShareSnapshotHandle,
    source: String,
    size: Bytes,
}

impl Taken {
    /// The snapshot of an id.
    #[must_use]
    pub fn new(id: ShareSnapshotHandle, source: String, size: Bytes) -> Self {
        Self { id, source, size }
    }

    /// The key by which it is listed.
    #[must_use]
    pub fn key(&self) -> String {
        self.id.folded()
    }

    /// Writes it.
    #[must_use]
    pub fn to_wire(&self) -> v1::Snapshot {
        let since = self.id.time().since_epoch();
        v1::Snapshot {
            size_bytes: self.size.as_i64(),
            snapshot_id: self.id.to_string(),
            source_volume_id: self.source.clone(),
            creation_time: Some(prost_types::Timestamp {
                seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
                nanos: i32::try_from(since.subsec_nanos()).unwrap_or(0),
            }),
            ready_to_use: true,
            ..v1::Snapshot::default()
        }
    }
}

/// What a volume's id says, with the subscription that a snapshot's id adds.
pub(super) fn parts_of(id: &ShareSnapshotHandle) -> ShareParts {
    let mut parts = id.volume().parts().clone();
    if parts.subscription.is_none() {
        parts.subscription = id.subscription().map(str::to_owned);
    }
    parts
}

impl Controller {
    /// The id of a snapshot of a volume.
    pub(super) fn snapshot_id(
        &self,
        volume: &ShareHandle,
        snapshot: &ShareSnapshot,
    ) -> ShareSnapshotHandle {
        let own = volume.parts().subscription.as_deref();
        let subscription = own.unwrap_or(&self.settings.subscription);
        ShareSnapshotHandle::new(volume, &snapshot.time, subscription)
    }

    /// Metadata of a snapshot. Where a list has none it is read once: it never changes.
    pub(super) async fn metadata_of(
        &self,
        op: &Op,
        at: &Located,
        snapshot: &ShareSnapshot,
    ) -> Result<Metadata, ControllerError> {
        if let Some(told) = &snapshot.share.properties.metadata {
            return Ok(told.clone());
        }
        let key = format!("{} {} {}", at.account.folded(), at.share, snapshot.time);
        let read = async {
            let found = at.access.snapshot(op, &at.share, &snapshot.time).await;
            let doing = || format!("reading snapshot {} of {}", snapshot.time, at.share);
            let found = found.map_err(|error| ControllerError::azure(doing(), error))?;
            // Gone meanwhile: it is nobody's.
            let told = found.and_then(|found| found.share.properties.metadata);
            Ok::<_, ControllerError>(told.unwrap_or_default())
        };
        self.snapshots.get_or_fetch(&key, read).await
    }

    /// The snapshot that was made for a request's name, among those of one share. A list that cannot
    /// be read is no proof that there is none.
    pub(super) async fn made_for(
        &self,
        op: &Op,
        (at, name): (&Located, &str),
        snapshots: Vec<ShareSnapshot>,
    ) -> Result<Option<ShareSnapshot>, ControllerError> {
        // The newest first: a repeated request is mostly about the last one.
        for snapshot in snapshots.into_iter().rev() {
            let metadata = self.metadata_of(op, at, &snapshot).await?;
            let of = azcsi_cloud::storage::shares::lookup(&metadata, INITIATOR);
            if of == Some(name) {
                return Ok(Some(snapshot));
            }
        }
        Ok(None)
    }
}

/// For how long metadata of a snapshot is remembered.
pub(super) const REMEMBERED: Duration = Duration::from_secs(6 * 3600);
