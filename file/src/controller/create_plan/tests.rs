//! Sizes by SKU, and shares that are in the way.

use azcsi_cloud::Share;
use azcsi_types::size::{CapacityRange, GiB};
use serde_json::{Value, json};

use super::{Draft, Existing, ShareOf, size};
use crate::model::params::FileParams;
use crate::model::sku::Sku;

const GIB: i64 = 1 << 30;

fn range(required: i64, limit: i64) -> CapacityRange {
    CapacityRange::from_wire(required, limit).unwrap()
}

fn draft(class: &[(&str, &str)], gib: i64) -> Draft {
    let pairs = class.iter();
    let class = pairs
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    Draft {
        params: FileParams::parse(class, Default::default()).unwrap().share,
        range: range(gib * GIB, 0),
        driver: "file.csi.azure.com".to_owned(),
        volume: "pvc-1".to_owned(),
        copy_of: None,
        of: ShareOf::Volume,
    }
}

fn share(gib: u32, metadata: Value) -> Share {
    let properties = json!({"shareQuota": gib, "metadata": metadata});
    serde_json::from_value(json!({"name": "pvc-1", "properties": properties})).unwrap()
}

fn ours() -> Value {
    json!({"createdby": "file.csi.azure.com", "createdfor": "pvc-1"})
}

#[test]
fn sizes_are_those_of_the_sku_and_never_above_the_limit_pr_19() {
    let sku = |name| Sku::named(name).unwrap();
    for (name, required, expected) in [
        ("Standard_LRS", 1 << 20, 1),
        ("Standard_LRS", 31 * GIB, 31),
        ("Premium_LRS", 31 * GIB, 100),
        ("Premium_LRS", 99 * GIB, 100),
        ("Premium_LRS", 100 * GIB + 1, 101),
        ("PremiumV2_LRS", GIB, 32),
        ("StandardV2_GZRS", 32 * GIB, 32),
    ] {
        assert_eq!(
            size(range(required, 0), sku(name)).unwrap(),
            GiB::new(expected),
            "{name}"
        );
    }
    assert_eq!(
        size(CapacityRange::ANY, sku("Standard_LRS")).unwrap().get(),
        100
    );
    assert!(size(range(GIB, 50 * GIB), sku("Premium_LRS")).is_err());
    assert!(size(range(300_000 * GIB, 0), sku("PremiumV2_LRS")).is_err());
}

#[test]
fn the_share_of_an_earlier_try_is_taken_and_any_other_is_not_pr_04() {
    let wanted = draft(&[], 10);
    assert_eq!(
        wanted.check(&share(10, ours())),
        Ok(Existing::Complete(GiB::new(10)))
    );
    assert_eq!(
        wanted.check(&share(20, ours())),
        Ok(Existing::Complete(GiB::new(20)))
    );
    for other in [
        share(5, ours()),
        share(
            10,
            json!({"createdby": "file.csi.azure.com", "createdfor": "pvc-2"}),
        ),
        share(10, json!({"createdby": "other"})),
        share(10, json!({})),
    ] {
        assert!(wanted.check(&other).is_err(), "{other:?}");
    }
    let mut nfs = share(10, ours());
    nfs.properties.enabled_protocols = Some("NFS".to_owned());
    assert!(wanted.check(&nfs).is_err());
    let mut hot = share(10, ours());
    hot.properties.access_tier = Some("Hot".to_owned());
    assert!(draft(&[("accessTier", "Cool")], 10).check(&hot).is_err());
}

#[test]
fn a_share_that_is_named_may_be_anybodys_pr_17() {
    let wanted = draft(&[("shareName", "pvc-1")], 10);
    assert!(wanted.check(&share(10, json!({}))).is_ok());
    assert!(wanted.check(&share(5, json!({}))).is_err());
}

#[test]
fn a_copy_is_complete_only_when_it_says_so() {
    let mut wanted = draft(&[], 10);
    wanted.copy_of = Some("rg#acct#source".to_owned());
    let body = wanted.body(GiB::new(10));
    let mut there = share(10, json!(body.metadata));
    assert_eq!(wanted.check(&there), Ok(Existing::Copying(GiB::new(10))));
    if let Some(metadata) = &mut there.properties.metadata {
        metadata.insert("copyState".to_owned(), "copied".to_owned());
    }
    assert_eq!(wanted.check(&there), Ok(Existing::Complete(GiB::new(10))));
    assert!(draft(&[], 10).check(&there).is_err());
    assert!(wanted.check(&share(10, ours())).is_err());
}
