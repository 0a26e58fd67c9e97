//! Tests of `create_plan`.

use std::collections::BTreeMap;

use azcsi_cloud::Disk;
use azcsi_types::size::{CapacityRange, GiB};
use azcsi_types::topology::{Place, Region};

use super::{Draft, SourceFacts, Wanted, body, compare, narrowed, size, spot};
use crate::model::params::DiskParams;
use crate::model::performance::Provisioned;
use crate::model::topology::{Requirement, Spot, segments};

const ID: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/pvc-1";
const OTHER: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/other";

fn params(pairs: &[(&str, &str)]) -> DiskParams {
    let map = pairs
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    DiskParams::parse(map, BTreeMap::new()).unwrap()
}

fn home() -> Region {
    "eastus2".parse().unwrap()
}

fn disk(text: &str) -> Disk {
    serde_json::from_str(text).unwrap()
}

fn range(required: u32, limit: u32) -> CapacityRange {
    let bytes = |gib: u32| i64::from(gib) << 30;
    CapacityRange::from_wire(bytes(required), bytes(limit)).unwrap()
}

#[test]
fn the_size_fits_source_sku_and_range() {
    let plain = params(&[]);
    let plus = params(&[("enablePerformancePlus", "true")]);
    let ultra = params(&[("skuName", "UltraSSD_LRS")]);
    let got = |range, params: &DiskParams, source: Option<u32>| {
        size(range, params, source.map(GiB::new)).ok().map(GiB::get)
    };
    assert_eq!(got(CapacityRange::ANY, &plain, None), Some(1));
    assert_eq!(got(CapacityRange::ANY, &ultra, None), Some(4));
    assert_eq!(got(range(10, 0), &plus, None), Some(513));
    assert_eq!(got(range(10, 100), &plus, None), None);
    assert_eq!(got(range(10, 0), &plain, Some(40)), Some(40));
    assert_eq!(got(range(10, 20), &plain, Some(40)), None);
    assert_eq!(got(range(10, 0), &plain, Some(60)), Some(60));
    assert_eq!(got(range(10, 0), &plain, Some(61)), None);
    assert_eq!(got(CapacityRange::ANY, &plain, Some(61)), Some(61));
    assert_eq!(got(range(40_000, 0), &plain, None), None);
    assert_eq!(got(range(40_000, 0), &ultra, None), Some(40_000));
}

#[test]
fn a_zonal_source_keeps_its_copy_in_its_zone() {
    let zone = |label: &str| segments(&Place::from_label(label));
    let source = SourceFacts {
        id: OTHER.parse().unwrap(),
        size: GiB::new(1),
        region: Some(home()),
        zone: Some("eastus2-2".parse().unwrap()),
        sku: None,
    };
    let both = Requirement {
        requisite: vec![zone("eastus2-1"), zone("eastus2-2")],
        preferred: vec![zone("eastus2-1")],
    };
    assert_eq!(
        narrowed(both.clone(), Some(&source)).requisite,
        [zone("eastus2-2")]
    );
    assert_eq!(narrowed(both.clone(), None), both);
}

#[test]
fn the_body_says_what_was_asked() {
    let params = params(&[
        ("skuName", "PremiumV2_LRS"),
        ("maxShares", "2"),
        ("logicalSectorSize", "512"),
    ]);
    let place = Spot {
        region: home(),
        zone: Some("eastus2-3".parse().unwrap()),
    };
    let source = OTHER.parse().unwrap();
    let body = body(Draft {
        params: &params,
        size: GiB::new(8),
        spot: &place,
        provisioned: Provisioned::default(),
        source: Some(&source),
        tags: BTreeMap::new(),
        extended_location: None,
    });
    assert_eq!(body.zones, ["3"]);
    assert_eq!(body.properties.creation_data.create_option, "Copy");
    assert_eq!(body.properties.creation_data.logical_sector_size, Some(512));
    assert_eq!(body.properties.max_shares, Some(2));
    assert_eq!(
        body.properties.network_access_policy.as_deref(),
        Some("DenyAll")
    );
}

/// A zonal Premium copy of 8 GiB that belongs to volume `pvc-1`.
fn existing() -> Disk {
    disk(&format!(
        r#"{{"id":"{ID}","location":"eastus2","zones":["1"],"sku":{{"name":"Premium_LRS"}},
        "tags":{{"kubernetes.io-created-for-pv-name":"pvc-1"}},
        "properties":{{"diskSizeGB":8,"creationData":{{"createOption":"Copy","sourceResourceId":"{OTHER}"}}}}}}"#
    ))
}

fn in_zone(label: &str) -> Requirement {
    Requirement {
        requisite: vec![segments(&Place::from_label(label))],
        preferred: Vec::new(),
    }
}

#[test]
fn a_disk_is_the_same_only_if_nothing_differs() {
    let there = existing();
    let reach = [Place::from_label("eastus2-1")];
    let source = OTHER.to_uppercase().parse().unwrap();
    let (asked, elsewhere) = (in_zone("eastus2-1"), in_zone("eastus2-2"));
    let premium = params(&[("skuName", "Premium_LRS")]);
    let standard = params(&[]);
    let shared = params(&[("skuName", "Premium_LRS"), ("maxShares", "2")]);
    let same = Wanted {
        params: &premium,
        range: range(8, 8),
        source: Some(&source),
        requirement: &asked,
        owner: "pvc-1",
    };
    assert_eq!(compare(&there, same, &reach), Ok(()));
    let with_range = |range| Wanted { range, ..same };
    let with_params = |params| Wanted { params, ..same };
    let owner = "pvc-2";
    let requirement = &elsewhere;
    for (wanted, word) in [
        (with_range(range(16, 0)), "size"),
        (with_range(range(1, 4)), "size"),
        (with_params(&standard), "SKU"),
        (with_params(&shared), "maxShares"),
        (
            Wanted {
                source: None,
                ..same
            },
            "copy of",
        ),
        (
            Wanted {
                requirement,
                ..same
            },
            "reached",
        ),
        (Wanted { owner, ..same }, "belongs"),
    ] {
        let difference = compare(&there, wanted, &reach).unwrap_err();
        assert!(difference.contains(word), "{difference}");
    }
}

#[test]
fn a_disk_without_an_owner_is_known_by_its_name_only() {
    let mut foreign = existing();
    foreign.tags.clear();
    let source = OTHER.parse().unwrap();
    let premium = params(&[("skuName", "Premium_LRS")]);
    let anywhere = Requirement::default();
    let wanted = Wanted {
        params: &premium,
        range: range(8, 8),
        source: Some(&source),
        requirement: &anywhere,
        owner: "pvc-1",
    };
    assert_eq!(compare(&foreign, wanted, &[]), Ok(()));
    foreign.id = OTHER.parse().unwrap();
    let difference = compare(&foreign, wanted, &[]).unwrap_err();
    assert!(difference.contains("not created"));
}

#[test]
fn the_place_of_a_disk_is_read_from_region_and_zones() {
    let zonal = disk(&format!(
        r#"{{"id":"{ID}","location":"East US 2","zones":["2"]}}"#
    ));
    assert_eq!(spot(&zonal, &home()).zone.unwrap().to_string(), "eastus2-2");
    let regional = disk(&format!(r#"{{"id":"{ID}","location":"westus"}}"#));
    assert_eq!(spot(&regional, &home()).zone, None);
    assert_eq!(spot(&regional, &home()).region.as_str(), "westus");
}
