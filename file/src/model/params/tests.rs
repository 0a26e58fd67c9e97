//! Every key by table: what is taken, what is refused and in which words.

use std::collections::BTreeMap;

use super::{DataPlane, DnsMode, FileParams, Reach};
use crate::model::protocol::Protocol;
use crate::model::sku::Sku;

fn class(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = entries.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn parse(entries: &[(&str, &str)]) -> FileParams {
    FileParams::parse(class(entries), BTreeMap::new()).unwrap()
}

fn refused(entries: &[(&str, &str)]) -> String {
    FileParams::parse(class(entries), BTreeMap::new())
        .unwrap_err()
        .to_string()
}

#[test]
fn nothing_said_is_smb_with_a_key_in_a_secret() {
    let params = parse(&[]);
    assert_eq!(params.share.protocol, Protocol::Smb);
    assert_eq!(params.account.sku, None);
    assert!(params.account.https_only && params.secret.store && !params.account.blob_public);
}

#[test]
fn nfs_is_premium_without_a_key_nfs_05() {
    for entries in [&[("protocol", "nfs")], &[("FSTYPE", "nfs")]] {
        let params = parse(entries);
        assert_eq!(params.share.protocol, Protocol::Nfs);
        assert_eq!(params.account.sku, Some(Sku::PREMIUM));
        assert!(!params.account.https_only && !params.secret.store);
    }
    assert!(
        parse(&[("protocol", "nfs"), ("encryptInTransit", "true")])
            .account
            .https_only
    );
}

#[test]
fn words_ignore_case_and_aliases_work() {
    let params = parse(&[
        ("STORAGEACCOUNTTYPE", "premium_lrs"),
        ("accesstier", "premium"),
        ("useDataPlaneApi", "OAUTH"),
        ("networkendpointtype", "PrivateEndpoint"),
        ("dnsMode", "existingzone"),
    ]);
    assert_eq!(params.account.sku, Some(Sku::PREMIUM));
    assert_eq!(params.share.tier, Some("Premium"));
    assert_eq!(params.data_plane, Some(DataPlane::Oauth));
    assert_eq!(params.network.reach, Some(Reach::PrivateEndpoint));
    assert_eq!(params.network.dns, DnsMode::ExistingZone);
}

#[test]
fn a_wrong_value_names_its_key_id_13() {
    for (key, value) in [
        ("skuName", "Ultra"),
        ("protocol", "ftp"),
        ("fsType", "btrfs"),
        ("storageAccount", "no-such"),
        ("location", "here!"),
        ("shareNamePrefix", "-x"),
        ("shareNamePrefix", "abcdefghijklmnopqrstu"),
        ("folderName", "a/../b"),
        ("accessTier", "Tepid"),
        ("accountAccessTier", "Tepid"),
        ("rootSquashType", "Some"),
        ("enableLargeFileShares", "yes"),
        ("tags", "a"),
        ("accountQuota", "99"),
        ("accountQuota", "x"),
        ("networkEndpointType", "tunnel"),
        ("publicNetworkAccess", "Maybe"),
        ("allowSharedKeyAccess", "maybe"),
        ("useDataPlaneAPI", "yes"),
        ("mountPermissions", "9"),
        ("fsGroupChangePolicy", "Maybe"),
        ("provisionedIOPS", "-1"),
        ("provisionedBandwidth", "2147483648"),
        ("secretName", "Not A Name"),
        ("secretNamespace", "../x"),
        ("storageEndpointSuffix", "a/b"),
        ("subnetName", "a,,b"),
        ("noSuchKey", "x"),
    ] {
        let text = refused(&[(key, value)]);
        assert!(text.contains(key), "{key}: {text}");
    }
}

#[test]
fn what_contradicts_is_refused() {
    for entries in [
        &[("protocol", "nfs"), ("skuName", "Standard_LRS")][..],
        &[("protocol", "nfs"), ("fsType", "ext4")],
        &[("protocol", "smb"), ("fsType", "nfs")],
        &[("fsType", "ext4")],
        &[("protocol", "nfs"), ("mountWithManagedIdentity", "true")],
        &[
            ("mountWithManagedIdentity", "true"),
            ("mountWithOAuthToken", "true"),
            ("secretName", "s"),
        ],
        &[("mountWithOAuthToken", "true")],
        &[("matchTags", "true"), ("storageAccount", "acct")],
        &[("allowSharedKeyAccess", "false")],
        &[
            ("allowSharedKeyAccess", "false"),
            ("storeAccountKey", "false"),
            ("useDataPlaneAPI", "true"),
        ],
        &[("enableMultichannel", "true"), ("skuName", "Standard_LRS")],
        &[("enableMultichannel", "true"), ("protocol", "nfs")],
        &[("privateDNSZoneResourceGroup", "g")],
        &[("dnsMode", "none")],
        &[
            ("networkEndpointType", "privateEndpoint"),
            ("subnetName", "a,b"),
        ],
        &[("rootSquashType", "AllSquash")],
        &[("shareName", "s"), ("shareNamePrefix", "p")],
        &[("folderPerVolume", "true")],
        &[
            ("skuName", "Premium_LRS"),
            ("storageAccountType", "Premium_LRS"),
        ],
    ] {
        refused(entries);
    }
}

#[test]
fn no_key_is_kept_where_no_mount_needs_it_pr_28() {
    for entries in [
        &[("protocol", "nfs")],
        &[("mountWithManagedIdentity", "true")],
        &[("mountWithWorkloadIdentityToken", "1")],
        &[("storeAccountKey", "false")],
    ] {
        assert!(!parse(entries).secret.store, "{entries:?}");
    }
}

#[test]
fn only_mutable_keys_are_laid_over_a_class_pr_29() {
    let base = class(&[("provisionedIOPS", "4000"), ("skuName", "PremiumV2_LRS")]);
    let over = class(&[("ProvisionedIops", "5000")]);
    let params = FileParams::parse(base.clone(), over).unwrap();
    assert_eq!(params.share.iops, Some(5000));
    let over = class(&[("skuName", "Standard_LRS")]);
    assert!(FileParams::parse(base, over).is_err());
}
