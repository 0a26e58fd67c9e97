//! What a pod may ask for, and what it may not.

use std::collections::HashMap;

use super::{NodeKeys, NotInline, check_option, restrict};
use crate::model::volume_context::VolumeContext;

fn context(pairs: &[(&str, &str)]) -> VolumeContext {
    let base = [
        ("csi.storage.k8s.io/ephemeral", "true"),
        ("csi.storage.k8s.io/pod.namespace", "team-a"),
        ("shareName", "share"),
        ("secretName", "s"),
    ];
    let all: HashMap<String, String> = base
        .iter()
        .chain(pairs)
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    VolumeContext::decode(all).unwrap()
}

#[test]
fn the_secret_is_in_the_pod_s_namespace_and_names_the_account() {
    let asked = context(&[
        ("secretNamespace", "kube-system"),
        ("storageAccount", "other"),
    ]);
    let bent = restrict(asked, NodeKeys::Denied).unwrap();
    assert_eq!(bent.key.namespace.as_deref(), Some("team-a"));
    assert!(bent.key.only_secret);
    assert_eq!(bent.place.account, None);
    let asked = context(&[("storageAccount", "other")]);
    let allowed = restrict(asked, NodeKeys::Allowed).unwrap();
    assert!(allowed.place.account.is_some() && !allowed.key.only_secret);
}

#[test]
fn what_would_use_the_node_s_rights_is_refused() {
    for pair in [
        ("protocol", "nfs"),
        ("fsType", "nfs"),
        ("fsType", "ext4"),
        ("diskName", "a.vhd"),
        ("mountWithManagedIdentity", "true"),
        ("mountWithOAuthToken", "true"),
        ("server", "a/b"),
        ("server", ".."),
        ("shareName2", "x"),
    ] {
        let asked = context(&[pair]);
        let refused = restrict(asked, NodeKeys::Allowed).is_err();
        assert_eq!(refused, pair.0 != "shareName2", "{pair:?}");
    }
    let mut nowhere = context(&[]);
    nowhere.pod.namespace = None;
    let error = restrict(nowhere, NodeKeys::Denied).unwrap_err();
    assert_eq!(error, NotInline::NoNamespace);
}

#[test]
fn only_harmless_options_pass() {
    for good in [
        "ro",
        "dir_mode=0750",
        "uid=1000",
        "cache=none",
        "vers=3.1.1",
        "mfsymlinks",
        "actimeo=30",
    ] {
        assert_eq!(check_option(good), Ok(()), "{good}");
    }
    for bad in [
        "sec=krb5",
        "cruid=0",
        "credentials=/etc/shadow",
        "username=x",
        "password=x",
        "multiuser",
        "bind",
        "suid",
        "dev",
        "vers=1.0",
        "uid=root",
        "cache=fsc",
        "dir_mode=",
        "prefixpath=../x",
        "ip=169.254.169.254",
        "domain=x",
        "upcall_target=app",
        "snapshot=1",
        "RO",
        "uid",
        "ro=1",
    ] {
        assert!(check_option(bad).is_err(), "{bad}");
    }
}
