//! Small objects that several compute resources share.

use std::collections::BTreeMap;

use azcsi_types::resource_id::ResourceId;
use serde::{Deserialize, Serialize};

use crate::wire;

/// Tags of a resource.
pub type Tags = BTreeMap<String, String>;

/// Members of an object that this suite does not know and sends back as they came.
pub type Extra = serde_json::Map<String, serde_json::Value>;

/// Where a list is taken from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GroupScope {
    /// One resource group.
    ResourceGroup {
        /// The subscription.
        subscription: String,
        /// The resource group.
        resource_group: String,
    },
    /// A whole subscription.
    Subscription {
        /// The subscription.
        subscription: String,
    },
}

impl GroupScope {
    /// The subscription.
    #[must_use]
    pub fn subscription(&self) -> &str {
        match self {
            Self::ResourceGroup { subscription, .. } | Self::Subscription { subscription } => {
                subscription
            }
        }
    }
}

/// A reference to another resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubResource {
    /// The id of the other resource.
    #[serde(deserialize_with = "wire::parsed", serialize_with = "wire::shown")]
    pub id: ResourceId,
}

impl From<ResourceId> for SubResource {
    fn from(id: ResourceId) -> Self {
        Self { id }
    }
}

/// The place of an edge zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtendedLocation {
    /// Its name.
    pub name: String,
    /// Its type, `EdgeZone`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// What a disk or snapshot is made of (REST reference, `CreationData`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreationData {
    /// `Empty`, `Copy`, `CopyStart`, `Restore`, `Upload` or what else Azure answers.
    #[serde(default)]
    pub create_option: String,
    /// The disk, snapshot or restore point it is copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(
        deserialize_with = "wire::parsed_option",
        serialize_with = "wire::shown_option"
    )]
    pub source_resource_id: Option<ResourceId>,
    /// `uniqueId` of the source. Read only.
    #[serde(default, skip_serializing)]
    pub source_unique_id: Option<String>,
    /// Sector size in bytes, 512 or 4096; Ultra and Premium v2 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_sector_size: Option<u32>,
    /// Performance plus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub performance_plus: Option<bool>,
    /// For how long a snapshot offers instant access, in minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instant_access_duration_minutes: Option<u32>,
    /// Copy speed of `CopyStart`: `None` or `Enhanced`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioned_bandwidth_copy_speed: Option<String>,
}

impl CreationData {
    /// Nothing in it yet.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            create_option: "Empty".to_owned(),
            ..Self::default()
        }
    }

    /// A copy of a disk or snapshot.
    #[must_use]
    pub fn copy(source: ResourceId) -> Self {
        Self {
            create_option: "Copy".to_owned(),
            source_resource_id: Some(source),
            ..Self::default()
        }
    }
}

/// Encryption of a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Encryption {
    /// `EncryptionAtRestWithPlatformKey`, `…CustomerKey` or `…PlatformAndCustomerKeys`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The disk encryption set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(
        deserialize_with = "wire::parsed_option",
        serialize_with = "wire::shown_option"
    )]
    pub disk_encryption_set_id: Option<ResourceId>,
}

/// State of the last write to a resource.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum ProvisioningState {
    /// Done.
    Succeeded,
    /// The last write failed.
    Failed,
    /// The last write was cancelled.
    Canceled,
    /// Being created for the first time.
    Creating,
    /// Being changed.
    Updating,
    /// Going away.
    Deleting,
    /// A state not known here, running or waiting.
    Other(String),
}

impl From<String> for ProvisioningState {
    fn from(text: String) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "succeeded" | "completed" => Self::Succeeded,
            "failed" => Self::Failed,
            "canceled" | "cancelled" => Self::Canceled,
            "creating" => Self::Creating,
            "updating" => Self::Updating,
            "deleting" => Self::Deleting,
            _ => Self::Other(text),
        }
    }
}

impl ProvisioningState {
    /// Whether nothing is running any more.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Canceled)
    }
}
