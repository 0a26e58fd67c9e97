//! The parameters of a VolumeAttributesClass: what of a disk can change after its creation.

use std::collections::BTreeMap;

use azcsi_types::access::MaxShares;
use azcsi_types::params::{BadParam, ParamMap};
use azcsi_types::resource_id::ResourceId;
use azcsi_types::sku::DiskSku;

use super::read::{check_access, flag, number, policy, public, resource, shares, sku, tier};
use crate::model::tags::{self, Tags};

/// What is to change. `None` leaves a thing as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MutableParams {
    /// The SKU.
    pub sku: Option<DiskSku>,
    /// Provisioned IOPS.
    pub iops: Option<u64>,
    /// Provisioned throughput, MB/s.
    pub mbps: Option<u64>,
    /// On-demand bursting.
    pub bursting: Option<bool>,
    /// Performance tier.
    pub tier: Option<String>,
    /// How many machines may hold it.
    pub shares: Option<MaxShares>,
    /// `AllowAll`, `AllowPrivate` or `DenyAll`.
    pub policy: Option<&'static str>,
    /// `Enabled` or `Disabled`.
    pub public: Option<&'static str>,
    /// The disk access resource of `AllowPrivate`.
    pub access: Option<ResourceId>,
    /// Tags to add or replace.
    pub tags: Tags,
}

impl MutableParams {
    /// Reads the parameters of ControllerModifyVolume.
    ///
    /// # Errors
    /// For keys that cannot change and for values that they cannot have.
    pub fn parse(parameters: BTreeMap<String, String>) -> Result<Self, BadParam> {
        let mut map = ParamMap::new(parameters)?;
        let params = Self::read(&mut map)?;
        map.finish()?;
        if params.tags.values().any(|value| value.contains("${")) {
            return Err(BadParam::conflict(
                "tags",
                "cannot hold templates when a volume is modified",
            ));
        }
        check_access(params.policy, params.access.as_ref())?;
        Ok(params)
    }

    pub(super) fn read(map: &mut ParamMap) -> Result<Self, BadParam> {
        Ok(Self {
            sku: sku(map)?,
            iops: number(map, "DiskIOPSReadWrite")?,
            mbps: number(map, "DiskMBpsReadWrite")?,
            bursting: flag(map, "enableBursting")?,
            tier: tier(map)?,
            shares: shares(map)?,
            policy: policy(map)?,
            public: public(map)?,
            access: resource(map, "diskAccessID", "diskAccesses")?,
            tags: tags::take(map)?,
        })
    }
}
