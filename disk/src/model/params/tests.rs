//! Tests of `params`.

use std::collections::BTreeMap;

use azcsi_types::access::MaxShares;
use azcsi_types::params::BadParam;
use azcsi_types::sku::{Caching, DiskSku};

use super::{DiskParams, MutableParams};

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn parse(pairs: &[(&str, &str)]) -> Result<DiskParams, BadParam> {
    DiskParams::parse(map(pairs), BTreeMap::new())
}

const SET: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/e";
const DA: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskAccesses/a";

#[test]
fn nothing_said_means_the_defaults() {
    let params = parse(&[]).unwrap();
    assert_eq!(params.sku, DiskSku::StandardSsdLrs);
    assert_eq!(params.caching, Caching::ReadOnly);
    assert_eq!(
        (params.network.policy, params.network.public),
        ("DenyAll", "Disabled")
    );
    assert_eq!(params.shares, MaxShares::ONE);
}

#[test]
fn every_key_of_older_classes_is_read() {
    let params = parse(&[
        ("StorageAccountType", "premium_lrs"),
        ("cachingmode", "none"),
        ("Location", "East US 2"),
        ("resourceGroup", "g"),
        ("subscriptionID", "s"),
        ("diskName", "d"),
        ("diskEncryptionSetID", SET),
        (
            "diskEncryptionType",
            "EncryptionAtRestWithPlatformAndCustomerKeys",
        ),
        ("tags", "a=b;c=d=e"),
        ("tagValueDelimiter", ";"),
        ("writeAcceleratorEnabled", "TRUE"),
        ("perfProfile", "Advanced"),
        ("device-setting/queue/nr_requests", "8"),
        ("networkAccessPolicy", "AllowPrivate"),
        ("publicNetworkAccess", "Enabled"),
        ("diskAccessID", DA),
        ("enableBursting", "false"),
        ("enablePerformancePlus", "T"),
        ("attachDiskInitialDelay", "1000"),
        ("fsType", "xfs"),
        ("userAgent", "x"),
        ("kind", "Managed"),
        ("zoned", "true"),
        ("enableAsyncAttach", "false"),
        ("csi.storage.k8s.io/pvc/name", "c"),
        ("csi.storage.k8s.io/pvc/namespace", "n"),
        ("csi.storage.k8s.io/pv/name", "v"),
    ])
    .unwrap();
    assert_eq!(params.sku, DiskSku::PremiumLrs);
    assert_eq!(params.placement.location.unwrap().as_str(), "eastus2");
    assert_eq!(params.tags["c"], "d=e");
    assert_eq!(params.claim.volume.as_deref(), Some("v"));
    assert_eq!(params.performance.plus, Some(true));
    assert!(params.write_accelerator);
}

#[test]
fn nonsense_is_refused_by_key_and_value_id_13() {
    for pairs in [
        &[("skuName", "Premium")][..],
        &[
            ("skuName", "Premium_LRS"),
            ("storageAccountType", "Premium_LRS"),
        ],
        &[("skuName", "Premium_LRS"), ("SKUNAME", "Premium_LRS")],
        &[("cachingMode", "sometimes")],
        &[("skuName", "PremiumV2_LRS"), ("cachingMode", "ReadOnly")],
        &[("skuNam", "Premium_LRS")],
        &[("zone", "1")],
        &[("maxShares", "0")],
        &[("maxShares", "16")],
        &[("maxShares", "2"), ("enableBursting", "true")],
        &[("diskEncryptionType", "EncryptionAtRestWithCustomerKey")],
        &[("diskEncryptionSetID", "e")],
        &[("networkAccessPolicy", "AllowPrivate")],
        &[("diskAccessID", DA)],
        &[("diskIOPSReadWrite", "many"), ("skuName", "UltraSSD_LRS")],
        &[("diskIOPSReadWrite", "500"), ("skuName", "Premium_LRS")],
        &[("logicalSectorSize", "1024"), ("skuName", "UltraSSD_LRS")],
        &[("logicalSectorSize", "512")],
        &[("tier", "P5")],
        &[("perfProfile", "advanced")],
        &[("perfProfile", "basic"), ("device-setting/../x", "1")],
        &[("resourceGroup", "a/b")],
        &[("resourceGroup", "..")],
        &[("location", "a/b")],
        &[("tags", "novalue")],
        &[("enablePerformancePlus", "maybe")],
        &[("attachDiskInitialDelay", "soon")],
    ] {
        assert!(parse(pairs).is_err(), "{pairs:?}");
    }
}

#[test]
fn mutable_parameters_win_whatever_their_spelling_id_13_pr_29() {
    let params = DiskParams::parse(
        map(&[("skuName", "Premium_LRS")]),
        map(&[
            ("StorageAccountType", "PremiumV2_LRS"),
            ("diskIOPSReadWrite", "4000"),
        ]),
    )
    .unwrap();
    assert_eq!(params.sku, DiskSku::PremiumV2Lrs);
    assert_eq!(params.performance.iops, Some(4000));
}

#[test]
fn what_cannot_change_is_refused_as_mutable() {
    for pair in [
        ("cachingMode", "None"),
        ("diskName", "x"),
        ("XXX_FakeKey", "XXX_FakeValue"),
    ] {
        assert!(MutableParams::parse(map(&[pair])).is_err(), "{pair:?}");
        assert!(
            DiskParams::parse(BTreeMap::new(), map(&[pair])).is_err(),
            "{pair:?}"
        );
    }
    let read = MutableParams::parse(map(&[("tier", "p30"), ("tags", "a=b")])).unwrap();
    assert_eq!(read.tier.as_deref(), Some("P30"));
    assert!(MutableParams::parse(map(&[("tags", "a=${pv.metadata.name}")])).is_err());
}
