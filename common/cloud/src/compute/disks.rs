//! Managed disks (REST reference, `Microsoft.Compute/disks`).

use azcsi_types::disk_uri::DiskUri;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use azcsi_types::size::{Bytes, GiB};
use azcsi_types::sku::DiskSku;
use serde::{Deserialize, Serialize};

use super::types::{
    CreationData, Encryption, ExtendedLocation, GroupScope, ProvisioningState, Tags,
};
use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::environment::ApiFamily;
use crate::wire;

/// A managed disk as Azure answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// Its id; the case may differ from the id that was asked for.
    #[serde(deserialize_with = "wire::parsed")]
    pub id: DiskUri,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its region, as Azure spells it.
    #[serde(default)]
    pub location: String,
    /// Zone digits; empty for regional and zone-redundant disks.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub zones: Vec<String>,
    /// Its tags.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub tags: Tags,
    /// The machine that holds it.
    #[serde(default, deserialize_with = "wire::parsed_option")]
    pub managed_by: Option<ResourceId>,
    /// The machines that hold it, when it is shared.
    #[serde(default, deserialize_with = "wire::parsed_list")]
    pub managed_by_extended: Vec<ResourceId>,
    /// Its SKU; absent in the first answer to a create.
    #[serde(default)]
    pub sku: Option<DiskSkuRef>,
    /// Its edge zone.
    #[serde(default)]
    pub extended_location: Option<ExtendedLocation>,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: DiskProperties,
}

/// The SKU of a disk or snapshot by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSkuRef {
    /// The name on the wire.
    pub name: String,
}

impl From<DiskSku> for DiskSkuRef {
    fn from(sku: DiskSku) -> Self {
        Self {
            name: sku.as_str().to_owned(),
        }
    }
}

/// `properties` of a disk.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiskProperties {
    /// What it was made of.
    pub creation_data: CreationData,
    /// Size in GiB.
    #[serde(rename = "diskSizeGB")]
    pub disk_size_gb: Option<u32>,
    /// Size in bytes.
    pub disk_size_bytes: Option<u64>,
    /// Provisioned IOPS.
    #[serde(rename = "diskIOPSReadWrite")]
    pub disk_iops_read_write: Option<u64>,
    /// Provisioned throughput in MB/s.
    #[serde(rename = "diskMBpsReadWrite")]
    pub disk_mbps_read_write: Option<u64>,
    /// Performance tier of a Premium SSD.
    pub tier: Option<String>,
    /// How many machines may hold it; absent means one.
    pub max_shares: Option<u32>,
    /// On-demand bursting.
    pub bursting_enabled: Option<bool>,
    /// Encryption.
    pub encryption: Option<Encryption>,
    /// `AllowAll`, `AllowPrivate` or `DenyAll`.
    pub network_access_policy: Option<String>,
    /// `Enabled` or `Disabled`.
    pub public_network_access: Option<String>,
    /// The disk access resource of `AllowPrivate`.
    #[serde(deserialize_with = "wire::parsed_option")]
    pub disk_access_id: Option<ResourceId>,
    /// RFC 3339 time of creation.
    pub time_created: Option<String>,
    /// State of the last write.
    pub provisioning_state: Option<ProvisioningState>,
    /// Whether and how it is in use.
    pub disk_state: Option<DiskState>,
    /// Stays the same over moves; a new disk of the same name has another one.
    pub unique_id: Option<String>,
    /// Progress of a background copy, 0 to 100.
    pub completion_percent: Option<f64>,
    /// When `managedBy` last changed, RFC 3339. Azure spells this key with a capital.
    #[serde(rename = "LastOwnershipUpdateTime", alias = "lastOwnershipUpdateTime")]
    pub last_ownership_update_time: Option<String>,
    /// Machines of a shared disk.
    #[serde(deserialize_with = "wire::or_default")]
    pub share_info: Vec<ShareInfo>,
}

/// One machine of a shared disk.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShareInfo {
    /// The id of the machine.
    #[serde(default, deserialize_with = "wire::parsed_option")]
    pub vm_uri: Option<ResourceId>,
}

