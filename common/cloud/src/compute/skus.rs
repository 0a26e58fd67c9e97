//! What the region offers: machine sizes with their limits, disk SKUs with their zones.

use azcsi_types::op::Op;
use serde::Deserialize;

use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::environment::ApiFamily;
use crate::wire;

/// One SKU of the region (REST reference, `ResourceSku`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSku {
    /// `virtualMachines`, `disks`, `snapshots`, …
    pub resource_type: String,
    /// Such as `Standard_D4s_v5` or `Premium_LRS`.
    pub name: String,
    /// `Standard` or `Premium`.
    pub tier: Option<String>,
    /// Such as `P10`.
    pub size: Option<String>,
    /// Where it exists.
    #[serde(deserialize_with = "wire::or_default")]
    pub location_info: Vec<SkuLocation>,
    /// Name and value pairs; every value is text.
    #[serde(deserialize_with = "wire::or_default")]
    pub capabilities: Vec<SkuCapability>,
    /// Where it may not be used.
    #[serde(deserialize_with = "wire::or_default")]
    pub restrictions: Vec<SkuRestriction>,
}

/// Where a SKU exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SkuLocation {
    /// The region.
    pub location: String,
    /// Zone digits.
    #[serde(deserialize_with = "wire::or_default")]
    pub zones: Vec<String>,
    /// What only some zones can do.
    #[serde(deserialize_with = "wire::or_default")]
    pub zone_details: Vec<ZoneDetails>,
}

/// What some zones can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ZoneDetails {
    /// Zone digits.
    #[serde(deserialize_with = "wire::or_default")]
    pub name: Vec<String>,
    /// Name and value pairs.
    #[serde(deserialize_with = "wire::or_default")]
    pub capabilities: Vec<SkuCapability>,
}

/// One ability.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SkuCapability {
    /// Such as `MaxDataDiskCount`.
    pub name: String,
    /// As text.
    #[serde(deserialize_with = "wire::scalar")]
    pub value: String,
}

/// Where a SKU may not be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SkuRestriction {
    /// `Location` or `Zone`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where.
    #[serde(deserialize_with = "wire::or_default")]
    pub restriction_info: RestrictionInfo,
    /// `QuotaId` or `NotAvailableForSubscription`.
    pub reason_code: Option<String>,
}

/// Where a restriction holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RestrictionInfo {
    /// Regions.
    #[serde(deserialize_with = "wire::or_default")]
    pub locations: Vec<String>,
    /// Zone digits.
    #[serde(deserialize_with = "wire::or_default")]
    pub zones: Vec<String>,
}

impl ResourceSku {
    /// The value of an ability.
    #[must_use]
    pub fn capability(&self, name: &str) -> Option<&str> {
        self.capabilities
            .iter()
            .find(|c| c.name.eq_ignore_ascii_case(name))
            .map(|c| c.value.as_str())
    }

    /// A numeric ability.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.capability(name)?.trim().parse().ok()
    }

    /// A yes-or-no ability; absent means no.
    #[must_use]
    pub fn is_able(&self, name: &str) -> bool {
        self.capability(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// How many data disks a machine of this size holds.
    #[must_use]
    pub fn max_data_disks(&self) -> Option<u32> {
        self.number("MaxDataDiskCount")?.try_into().ok()
    }

    /// Whether it is a machine size.
    #[must_use]
    pub fn is_vm_size(&self) -> bool {
        self.resource_type.eq_ignore_ascii_case("virtualMachines")
    }
}

/// Calls on the SKU catalogue.
#[derive(Clone, Debug)]
pub struct Skus {
    arm: ArmClient,
    subscription: String,
}

impl Skus {
    pub(crate) const fn new(arm: ArmClient, subscription: String) -> Self {
        Self { arm, subscription }
    }

    /// Every SKU of a region. Large: cache it for a day.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list(&self, op: &Op, location: &str) -> Result<Vec<ResourceSku>, ArmError> {
        let location = crate::config::normal_location(location);
        let path = format!(
            "/subscriptions/{}/providers/Microsoft.Compute/skus",
            self.subscription
        );
        let filter = format!("location eq '{location}'");
        self.arm
            .list_path(op, ApiFamily::Skus, &path, &[("$filter", &filter)])
            .await
    }
}
