//! What CreateVolume makes, and whether what exists is the same: pure decisions.

use azcsi_cloud::{
    CreationData, Disk, DiskCreate, DiskCreateProperties, Encryption, ExtendedLocation,
};
use azcsi_types::keys::tag;
use azcsi_types::resource_id::ResourceId;
use azcsi_types::size::{CapacityRange, GiB, OutOfRange};
use azcsi_types::topology::{Place, Region, Zone};

use crate::model::params::DiskParams;
use crate::model::performance::Provisioned;
use crate::model::tags::{self, Tags};
use crate::model::topology::{Requirement, Spot, meets};

/// Smallest disk with performance plus.
const PLUS_FROM: GiB = GiB::new(513);
/// A copy may become so much larger than was asked, so that what was rounded is no obstacle. More
/// than that would be a surprise on the bill.
const TOLERANCE: u32 = 50;

/// What a disk is copied from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFacts {
    /// The disk or snapshot itself, not what that was made of.
    pub id: ResourceId,
    /// Its size.
    pub size: GiB,
    /// Its region.
    pub region: Option<Region>,
    /// Its zone; snapshots have none.
    pub zone: Option<Zone>,
    /// Its SKU, if known.
    pub sku: Option<String>,
}

/// The size of the new disk.
///
/// # Errors
/// If none is possible.
pub fn size(
    range: CapacityRange,
    params: &DiskParams,
    source: Option<GiB>,
) -> Result<GiB, OutOfRange> {
    let mut least = params.sku.least().max(source.unwrap_or_default());
    if params.performance.plus == Some(true) {
        least = least.max(PLUS_FROM);
    }
    let most = params.sku.most();
    let picked = range.pick(least, most, least)?;
    match (source, range.required()) {
        (Some(source), Some(required))
            if source.get() > required.ceil().get().saturating_add(TOLERANCE) =>
        {
            Err(range.out_of(source, most))
        }
        _ => Ok(picked),
    }
}

/// The requirement as it is for a copy: a zonal source is copied within its zone, so if its zone is
/// among those that are asked for, it is the only one left.
#[must_use]
pub fn narrowed(requirement: Requirement, source: Option<&SourceFacts>) -> Requirement {
    let zone = source.and_then(|source| source.zone.clone());
    match zone.map(Place::Zonal) {
        Some(place) if meets(&requirement, std::slice::from_ref(&place)) => {
            let only = crate::model::topology::segments(&place);
            Requirement {
                requisite: vec![only],
                preferred: Vec::new(),
            }
        }
        _ => requirement,
    }
}

/// Everything that the body is made of.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    /// The parameters.
    pub params: &'a DiskParams,
    /// The size.
    pub size: GiB,
    /// The place.
    pub spot: &'a Spot,
    /// IOPS and throughput.
    pub provisioned: Provisioned,
    /// What it is copied from.
    pub source: Option<&'a ResourceId>,
    /// The tags.
    pub tags: Tags,
    /// The edge zone.
    pub extended_location: Option<ExtendedLocation>,
}

/// The body that creates the disk. The same request always gives the same body.
#[must_use]
pub fn body(draft: Draft<'_>) -> DiskCreate {
    let Draft { params, spot, .. } = draft;
    let performance = &params.performance;
    let mut creation_data = draft
        .source
        .map_or_else(CreationData::empty, |id| CreationData::copy(id.clone()));
    creation_data.logical_sector_size = performance.sector_size;
    creation_data.performance_plus = performance.plus;
    let network = &params.network;
    DiskCreate {
        location: spot.region.to_string(),
        extended_location: draft.extended_location,
        sku: params.sku.into(),
        zones: spot
            .zone
            .iter()
            .map(|zone| zone.number().to_string())
            .collect(),
        tags: draft.tags,
        properties: DiskCreateProperties {
            creation_data,
            disk_size_gb: Some(draft.size.get()),
            disk_iops_read_write: draft.provisioned.iops,
            disk_mbps_read_write: draft.provisioned.mbps,
            tier: performance.tier.clone(),
            max_shares: params
                .shares
                .is_shared()
                .then(|| params.shares.get().into()),
            bursting_enabled: performance.bursting.filter(|on| *on),
            encryption: params.encryption.as_ref().map(|encryption| Encryption {
                kind: Some(encryption.kind.to_owned()),
                disk_encryption_set_id: Some(encryption.set.clone()),
            }),
            network_access_policy: Some(network.policy.to_owned()),
            public_network_access: Some(network.public.to_owned()),
            disk_access_id: network.access.clone(),
        },
    }
}

/// What an existing disk is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The parameters.
    pub params: &'a DiskParams,
    /// The capacity range of the request.
    pub range: CapacityRange,
    /// What it is copied from.
    pub source: Option<&'a ResourceId>,
    /// What the scheduler asks.
    pub requirement: &'a Requirement,
    /// The name of the volume that owns it.
    pub owner: &'a str,
}

/// Compares an existing disk with a request.
///
/// # Errors
/// The first difference, in words.
pub fn compare(disk: &Disk, wanted: Wanted<'_>, reach: &[Place]) -> Result<(), String> {
    if let Some(owner) = tags::find(&disk.tags, tag::PV_NAME)
        && owner != wanted.owner
    {
        return Err(format!(
            "it belongs to volume {owner}; a diskName has to be different for each volume"
        ));
    }
    // A disk without an owner is ours only if its name is the volume's own.
    if tags::find(&disk.tags, tag::PV_NAME).is_none()
        && !disk
            .id
            .name()
            .eq_ignore_ascii_case(&crate::model::names::derive(wanted.owner))
    {
        return Err("it was not created for this volume".to_owned());
    }
    let size = disk.size().unwrap_or_default();
    if !wanted.range.admits(size.bytes()) {
        return Err(format!("its size is {size}"));
    }
    if let Some(sku) = &disk.sku
        && !sku.name.eq_ignore_ascii_case(wanted.params.sku.as_str())
    {
        return Err(format!("its SKU is {}", sku.name));
    }
    let source = disk.properties.creation_data.source_resource_id.as_ref();
    if source != wanted.source {
        return Err(match source {
            Some(source) => format!("it is a copy of {source}"),
            None => "it is no copy".to_owned(),
        });
    }
    if disk.max_shares() != u32::from(wanted.params.shares.get()) {
        return Err(format!("its maxShares is {}", disk.max_shares()));
    }
    if !meets(wanted.requirement, reach) {
        let places: Vec<String> = reach.iter().map(Place::label).collect();
        return Err(format!(
            "it can be reached from '{}' only",
            places.join("', '")
        ));
    }
    Ok(())
}

/// The place of an existing disk.
#[must_use]
pub fn spot(disk: &Disk, home: &Region) -> Spot {
    let region = disk.location.parse().unwrap_or_else(|_| home.clone());
    let zone = match disk.zones.as_slice() {
        [one] => one
            .parse()
            .ok()
            .and_then(|number| Zone::new(region.clone(), number)),
        _ => None,
    };
    Spot { region, zone }
}

#[cfg(test)]
mod tests;
