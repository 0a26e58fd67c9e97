//! The parameters of a StorageClass and of a VolumeAttributesClass.
//!
//! Each key is taken once and checked; what is left over is refused with the nearest known key.
//! [`table`] describes the keys for people; its tests hold it to what is read here.

mod mutable;
pub(crate) mod read;
pub mod table;

use std::collections::BTreeMap;

use azcsi_types::access::MaxShares;
use azcsi_types::keys::volume_context;
use azcsi_types::params::{BadParam, ParamMap};
use azcsi_types::resource_id::ResourceId;
use azcsi_types::sku::{Caching, DiskSku};
use azcsi_types::topology::Region;

pub use mutable::MutableParams;

use super::claim::Claim;
use super::performance::{self, Performance};
use super::tags::{self, Tags};
use read::{
    SKU_KEYS, check_access, flag, number, policy, public, resource, segment, shares, sku, text,
    tier, user_agent,
};

/// What a StorageClass asks of a new disk. `None` means that nothing was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskParams {
    /// The SKU.
    pub sku: DiskSku,
    /// Wish for host caching.
    pub caching: Caching,
    /// Where it is made.
    pub placement: Placement,
    /// Name or template of a name.
    pub disk_name: Option<String>,
    /// Performance and size.
    pub performance: Performance,
    /// Customer-managed encryption.
    pub encryption: Option<Encryption>,
    /// Who may reach its content over the network.
    pub network: Network,
    /// How many machines may hold it.
    pub shares: MaxShares,
    /// Whether it is attached with the write accelerator.
    pub write_accelerator: bool,
    /// Custom tags; values may hold templates.
    pub tags: Tags,
    /// What external-provisioner tells about the claim.
    pub claim: Claim,
    /// `User-Agent` of the requests that make the disk.
    pub user_agent: Option<String>,
}

/// Where a disk is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The region.
    pub location: Option<Region>,
    /// The resource group.
    pub resource_group: Option<String>,
    /// The subscription.
    pub subscription: Option<String>,
}

/// Customer-managed encryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// The disk encryption set.
    pub set: ResourceId,
    /// The type, as on the wire.
    pub kind: &'static str,
}

/// Who may reach the content of a disk over the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// `AllowAll`, `AllowPrivate` or `DenyAll`.
    pub policy: &'static str,
    /// `Enabled` or `Disabled`.
    pub public: &'static str,
    /// The disk access resource of `AllowPrivate`.
    pub access: Option<ResourceId>,
}

const CUSTOMER_KEY: &str = "EncryptionAtRestWithCustomerKey";
const PLATFORM_KEY: &str = "EncryptionAtRestWithPlatformKey";
const BOTH_KEYS: &str = "EncryptionAtRestWithPlatformAndCustomerKeys";
const ENCRYPTIONS: [(&str, &str); 3] = [
    (CUSTOMER_KEY, CUSTOMER_KEY),
    (BOTH_KEYS, BOTH_KEYS),
    (PLATFORM_KEY, PLATFORM_KEY),
];

impl DiskParams {
    /// Reads the parameters of CreateVolume. The mutable ones win where both name a key, whatever
    /// its case.
    ///
    /// # Errors
    /// For keys that are unknown or given twice, and for values that they cannot have.
    pub fn parse(
        parameters: BTreeMap<String, String>,
        mutable: BTreeMap<String, String>,
    ) -> Result<Self, BadParam> {
        MutableParams::parse(mutable.clone())?;
        let mut map = ParamMap::new(parameters)?;
        let mut over = ParamMap::new(mutable)?;
        // An alias in one map must not meet its twin in the other.
        if let Some(sku) = over.take_any(&SKU_KEYS)? {
            map.take_any(&SKU_KEYS)?;
            over = over.overlay(ParamMap::new([(SKU_KEYS[0].to_owned(), sku.value)])?);
        }
        let mut map = map.overlay(over);
        let params = Self::read(&mut map)?;
        map.finish()?;
        params.check()?;
        Ok(params)
    }

    fn read(map: &mut ParamMap) -> Result<Self, BadParam> {
        ignored(map)?;
        let sku = sku(map)?;
        Ok(Self {
            sku: sku.unwrap_or(DiskSku::StandardSsdLrs),
            caching: caching(map, sku)?,
            placement: placement(map)?,
            disk_name: text(map.take("diskName")),
            performance: speed(map)?,
            encryption: encryption(map)?,
            network: network(map)?,
            shares: shares(map)?.unwrap_or(MaxShares::ONE),
            write_accelerator: accelerator(map),
            tags: tags::take(map)?,
            claim: Claim::take(map),
            user_agent: user_agent(map)?,
        })
    }

