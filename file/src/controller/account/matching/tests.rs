//! One account that matches, and one difference after the other.

use azcsi_cloud::Account;
use serde_json::{Value, json};

use super::account;
use crate::controller::account::creation;
use crate::controller::account::want::{Exposure, Home, Want};
use crate::model::params::FileParams;

/// What a class with these parameters wants.
pub(crate) fn want(entries: &[(&str, &str)], exposure: Exposure) -> Want {
    let class = entries.iter();
    let class = class.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let params = FileParams::parse(class.collect(), Default::default()).unwrap();
    let location = "eastus2".parse().unwrap();
    let home = Home {
        subscription: "sub",
        resource_group: "rg",
        location: &location,
    };
    Want::new(&params, &home, exposure)
}

/// An account as the driver would make it for a want.
pub(crate) fn made_for(want: &Want, name: &str) -> Value {
    let mut body = serde_json::to_value(creation::body(want)).unwrap();
    let id = format!(
        "/subscriptions/sub/resourceGroups/RG/providers/Microsoft.Storage/storageAccounts/{name}"
    );
    body["id"] = json!(id);
    body["name"] = json!(name);
    body["properties"]["provisioningState"] = json!("Succeeded");
    body
}

fn read(value: Value) -> Account {
    serde_json::from_value(value).unwrap()
}

fn subnet() -> Exposure {
    let id = "/subscriptions/sub/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/s";
    Exposure::Subnets(vec![id.parse().unwrap()])
}

fn private() -> Exposure {
    Exposure::Private {
        subscription: "sub".to_owned(),
        group: "rg".to_owned(),
    }
}

#[test]
fn what_was_made_for_a_want_matches_it() {
    for (class, exposure) in [
        (&[][..], Exposure::Public),
        (&[("protocol", "nfs")], subnet()),
        (
            &[("protocol", "nfs"), ("encryptInTransit", "true")],
            subnet(),
        ),
        (&[("networkEndpointType", "privateEndpoint")], private()),
        (
            &[
                ("skuName", "PremiumV2_LRS"),
                ("requireInfraEncryption", "true"),
            ],
            Exposure::Public,
        ),
        (
            &[
                ("mountWithManagedIdentity", "true"),
                ("allowSharedKeyAccess", "false"),
            ],
            Exposure::Public,
        ),
        (
            &[
                ("accountAccessTier", "Cool"),
                ("enableLargeFileShares", "true"),
            ],
            Exposure::Public,
        ),
        (&[("tags", "a=b"), ("matchTags", "true")], Exposure::Public),
    ] {
        let want = want(class, exposure);
        assert_eq!(
            account(&want, &read(made_for(&want, "acct1"))),
            Ok(()),
            "{class:?}"
        );
    }
}

/// A setting, a value of it that does not match, and what the difference is called.
const DIFFERENCES: [(&str, &str, &str); 14] = [
    ("/location", "\"westus\"", "region"),
    ("/kind", "\"FileStorage\"", "kind"),
    ("/tags", "{}", "maker"),
    (
        "/properties/provisioningState",
        "\"Creating\"",
        "provisioning state",
    ),
    (
        "/properties/minimumTlsVersion",
        "\"TLS1_0\"",
        "minimum TLS version",
    ),
    (
        "/properties/supportsHttpsTrafficOnly",
        "false",
        "secure transfer",
    ),
    (
        "/properties/allowBlobPublicAccess",
        "true",
        "public access to blobs",
    ),
    ("/properties/allowSharedKeyAccess", "false", "access by key"),
    ("/properties/isHnsEnabled", "true", "namespace"),
    ("/properties/isNfsV3Enabled", "true", "NFS of blobs"),
    (
        "/properties/encryption",
        "{\"requireInfrastructureEncryption\": true}",
        "infrastructure encryption",
    ),
    (
        "/properties/publicNetworkAccess",
        "\"Disabled\"",
        "public network access",
    ),
    (
        "/properties/networkAcls",
        "{\"defaultAction\": \"Deny\"}",
        "firewall",
    ),
    (
        "/properties/statusOfPrimary",
        "\"unavailable\"",
        "availability",
    ),
];

#[test]
fn every_single_difference_is_seen_pr_23() {
    let plain = want(&[], Exposure::Public);
    for (pointer, value, what) in DIFFERENCES {
        let mut other = made_for(&plain, "acct1");
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        other.pointer_mut(parent).unwrap()[key] = serde_json::from_str(value).unwrap();
        let found = account(&plain, &read(other)).unwrap_err();
        assert_eq!(found.0, what, "{pointer}");
    }
}

/// The classes differ in one option; no account of one is used by the other, and nothing that is
/// remembered under the one is found under the other.
#[test]
fn every_option_makes_another_want_and_another_account_pr_22() {
    let base = want(&[], Exposure::Public);
    for option in [
        ("skuName", "Standard_ZRS"),
        ("location", "westus"),
        ("resourceGroup", "other"),
        ("subscriptionID", "other"),
        ("protocol", "nfs"),
        ("allowBlobPublicAccess", "true"),
        ("requireInfraEncryption", "true"),
        ("enableLargeFileShares", "true"),
        ("allowCrossTenantReplication", "true"),
        ("accountAccessTier", "Cool"),
        ("mountWithManagedIdentity", "true"),
        ("publicNetworkAccess", "Disabled"),
    ] {
        let other = want(&[option], Exposure::Public);
        assert_ne!(base, other, "{option:?}");
        assert_ne!(base.digest(), other.digest(), "{option:?}");
        let ours = read(made_for(&base, "acct1"));
        assert!(account(&other, &ours).is_err(), "{option:?}");
    }
    let keyless = want(
        &[
            ("allowSharedKeyAccess", "false"),
            ("storeAccountKey", "false"),
        ],
        Exposure::Public,
    );
    assert!(account(&keyless, &read(made_for(&base, "acct1"))).is_err());
}

#[test]
fn protocols_do_not_mix_nfs_05() {
    let smb = want(&[("skuName", "Premium_LRS")], subnet());
    let nfs = want(&[("protocol", "nfs")], subnet());
    let encrypted = want(
        &[("protocol", "nfs"), ("encryptInTransit", "true")],
        subnet(),
    );
    for (wanted, other) in [
        (&smb, &nfs),
        (&nfs, &smb),
        (&nfs, &encrypted),
        (&encrypted, &nfs),
    ] {
        assert!(account(wanted, &read(made_for(other, "acct1"))).is_err());
    }
}

#[test]
fn exposure_is_exact() {
    let (open, closed) = (want(&[], Exposure::Public), want(&[], subnet()));
    let hidden = want(&[("networkEndpointType", "privateEndpoint")], private());
    for (wanted, other) in [
        (&open, &closed),
        (&closed, &open),
        (&open, &hidden),
        (&hidden, &closed),
        (&closed, &hidden),
    ] {
        assert!(account(wanted, &read(made_for(other, "acct1"))).is_err());
    }
}

#[test]
fn accounts_of_others_need_a_word() {
    let (plain, foreign) = (
        want(&[], Exposure::Public),
        want(&[("matchForeignAccounts", "true")], Exposure::Public),
    );
    let mut other = made_for(&plain, "acct1");
    other["tags"] = json!({"registry": "images"});
    assert!(account(&plain, &read(other.clone())).is_err());
    assert_eq!(account(&foreign, &read(other)), Ok(()));
}
