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
mod tests {
    use super::{Requirement, SkuZones, Spot, meets, pick, reach, segments};
    use azcsi_types::sku::DiskSku;
    use azcsi_types::topology::{Place, Region, Segments};

    fn home() -> Region {
        "eastus2".parse().unwrap()
    }

    fn term(key: &str, value: &str) -> Segments {
        Segments::from([(key.to_owned(), value.to_owned())])
    }

    fn asked(zones: &[&str]) -> Requirement {
        Requirement {
            requisite: zones
                .iter()
                .map(|zone| term("topology.disk.csi.azure.com/zone", zone))
                .collect(),
            preferred: Vec::new(),
        }
    }

    fn zone(spot: &Spot) -> Option<String> {
        spot.zone.as_ref().map(ToString::to_string)
    }

    #[test]
    fn the_first_place_that_has_the_sku_is_taken() {
        let requirement = Requirement {
            preferred: vec![term("topology.kubernetes.io/zone", "eastus2-3")],
            ..asked(&["eastus2-1", "eastus2-3"])
        };
        let open = SkuZones::default();
        let spot = pick(&requirement, None, &home(), (DiskSku::PremiumLrs, &open)).unwrap();
        assert_eq!(zone(&spot).as_deref(), Some("eastus2-3"));
        let closed = SkuZones {
            offered: vec![1, 2],
            restricted: vec![],
        };
        let spot = pick(&requirement, None, &home(), (DiskSku::PremiumLrs, &closed)).unwrap();
        assert_eq!(zone(&spot).as_deref(), Some("eastus2-1"));
        let spot = pick(&requirement, None, &home(), (DiskSku::PremiumZrs, &closed)).unwrap();
        assert_eq!(zone(&spot), None);
    }

    #[test]
    fn what_cannot_be_met_is_said() {
        let none = SkuZones {
            offered: vec![1],
            restricted: vec![1],
        };
        let error = pick(
            &asked(&["eastus2-1"]),
            None,
            &home(),
            (DiskSku::UltraSsdLrs, &none),
        );
        assert!(error.unwrap_err().to_string().contains("eastus2-1"));
        let west: Region = "westus".parse().unwrap();
        let open = SkuZones::default();
        let other = pick(
            &asked(&["eastus2-1"]),
            Some(&west),
            &home(),
            (DiskSku::PremiumLrs, &open),
        );
        assert!(other.is_err());
    }

    #[test]
    fn no_zone_means_a_regional_disk() {
        let open = SkuZones::default();
        for requirement in [Requirement::default(), asked(&[""]), asked(&["0"])] {
            let spot = pick(&requirement, None, &home(), (DiskSku::PremiumLrs, &open)).unwrap();
            assert_eq!(
                spot,
                Spot {
                    region: home(),
                    zone: None
                }
            );
        }
    }

    #[test]
    fn a_kind_that_needs_a_zone_gets_one_that_has_it() {
        let three = SkuZones {
            offered: vec![1, 2, 3],
            restricted: vec![1],
        };
        let nobody_asks = Requirement::default();
        for (sku, zones, zone) in [
            (DiskSku::PremiumV2Lrs, &three, Some("eastus2-2")),
            (DiskSku::UltraSsdLrs, &three, Some("eastus2-2")),
            (DiskSku::PremiumLrs, &three, None),
            (DiskSku::PremiumV2Lrs, &SkuZones::default(), None),
        ] {
            let spot = pick(&nobody_asks, None, &home(), (sku, zones)).unwrap();
            let got = spot.zone.map(|zone| zone.to_string());
            assert_eq!(got.as_deref(), zone, "{sku}");
        }
    }

    #[test]
    fn redundant_disks_are_reached_from_every_zone_that_offers_them() {
        let spot = Spot {
            region: home(),
            zone: None,
        };
        let labels = |zones: &SkuZones| -> Vec<String> {
            reach(&spot, DiskSku::PremiumZrs, zones)
                .iter()
                .map(Place::label)
                .collect()
        };
        assert_eq!(
            labels(&SkuZones::default()),
            ["eastus2-1", "eastus2-2", "eastus2-3", "eastus2-4", ""]
        );
        let three = SkuZones {
            offered: vec![1, 2, 3],
            restricted: vec![2],
        };
        assert_eq!(labels(&three), ["eastus2-1", "eastus2-2", "eastus2-3", ""]);
        assert_eq!(reach(&spot, DiskSku::PremiumLrs, &three), [Place::Regional]);
    }

    #[test]
    fn a_disk_meets_what_it_can_be_reached_from() {
        let places = [Place::from_label("eastus2-1")];
        assert!(meets(&Requirement::default(), &places));
        assert!(meets(&asked(&["eastus2-2", "eastus2-1"]), &places));
        assert!(!meets(&asked(&["eastus2-2"]), &places));
        assert!(!meets(&asked(&[""]), &places));
        assert!(meets(&asked(&[""]), &[Place::Regional]));
        assert_eq!(
            segments(&Place::Regional)
                .values()
                .next()
                .map(String::as_str),
            Some("")
        );
    }
}
