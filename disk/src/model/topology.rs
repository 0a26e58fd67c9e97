//! Where a new disk is made, and from where a disk can be reached.

use azcsi_types::keys::{DISK_TOPOLOGY_ZONE, TOPOLOGY_ZONE};
use azcsi_types::sku::DiskSku;
use azcsi_types::topology::{Place, Region, Segments, Zone};

/// What the scheduler asks of a new volume (CSI, `TopologyRequirement`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// The volume has to be reachable from one of these.
    pub requisite: Vec<Segments>,
    /// The same in order of preference.
    pub preferred: Vec<Segments>,
}

/// A place that a disk is made in: a region, and a zone of it where the SKU has zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The region.
    pub region: Region,
    /// The zone; `None` for zone-redundant disks and for regions without zones.
    pub zone: Option<Zone>,
}

/// No place satisfies the requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {sku} disk can be made in region {region} for the requested topology ({asked})")]
pub struct Unsatisfiable {
    sku: DiskSku,
    region: String,
    asked: String,
}

/// What the SKU list of Azure says about a SKU in a region. Empty if it could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkuZones {
    /// Zones in which the SKU is offered.
    pub offered: Vec<u8>,
    /// Zones that the subscription may not use for it.
    pub restricted: Vec<u8>,
}

impl SkuZones {
    fn has(&self, number: u8) -> bool {
        !self.restricted.contains(&number)
            && (self.offered.is_empty() || self.offered.contains(&number))
    }
}

impl Requirement {
    fn terms(&self) -> impl Iterator<Item = Place> {
        // `preferred` holds members of `requisite`, the best first; the others follow.
        self.preferred.iter().chain(&self.requisite).map(place)
    }

    fn is_empty(&self) -> bool {
        self.requisite.is_empty() && self.preferred.is_empty()
    }
}

/// The place of one term. Kubernetes' key is looked at first; the driver's own key carries an empty
/// value on machines without a zone.
fn place(segments: &Segments) -> Place {
    let value = |wanted: &str| {
        segments
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| Place::from_label(value))
    };
    match (value(TOPOLOGY_ZONE), value(DISK_TOPOLOGY_ZONE)) {
        (Some(Place::Zonal(zone)), _) | (_, Some(Place::Zonal(zone))) => Place::Zonal(zone),
        _ => Place::Regional,
    }
}

/// Chooses where a disk is made: the first preferred place that the SKU has.
///
/// # Errors
/// If a requirement is given and no place of it can have the disk.
pub fn pick(
    requirement: &Requirement,
    wanted: Option<&Region>,
    home: &Region,
    (sku, zones): (DiskSku, &SkuZones),
) -> Result<Spot, Unsatisfiable> {
    let fixed = |zone: &Zone| wanted.is_none_or(|region| zone.region() == region);
    let redundant = sku.is_zone_redundant();
    for term in requirement.terms() {
        match term {
            Place::Zonal(zone) if fixed(&zone) && (redundant || zones.has(zone.number())) => {
                return Ok(Spot {
                    region: zone.region().clone(),
                    zone: (!redundant).then_some(zone),
                });
            }
            Place::Regional => {
                return Ok(Spot {
                    region: wanted.unwrap_or(home).clone(),
                    zone: None,
                });
            }
            Place::Zonal(_) => {}
        }
    }
    if requirement.is_empty() {
        let region = wanted.unwrap_or(home).clone();
        let zone = anywhere(&region, sku, zones);
        return Ok(Spot { region, zone });
    }
    let asked: Vec<String> = requirement.terms().map(|place| place.label()).collect();
    Err(Unsatisfiable {
        sku,
        region: wanted.unwrap_or(home).to_string(),
        asked: asked.join(", "),
    })
}

/// The zone of a disk for which nobody asks one. Ultra and Premium v2 disks exist in zones only, in
/// regions that have them; the others are regional then.
fn anywhere(region: &Region, sku: DiskSku, zones: &SkuZones) -> Option<Zone> {
    if !sku.has_provisioned_performance() {
        return None;
    }
    let free = zones.offered.iter().find(|number| zones.has(**number))?;
    Zone::new(region.clone(), *free)
}

/// Whether a disk that can be reached from these places meets a requirement.
#[must_use]
pub fn meets(requirement: &Requirement, reach: &[Place]) -> bool {
    let terms = &requirement.requisite;
    terms.is_empty() || terms.iter().any(|term| reach.contains(&place(term)))
}

/// Whether the volumes of a snapshot that lies in `region` can be where a requirement wants them: they
/// can be in every zone of that region, and nowhere else.
#[must_use]
pub fn snapshot_meets(requirement: &Requirement, region: &Region, home: &Region) -> bool {
    requirement.requisite.is_empty()
        || requirement.requisite.iter().any(|term| match place(term) {
            Place::Zonal(zone) => zone.region() == region,
            Place::Regional => region == home,
        })
}

/// The places from which a snapshot can be used; none means everywhere. One in the region of the
/// cluster can be used by all its machines, one in another region by none of them.
#[must_use]
pub fn snapshot_reach(region: &Region, home: &Region) -> Vec<Place> {
    if region == home {
        return Vec::new();
    }
    (1..=3)
        .filter_map(|number| Zone::new(region.clone(), number))
        .map(Place::Zonal)
        .collect()
}

/// The places from which a disk can be reached.
#[must_use]
pub fn reach(spot: &Spot, sku: DiskSku, zones: &SkuZones) -> Vec<Place> {
    if !sku.is_zone_redundant() {
        return vec![spot.zone.clone().map_or(Place::Regional, Place::Zonal)];
    }
    // What the list does not tell is taken as the four zones that volumes always named.
    let numbers: Vec<u8> = if zones.offered.is_empty() {
        (1..=4).collect()
    } else {
        zones.offered.clone()
    };
    numbers
        .into_iter()
        .filter_map(|number| Zone::new(spot.region.clone(), number))
        .map(Place::Zonal)
        .chain([Place::Regional])
        .collect()
}

/// A place as CSI carries it: under the driver's own key only.
#[must_use]
pub fn segments(place: &Place) -> Segments {
    Segments::from([(DISK_TOPOLOGY_ZONE.to_owned(), place.label())])
}

#[cfg(test)]
mod tests;