    fn check(&self) -> Result<(), BadParam> {
        let shared = self.shares.is_shared();
        if shared && self.write_accelerator {
            return Err(BadParam::conflict(
                "writeAcceleratorEnabled",
                "cannot be used with maxShares above 1",
            ));
        }
        if shared && self.performance.bursting == Some(true) {
            return Err(BadParam::conflict(
                "enableBursting",
                "cannot be used with maxShares above 1",
            ));
        }
        performance::check_kind(self.sku, &self.performance)
    }
}

/// Keys that mean something to the node only, or that nothing heeds any more.
fn ignored(map: &mut ParamMap) -> Result<(), BadParam> {
    for key in [
        volume_context::KIND,
        "zoned",
        "enableAsyncAttach",
        volume_context::FS_TYPE,
    ] {
        map.take(key);
    }
    if let Some(param) = map.take("attachDiskInitialDelay") {
        param.parse::<i64>("a number of milliseconds")?;
    }
    if let Some(param) = map.take(volume_context::FSCK) {
        param.one_of(&[("auto", ()), ("always", ()), ("never", ())])?;
    }
    let profile = match map.take(volume_context::PERF_PROFILE) {
        Some(param) => param.one_of(&[("none", false), ("basic", false), ("advanced", true)])?,
        None => false,
    };
    let settings = map.take_prefixed("device-setting/");
    if profile && settings.is_empty() {
        return Err(BadParam::conflict(
            "perfProfile",
            "is advanced, which needs at least one device-setting/<path> parameter",
        ));
    }
    match settings.iter().find(|(path, _)| !stays_inside(path)) {
        Some((path, _)) => Err(BadParam::Value {
            key: format!("device-setting/{path}"),
            value: path.clone(),
            allowed: "a relative path below /sys/block/<device> without '..'".to_owned(),
        }),
        None => Ok(()),
    }
}

fn stays_inside(path: &str) -> bool {
    path.split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..")
}

fn caching(map: &mut ParamMap, sku: Option<DiskSku>) -> Result<Caching, BadParam> {
    let Some(param) = map.take(volume_context::CACHING_MODE) else {
        return Ok(Caching::ReadOnly);
    };
    if param.value.trim().is_empty() {
        return Ok(Caching::ReadOnly);
    }
    let caching = param.one_of(&Caching::WORDS)?;
    if sku == Some(DiskSku::PremiumV2Lrs) && caching != Caching::None {
        return Err(param.refuse("None, because PremiumV2_LRS disks cannot be cached"));
    }
    Ok(caching)
}

fn placement(map: &mut ParamMap) -> Result<Placement, BadParam> {
    let location = match map.take("location") {
        Some(param) if !param.value.trim().is_empty() => {
            Some(param.parse("an Azure region such as eastus2")?)
        }
        _ => None,
    };
    Ok(Placement {
        location,
        resource_group: segment(map, "resourceGroup", 90)?,
        subscription: segment(map, "subscriptionID", 64)?,
    })
}

fn speed(map: &mut ParamMap) -> Result<Performance, BadParam> {
    let sector_size = match map.take("logicalSectorSize") {
        Some(param) => Some(param.one_of(&[("512", 512), ("4096", 4096)])?),
        None => None,
    };
    Ok(Performance {
        iops: number(map, "DiskIOPSReadWrite")?,
        mbps: number(map, "DiskMBpsReadWrite")?,
        sector_size,
        bursting: flag(map, "enableBursting")?,
        plus: flag(map, "enablePerformancePlus")?,
        tier: tier(map)?,
    })
}

fn encryption(map: &mut ParamMap) -> Result<Option<Encryption>, BadParam> {
    let set = resource(map, "diskEncryptionSetID", "diskEncryptionSets")?;
    let kind = match map.take("diskEncryptionType") {
        Some(param) if !param.value.trim().is_empty() => Some(param.one_of(&ENCRYPTIONS)?),
        _ => None,
    };
    match (set, kind) {
        (None, Some(_)) => Err(BadParam::conflict(
            "diskEncryptionType",
            "needs diskEncryptionSetID",
        )),
        (set, kind) => Ok(set.map(|set| Encryption {
            set,
            kind: kind.unwrap_or(CUSTOMER_KEY),
        })),
    }
}

fn network(map: &mut ParamMap) -> Result<Network, BadParam> {
    let policy = policy(map)?;
    let public = public(map)?;
    let access = resource(map, "diskAccessID", "diskAccesses")?;
    check_access(policy, access.as_ref())?;
    Ok(Network {
        policy: policy.unwrap_or("DenyAll"),
        public: public.unwrap_or("Disabled"),
        access,
    })
}

fn accelerator(map: &mut ParamMap) -> bool {
    map.take("writeAcceleratorEnabled")
        .is_some_and(|param| param.value.trim().eq_ignore_ascii_case("true"))
}

#[cfg(test)]
mod tests;
