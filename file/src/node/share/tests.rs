//! Ids and attributes, in every mixture.

use std::collections::HashMap;

use super::{Names, NoShare, Share, VolumeKey};
use crate::model::protocol::Protocol;
use crate::model::volume_context::VolumeContext;

const SUFFIX: &str = "core.windows.net";

fn context(pairs: &[(&str, &str)]) -> VolumeContext {
    let pairs = pairs.iter();
    let map: HashMap<String, String> = pairs
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    VolumeContext::decode(map).unwrap()
}

fn find(id: &str, pairs: &[(&str, &str)]) -> Result<Share, NoShare> {
    let key = VolumeKey::decode(id.to_owned()).unwrap();
    Share::find(&key, &context(pairs), SUFFIX)
}

#[test]
fn sources_have_the_forms_of_old() {
    for (id, pairs, expected) in [
        (
            "rg#acct1#share1#",
            &[][..],
            "//acct1.file.core.windows.net/share1",
        ),
        (
            "rg#acct1#share1/a/b#",
            &[],
            "//acct1.file.core.windows.net/share1/a/b",
        ),
        (
            "rg#acct1#share1##uuid#ns",
            &[("protocol", "nfs")],
            "acct1.file.core.windows.net:/acct1/share1",
        ),
        (
            "rg#acct1#share1#",
            &[("fsType", "nfs"), ("folderName", "/x/")],
            "acct1.file.core.windows.net:/acct1/share1/x",
        ),
        (
            "anything",
            &[
                ("storageAccount", "acct2"),
                ("shareName", "${pv.metadata.name}"),
                ("csi.storage.k8s.io/pv/name", "pvc-1"),
                ("storageEndpointSuffix", "core.chinacloudapi.cn"),
            ],
            "//acct2.file.core.chinacloudapi.cn/pvc-1",
        ),
        (
            "anything",
            &[
                ("server", "files.corp.example"),
                ("shareName", "Team Share"),
            ],
            "//files.corp.example/Team Share",
        ),
        (
            "anything",
            &[
                ("server", "10.1.2.3"),
                ("shareName", "export"),
                ("protocol", "nfs"),
            ],
            "10.1.2.3:/export",
        ),
    ] {
        let share = find(id, pairs).unwrap();
        let host = share.host(share.account.as_ref(), Names::AsGiven).unwrap();
        assert_eq!(
            share.source(&host, share.account.as_ref()),
            expected,
            "{id}"
        );
    }
}

#[test]
fn a_ticket_needs_the_account_s_own_name_smb_11() {
    let server = "acct1.privatelink.file.core.windows.net";
    let share = find("rg#acct1#share1#", &[("server", server)]).unwrap();
    let host = |names| share.host(share.account.as_ref(), names).unwrap();
    assert_eq!(host(Names::AsGiven), server);
    assert_eq!(host(Names::Canonical), "acct1.file.core.windows.net");
}

#[test]
fn nothing_leads_elsewhere() {
    for (id, pairs) in [
        ("x", &[][..]),
        ("x", &[("shareName", "..")]),
        ("x", &[("shareName", "a/b")]),
        ("x", &[("shareName", "ab,pass=x"), ("server", "h")]),
        ("rg#acct1#share1#", &[("server", "h/evil")]),
        ("rg#acct1#share1#", &[("server", "-h")]),
        ("rg#acct1#share1#", &[("server", "h,ip=1")]),
        (
            "rg#acct1#share1#",
            &[
                ("folderName", "${pvc.metadata.name}"),
                ("csi.storage.k8s.io/pvc/name", ".."),
            ],
        ),
        ("rg#acct1#share1#", &[("diskName", "../a.vhd")]),
        ("rg#acct1#share1#", &[("diskName", "a.img")]),
        ("rg#acct1#share1#", &[("fsType", "ext4")]),
        (
            "rg#acct1#share1#",
            &[("diskName", "a.vhd"), ("protocol", "nfs")],
        ),
    ] {
        assert!(find(id, pairs).is_err(), "{id} {pairs:?}");
    }
}

#[test]
fn every_spelling_of_an_id_has_one_key() {
    let key = |id: &str| VolumeKey::decode(id.to_owned()).unwrap();
    assert_eq!(
        key("RG#acct1#share1#").record(),
        key("rg#acct1#share1#").record()
    );
    assert_ne!(
        key("rg#acct1#share1#").record(),
        key("rg#acct1#share2#").record()
    );
    assert_eq!(key("any").record(), key("any").record());
    assert!(VolumeKey::decode(String::new()).is_err());
    let share = find("rg#acct1#share1#disk.vhd#", &[]).unwrap();
    assert_eq!(share.disk, Some(("disk.vhd".to_owned(), "ext4")));
    assert_eq!(share.protocol, Protocol::Smb);
}
