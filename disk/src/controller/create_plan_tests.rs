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
    };
    let both = Requirement {
        requisite: vec![zone("eastus2-1"), zone("eastus2-2")],
        preferred: vec![zone("eastus2-1")],
    };
    assert_eq!(narrowed(both.clone(), Some(&source)).requisite, [zone("eastus2-2")]);
    assert_eq!(narrowed(both.clone(), None), both);
}

#[test]
fn the_body_says_what_was_asked() {
    let params = params(&[("skuName", "PremiumV2_LRS"), ("maxShares", "2"), ("logicalSectorSize", "512")]);
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
    assert_eq!(body.properties.network_access_policy.as_deref(), Some("DenyAll"));
}

#[test]
fn a_disk_is_the_same_only_if_nothing_differs() {
    let full = format!(
        r#"{{"id":"{ID}","location":"eastus2","zones":["1"],"sku":{{"name":"Premium_LRS"}},
        "tags":{{"kubernetes.io-created-for-pv-name":"pvc-1"}},
        "properties":{{"diskSizeGB":8,"creationData":{{"createOption":"Copy","sourceResourceId":"{OTHER}"}}}}}}"#
    );
    let there = disk(&full);
    let reach = [Place::from_label("eastus2-1")];
    let source = OTHER.to_uppercase().parse().unwrap();
    let asked = Requirement {
        requisite: vec![segments(&Place::from_label("eastus2-1"))],
        preferred: Vec::new(),
    };
    let premium = params(&[("skuName", "Premium_LRS")]);
    let same = Wanted {
        params: &premium,
        range: range(8, 8),
        source: Some(&source),
        requirement: &asked,
        owner: "pvc-1",
    };
    assert_eq!(compare(&there, same, &reach), Ok(()));
    let standard = params(&[]);
    let shared = params(&[("skuName", "Premium_LRS"), ("maxShares", "2")]);
    let elsewhere = Requirement {
        requisite: vec![segments(&Place::from_label("eastus2-2"))],
        preferred: Vec::new(),
    };
    for (wanted, word) in [
        (Wanted { range: range(16, 0), ..same }, "size"),
        (Wanted { range: range(1, 4), ..same }, "size"),
        (Wanted { params: &standard, ..same }, "SKU"),
        (Wanted { params: &shared, ..same }, "maxShares"),
        (Wanted { source: None, ..same }, "copy of"),
        (Wanted { requirement: &elsewhere, ..same }, "reached"),
        (Wanted { owner: "pvc-2", ..same }, "belongs"),
    ] {
        let difference = compare(&there, wanted, &reach).unwrap_err();
        assert!(difference.contains(word), "{difference}");
    }
    let mut foreign = there;
    foreign.tags.clear();
    assert_eq!(compare(&foreign, same, &reach), Ok(()));
    foreign.id = OTHER.parse().unwrap();
    assert!(compare(&foreign, same, &reach).unwrap_err().contains("not created"));
}

#[test]
fn the_place_of_a_disk_is_read_from_region_and_zones() {
    let zonal = disk(&format!(r#"{{"id":"{ID}","location":"East US 2","zones":["2"]}}"#));
    assert_eq!(spot(&zonal, &home()).zone.unwrap().to_string(), "eastus2-2");
    let regional = disk(&format!(r#"{{"id":"{ID}","location":"westus"}}"#));
    assert_eq!(spot(&regional, &home()).zone, None);
    assert_eq!(spot(&regional, &home()).region.as_str(), "westus");
}
