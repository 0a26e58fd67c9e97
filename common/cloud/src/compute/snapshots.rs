//! Disk snapshots (REST reference, `Microsoft.Compute/snapshots`).

use azcsi_types::disk_uri::SnapshotUri;
use azcsi_types::op::Op;
use azcsi_types::size::{Bytes, GiB};
use serde::{Deserialize, Serialize};

use super::disks::DiskSkuRef;
use super::types::{CreationData, ExtendedLocation, GroupScope, ProvisioningState, Tags};
use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::environment::ApiFamily;
use crate::wire;

/// A snapshot as Azure answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Its id.
    #[serde(deserialize_with = "wire::parsed")]
    pub id: SnapshotUri,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its region.
    #[serde(default)]
    pub location: String,
    /// Its tags.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub tags: Tags,
    /// Its SKU.
    #[serde(default)]
    pub sku: Option<DiskSkuRef>,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: SnapshotProperties,
}

/// `properties` of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SnapshotProperties {
    /// What it is a snapshot of.
    pub creation_data: CreationData,
    /// Size in GiB.
    #[serde(rename = "diskSizeGB")]
    pub disk_size_gb: Option<u32>,
    /// Size in bytes.
    pub disk_size_bytes: Option<u64>,
    /// Whether only changes are kept.
    pub incremental: Option<bool>,
    /// RFC 3339 time of creation.
    pub time_created: Option<String>,
    /// State of the last write.
    pub provisioning_state: Option<ProvisioningState>,
    /// Progress of the background copy, 0 to 100.
    pub completion_percent: Option<f64>,
    /// `Pending`, `Available`, `InstantAccess` and the like.
    pub snapshot_access_state: Option<String>,
    /// Why the background copy failed.
    pub copy_completion_error: Option<CopyCompletionError>,
    /// Network access policy.
    pub network_access_policy: Option<String>,
    /// Stays the same over moves.
    pub unique_id: Option<String>,
}

/// Why a background copy failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CopyCompletionError {
    /// The code.
    pub error_code: String,
    /// The text.
    pub error_message: String,
}

impl Snapshot {
    /// Whether a disk can be made from it now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let properties = &self.properties;
        let accessible = properties
            .snapshot_access_state
            .as_deref()
            .is_some_and(|s| {
                ["Available", "InstantAccess", "AvailableWithInstantAccess"]
                    .iter()
                    .any(|word| word.eq_ignore_ascii_case(s))
            });
        let copied = properties.completion_percent.is_none_or(|p| p >= 100.0);
        let done = properties.provisioning_state == Some(ProvisioningState::Succeeded);
        properties.copy_completion_error.is_none() && (accessible || (done && copied))
    }

    /// The size in GiB that a disk must have to hold it. Azure rounds the number of GiB down where
    /// the source was no whole number of them.
    #[must_use]
    pub fn size(&self) -> Option<GiB> {
        let bytes = self.properties.disk_size_bytes.map(Bytes::new);
        bytes
            .map(Bytes::ceil)
            .max(self.properties.disk_size_gb.map(GiB::new))
    }
}

/// Body that creates a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotCreate {
    /// The region.
    pub location: String,
    /// Its edge zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_location: Option<ExtendedLocation>,
    /// The SKU; Azure chooses when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sku: Option<DiskSkuRef>,
    /// Tags.
    pub tags: Tags,
    /// The rest.
    pub properties: SnapshotCreateProperties,
}

/// `properties` of [`SnapshotCreate`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotCreateProperties {
    /// What it is a snapshot of.
    pub creation_data: CreationData,
    /// Whether only changes are kept.
    pub incremental: bool,
    /// `AllowAll`, `AllowPrivate` or `DenyAll`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_access_policy: Option<String>,
    /// `Enabled` or `Disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_network_access: Option<String>,
    /// `None` or `AzureActiveDirectory`: whether an export also needs a login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_access_auth_mode: Option<String>,
}

/// Body that changes a snapshot's tags; the map replaces the old one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SnapshotUpdate {
    /// The complete new tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
}

/// Calls on snapshots.
#[derive(Clone, Debug)]
pub struct Snapshots {
    arm: ArmClient,
}

impl Snapshots {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn get(&self, op: &Op, snapshot: &SnapshotUri) -> Result<Snapshot, ArmError> {
        self.arm.get(op, ApiFamily::Snapshots, snapshot.id()).await
    }

    /// Creates a snapshot and waits until Azure has taken it. A background copy may still run: see
    /// [`Snapshot::is_ready`].
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_other_source`] if one of this name has another source.
    pub async fn create(
        &self,
        op: &Op,
        snapshot: &SnapshotUri,
        body: &SnapshotCreate,
    ) -> Result<Snapshot, ArmError> {
        self.arm
            .put(op, ApiFamily::Snapshots, snapshot.id(), body)
            .await
    }

    /// Changes a snapshot.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn update(
        &self,
        op: &Op,
        snapshot: &SnapshotUri,
        body: &SnapshotUpdate,
    ) -> Result<Snapshot, ArmError> {
        self.arm
            .patch(op, ApiFamily::Snapshots, snapshot.id(), body)
            .await
    }

    /// Deletes a snapshot; one that is absent counts as deleted.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete(&self, op: &Op, snapshot: &SnapshotUri) -> Result<(), ArmError> {
        self.arm
            .delete(op, ApiFamily::Snapshots, snapshot.id())
            .await
    }

    /// Every snapshot of a scope.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list(&self, op: &Op, scope: &GroupScope) -> Result<Vec<Snapshot>, ArmError> {
        self.arm
            .list(op, ApiFamily::Snapshots, scope, "snapshots")
            .await
    }
}
