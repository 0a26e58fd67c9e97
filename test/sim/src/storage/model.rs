//! Storage accounts and file shares as the world keeps them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::world::Provisioning;

/// One of the two keys of an account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccountKey {
    /// Base64 of 64 bytes.
    pub value: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
}

/// A storage account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    /// ARM id as made.
    pub id: String,
    /// Name.
    pub name: String,
    /// Region.
    pub location: String,
    /// SKU name.
    pub sku: String,
    /// `StorageV2`, `FileStorage` and so on.
    pub kind: String,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// `properties` as given, with the service's defaults.
    pub properties: Map<String, Value>,
    /// `key1` and `key2`.
    pub keys: [AccountKey; 2],
    /// `properties` of its file service.
    pub file_service: Map<String, Value>,
    /// Identity of this incarnation.
    pub unique_id: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// State of its last operation.
    pub provisioning: Provisioning,
    /// Names of recently deleted shares that cannot be used yet, and until when on the axis of the
    /// clock.
    #[serde(default)]
    pub blocked: BTreeMap<String, Duration>,
}

impl Account {
    /// A setting of `properties`, below a JSON pointer.
    #[must_use]
    pub fn setting(&self, pointer: &str) -> Option<&Value> {
        let mut words = pointer.split('/').filter(|word| !word.is_empty());
        let mut found = self.properties.get(words.next()?)?;
        for word in words {
            found = found.get(word)?;
        }
        Some(found)
    }

    /// A setting that is a text.
    #[must_use]
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.setting(pointer).and_then(Value::as_str)
    }

    /// Whether a setting is true.
    #[must_use]
    pub fn flag(&self, pointer: &str) -> Option<bool> {
        self.setting(pointer).and_then(Value::as_bool)
    }

    /// Provisioned v2 billing.
    #[must_use]
    pub fn is_v2(&self) -> bool {
        self.sku.contains("V2_")
    }

    /// Solid state disks.
    #[must_use]
    pub fn is_ssd(&self) -> bool {
        self.sku.starts_with("Premium")
    }

    /// For how many days deleted shares are kept; none when they are gone at once.
    #[must_use]
    pub fn retention_days(&self) -> Option<u64> {
        let policy = self.file_service.get("shareDeleteRetentionPolicy")?;
        let on = policy.get("enabled").and_then(Value::as_bool)?;
        on.then(|| policy.get("days").and_then(Value::as_u64).unwrap_or(7))
    }
}

/// A lease on a share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who has it.
    pub id: String,
    /// Until when, on the axis of the clock; none for ever.
    pub until: Option<Duration>,
}

/// A snapshot of a share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShareSnapshot {
    /// As it stands in `x-ms-snapshot`: seven digits behind the point.
    pub time: String,
    /// Name of its contents.
    pub contents: String,
    /// Metadata at that moment.
    pub metadata: BTreeMap<String, String>,
    /// Quota at that moment, in GiB.
    pub quota: u64,
}

/// What of a share can be provisioned, and when it was last raised, on the axis of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provisioned {
    /// Value; GiB, IOPS or MiB/s.
    pub value: u64,
    /// When it was last raised.
    pub raised: Duration,
}

/// A file share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Share {
    /// ARM id.
    pub id: String,
    /// Key of its account.
    pub account: String,
    /// Name.
    pub name: String,
    /// Name of its contents.
    pub contents: String,
    /// Quota in GiB.
    pub quota: Provisioned,
    /// IOPS; zero where they cannot be chosen.
    pub iops: Provisioned,
    /// MiB/s; zero where it cannot be chosen.
    pub mibps: Provisioned,
    /// `SMB` or `NFS`.
    pub protocol: String,
    /// Access tier.
    pub tier: String,
    /// `NoRootSquash` and so on, of NFS shares.
    pub root_squash: Option<String>,
    /// Metadata.
    pub metadata: BTreeMap<String, String>,
    /// Stored access policies.
    pub policies: Vec<Policy>,
    /// Snapshots, oldest first.
    pub snapshots: Vec<ShareSnapshot>,
    /// Who has it leased.
    pub lease: Option<Lease>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was last changed, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Quoted.
    pub etag: String,
    /// It is not to be deleted while it holds data; set by the control API.
    #[serde(default)]
    pub guarded: bool,
}

/// A stored access policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Its id.
    pub id: String,
    /// Start, as given.
    pub start: String,
    /// Expiry, as given.
    pub expiry: String,
    /// Permissions, as given.
    pub permission: String,
}

/// A share that was deleted and can be restored for a while.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deleted {
    /// What it was.
    pub share: Share,
    /// Tells it from others of its name.
    pub version: String,
    /// When it was deleted, in milliseconds since 1970.
    pub deleted_ms: u64,
    /// When it is gone for good, in milliseconds since 1970.
    pub until_ms: u64,
}
