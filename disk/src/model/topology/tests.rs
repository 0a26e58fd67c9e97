//! Tests of `topology`.

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
