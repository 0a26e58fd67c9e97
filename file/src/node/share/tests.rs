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

fn source(id: &str, pairs: &[(&str, &str)]) -> String {
    let share = find(id, pairs).unwrap();
    let account = share.account.as_ref();
    let host = share.host(account, Names::AsGiven).unwrap();
    share.source(&host, account)
}

#[test]
fn sources_have_the_forms_of_old() {
    let smb = "//acct1.file.core.windows.net/share1";
    assert_eq!(source("rg#acct1#share1#", &[]), smb);
    assert_eq!(source("rg#acct1#share1/a/b#", &[]), format!("{smb}/a/b"));
    let nfs = "acct1.file.core.windows.net:/acct1/share1";
    let protocol = [("protocol", "nfs")];
    assert_eq!(source("rg#acct1#share1##uuid#ns", &protocol), nfs);
    let by_type = [("fsType", "nfs"), ("folderName", "/x/")];
    assert_eq!(source("rg#acct1#share1#", &by_type), format!("{nfs}/x"));
}

#[test]
fn static_volumes_are_named_by_attributes() {
    let china = [
        ("storageAccount", "acct2"),
        ("shareName", "${pv.metadata.name}"),
        ("csi.storage.k8s.io/pv/name", "pvc-1"),
        ("storageEndpointSuffix", "core.chinacloudapi.cn"),
    ];
    let expected = "//acct2.file.core.chinacloudapi.cn/pvc-1";
    assert_eq!(source("anything", &china), expected);
    let own = [
        ("server", "files.corp.example"),
        ("shareName", "Team Share"),
    ];
    assert_eq!(source("anything", &own), "//files.corp.example/Team Share");
    let export = [
        ("server", "10.1.2.3"),
        ("shareName", "export"),
        ("protocol", "nfs"),
    ];
    assert_eq!(source("anything", &export), "10.1.2.3:/export");
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