/// Whether and how a disk is in use (REST reference, `DiskState`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum DiskState {
    /// In no machine.
    Unattached,
    /// In a machine.
    Attached,
    /// In a stopped (deallocated) machine.
    Reserved,
    /// In a hibernated machine.
    Frozen,
    /// Somebody holds a shared access signature.
    ActiveSas,
    /// Frozen, with a shared access signature outstanding.
    ActiveSasFrozen,
    /// Waits for an upload.
    ReadyToUpload,
    /// An upload is running.
    ActiveUpload,
    /// A state not known here.
    Other(String),
}

impl From<String> for DiskState {
    fn from(text: String) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "unattached" => Self::Unattached,
            "attached" => Self::Attached,
            "reserved" => Self::Reserved,
            "frozen" => Self::Frozen,
            "activesas" => Self::ActiveSas,
            "activesasfrozen" => Self::ActiveSasFrozen,
            "readytoupload" => Self::ReadyToUpload,
            "activeupload" => Self::ActiveUpload,
            _ => Self::Other(text),
        }
    }
}

impl Disk {
    /// Its SKU, if Azure told it and it is one that the suite knows.
    #[must_use]
    pub fn sku(&self) -> Option<DiskSku> {
        self.sku.as_ref()?.name.parse().ok()
    }

    /// Its size in GiB.
    #[must_use]
    pub fn size(&self) -> Option<GiB> {
        let bytes = || Some(Bytes::new(self.properties.disk_size_bytes?).ceil());
        self.properties.disk_size_gb.map(GiB::new).or_else(bytes)
    }

    /// The size in GiB that a copy of it must have. Azure rounds the number of GiB down where the
    /// disk was imported with another number of bytes.
    #[must_use]
    pub fn copied_size(&self) -> Option<GiB> {
        let bytes = self.properties.disk_size_bytes.map(Bytes::new);
        bytes.map(Bytes::ceil).max(self.size())
    }

    /// How many machines may hold it at a time.
    #[must_use]
    pub fn max_shares(&self) -> u32 {
        self.properties.max_shares.unwrap_or(1).max(1)
    }

    /// Every resource that holds it, each once: `managedBy`, `managedByExtended` and `shareInfo`.
    #[must_use]
    pub fn holders(&self) -> Vec<&ResourceId> {
        let shares = self
            .properties
            .share_info
            .iter()
            .filter_map(|s| s.vm_uri.as_ref());
        let mut holders: Vec<&ResourceId> = Vec::new();
        for id in self
            .managed_by
            .iter()
            .chain(&self.managed_by_extended)
            .chain(shares)
        {
            if !holders.contains(&id) {
                holders.push(id);
            }
        }
        holders
    }

    /// Whether this machine holds it.
    #[must_use]
    pub fn is_held_by(&self, vm: &VmRef) -> bool {
        self.holders().contains(&vm.id())
    }

    /// Whether nothing uses it, by every sign that Azure gives.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.holders().is_empty()
            && matches!(
                self.properties.disk_state,
                None | Some(DiskState::Unattached)
            )
    }
}

/// Body that creates a disk. Sending the same one again is a success without effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskCreate {
    /// The region.
    pub location: String,
    /// Its edge zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_location: Option<ExtendedLocation>,
    /// The SKU.
    pub sku: DiskSkuRef,
    /// Zone digits; empty for a regional or zone-redundant disk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Tags.
    pub tags: Tags,
    /// The rest.
    pub properties: DiskCreateProperties,
}

