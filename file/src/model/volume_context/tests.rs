//! What is written is read, and what is wrong is named.

use std::collections::{BTreeMap, HashMap};

use super::{NewVolume, VolumeContext, encode};
use crate::model::protocol::{IdentityMount, Protocol};

fn map(entries: &[(&str, &str)]) -> HashMap<String, String> {
    let pairs = entries.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn what_the_controller_writes_is_what_the_node_reads() {
    let class: BTreeMap<_, _> = map(&[
        ("skuName", "Premium_LRS"),
        ("FolderName", "${pvc.metadata.name}"),
        ("secretNamespace", "asked"),
        ("mountPermissions", "0750"),
    ])
    .into_iter()
    .collect();
    let written = encode(
        &class,
        &NewVolume {
            nfs: true,
            server: Some("a.privatelink.file.core.windows.net".to_owned()),
            disk_name: None,
            folder: Some("claim-1".to_owned()),
            secret_namespace: "asked".to_owned(),
        },
    );
    assert_eq!(written["skuName"], "Premium_LRS");
    assert_eq!(written["secretnamespace"], "asked");
    let read = VolumeContext::decode(written).unwrap();
    assert_eq!(read.protocol, Some(Protocol::Nfs));
    assert_eq!(read.folder.unwrap().as_str(), "claim-1");
    assert_eq!(read.key.namespace.as_deref(), Some("asked"));
    assert_eq!(read.mount_permissions, Some(0o750));
    assert_eq!(
        read.server.as_deref(),
        Some("a.privatelink.file.core.windows.net")
    );
}

#[test]
fn a_folder_that_the_id_holds_is_not_written() {
    let class: BTreeMap<_, _> = map(&[("folderName", "base")]).into_iter().collect();
    let written = encode(&class, &NewVolume::default());
    assert_eq!(VolumeContext::decode(written).unwrap().folder, None);
}

#[test]
fn nfs_is_said_by_fs_type_too() {
    let read = VolumeContext::decode(map(&[("fsType", "nfs")])).unwrap();
    assert_eq!(read.protocol, Some(Protocol::Nfs));
}

#[test]
fn wrong_values_name_the_key_id_13() {
    for (key, value) in [
        ("protocol", "ftp"),
        ("fsType", "btrfs"),
        ("folderName", "../x"),
        ("storageAccount", "No Such"),
        ("mountPermissions", "0999"),
        ("encryptInTransit", "yes"),
        ("fsGroupChangePolicy", "Sometimes"),
    ] {
        let error = VolumeContext::decode(map(&[(key, value)])).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
    let twice = map(&[("secretName", "a"), ("SecretName", "b")]);
    assert!(VolumeContext::decode(twice).is_err());
    let both = map(&[
        ("mountWithManagedIdentity", "true"),
        ("mountWithOAuthToken", "true"),
    ]);
    assert!(VolumeContext::decode(both).is_err());
}

#[test]
fn tokens_cannot_be_printed_smb_14() {
    let read = VolumeContext::decode(map(&[
        ("csi.storage.k8s.io/serviceAccount.tokens", "hunter2"),
        ("mountWithWorkloadIdentityToken", "1"),
    ]))
    .unwrap();
    assert_eq!(read.identity.mount, Some(IdentityMount::Workload));
    assert!(!format!("{read:?}").contains("hunter2"));
}