/// `properties` of [`DiskCreate`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskCreateProperties {
    /// What it is made of.
    pub creation_data: CreationData,
    /// Size in GiB; may be absent for copies only.
    #[serde(rename = "diskSizeGB", skip_serializing_if = "Option::is_none")]
    pub disk_size_gb: Option<u32>,
    /// IOPS, where they are bought apart from the size.
    #[serde(rename = "diskIOPSReadWrite", skip_serializing_if = "Option::is_none")]
    pub disk_iops_read_write: Option<u64>,
    /// Throughput in MB/s, where it is bought apart from the size.
    #[serde(rename = "diskMBpsReadWrite", skip_serializing_if = "Option::is_none")]
    pub disk_mbps_read_write: Option<u64>,
    /// Performance tier of a Premium SSD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// How many machines may hold it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_shares: Option<u32>,
    /// On-demand bursting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursting_enabled: Option<bool>,
    /// Encryption.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
    /// `AllowAll`, `AllowPrivate` or `DenyAll`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_access_policy: Option<String>,
    /// `Enabled` or `Disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_network_access: Option<String>,
    /// The disk access resource of `AllowPrivate`.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "wire::shown_option"
    )]
    pub disk_access_id: Option<ResourceId>,
}

/// Body that changes a disk: what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskUpdate {
    /// Another SKU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sku: Option<DiskSkuRef>,
    /// The complete new tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
    /// The rest.
    #[serde(skip_serializing_if = "DiskUpdateProperties::is_nothing")]
    pub properties: DiskUpdateProperties,
}

/// `properties` of [`DiskUpdate`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskUpdateProperties {
    /// New size in GiB; a disk never shrinks.
    #[serde(rename = "diskSizeGB", skip_serializing_if = "Option::is_none")]
    pub disk_size_gb: Option<u32>,
    /// New IOPS.
    #[serde(rename = "diskIOPSReadWrite", skip_serializing_if = "Option::is_none")]
    pub disk_iops_read_write: Option<u64>,
    /// New throughput in MB/s.
    #[serde(rename = "diskMBpsReadWrite", skip_serializing_if = "Option::is_none")]
    pub disk_mbps_read_write: Option<u64>,
    /// New performance tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// New number of machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_shares: Option<u32>,
    /// On-demand bursting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursting_enabled: Option<bool>,
    /// Network access policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_access_policy: Option<String>,
    /// Public network access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_network_access: Option<String>,
    /// Disk access resource.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "wire::shown_option"
    )]
    pub disk_access_id: Option<ResourceId>,
}

impl DiskUpdateProperties {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Calls on disks.
#[derive(Clone, Debug)]
pub struct Disks {
    arm: ArmClient,
}

impl Disks {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Reads a disk.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn get(&self, op: &Op, disk: &DiskUri) -> Result<Disk, ArmError> {
        self.arm.get(op, ApiFamily::Disks, disk.id()).await
    }

    /// Creates a disk and waits until it exists.
    ///
    /// # Errors
    /// See [`ArmError`]; when uncertain, a later call with the same body joins or repeats it.
    pub async fn create(
        &self,
        op: &Op,
        disk: &DiskUri,
        body: &DiskCreate,
    ) -> Result<Disk, ArmError> {
        self.arm.put(op, ApiFamily::Disks, disk.id(), body).await
    }

    /// Changes a disk and waits for the result. Never creates one.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn update(
        &self,
        op: &Op,
        disk: &DiskUri,
        body: &DiskUpdate,
    ) -> Result<Disk, ArmError> {
        self.arm.patch(op, ApiFamily::Disks, disk.id(), body).await
    }

    /// Deletes a disk and waits until it is gone. A disk that is absent, or whose group is, counts
    /// as deleted.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete(&self, op: &Op, disk: &DiskUri) -> Result<(), ArmError> {
        self.arm.delete(op, ApiFamily::Disks, disk.id()).await
    }

    /// Every disk of a scope. The list may lag behind writes by half a minute.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list(&self, op: &Op, scope: &GroupScope) -> Result<Vec<Disk>, ArmError> {
        self.list_some(op, scope, Some).await
    }

    /// The same, but only what `keep` makes of each disk is held: a scope may have 50,000.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list_some<T>(
        &self,
        op: &Op,
        scope: &GroupScope,
        keep: impl Fn(Disk) -> Option<T>,
    ) -> Result<Vec<T>, ArmError> {
        let disks = (scope, "disks");
        self.arm.list_some(op, ApiFamily::Disks, disks, keep).await
    }
}
