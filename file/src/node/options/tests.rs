//! Tables: what the user says, what comes out.

use azcsi_host::mount::MountOptions;

use super::{Asked, BadOptions, Defaults, Merged, Toggle, merge};
use crate::model::protocol::Protocol::{self, Nfs, Smb};

fn asked<'a>(protocol: Protocol, items: &[&str], group: Option<&'a str>) -> Asked<'a> {
    let items: Vec<String> = items.iter().map(|&item| item.to_owned()).collect();
    Asked {
        protocol,
        options: MountOptions::parse(&items).unwrap(),
        group,
        read_only: false,
    }
}

fn merged(protocol: Protocol, items: &[&str], group: Option<&str>) -> Merged {
    merge(&asked(protocol, items, group), &Defaults::default()).unwrap()
}

fn words(protocol: Protocol, items: &[&str], group: Option<&str>) -> String {
    merged(protocol, items, group).options.words().join(",")
}

#[test]
fn smb_options_of_the_user_win_one_by_one_smb_08() {
    for (items, expected) in [
        (
            &[][..],
            "file_mode=0777,dir_mode=0777,actimeo=30,mfsymlinks,nosharesock",
        ),
        // Two in one item: the stricter mode of directories is not undone.
        (
            &["file_mode=0640,dir_mode=0750"],
            "file_mode=0640,dir_mode=0750,actimeo=30,mfsymlinks,nosharesock",
        ),
        (
            &["acregmax=1"],
            "acregmax=1,file_mode=0777,dir_mode=0777,mfsymlinks,nosharesock",
        ),
        (
            &["acdirmax=1", "nosharesock"],
            "acdirmax=1,nosharesock,file_mode=0777,dir_mode=0777,mfsymlinks",
        ),
        (
            &["actimeo=0", "actimeo=0", "mfsymlinks,vers=3.1.1"],
            "actimeo=0,mfsymlinks,vers=3.1.1,file_mode=0777,dir_mode=0777,nosharesock",
        ),
    ] {
        assert_eq!(words(Smb, items, None), expected, "{items:?}");
    }
}

#[test]
fn the_group_of_the_pod_is_used_unless_the_class_names_one_smb_10() {
    let end = "file_mode=0777,dir_mode=0777,actimeo=30,mfsymlinks,nosharesock";
    for (items, group, expected, other) in [
        (&[][..], Some("2000"), "gid=2000", None),
        (
            &["uid=1,gid=1000"],
            Some("2000"),
            "uid=1,gid=1000",
            Some("1000"),
        ),
        (&["gid=2000"], Some("2000"), "gid=2000", None),
        (&["gid=5"], None, "gid=5", None),
        (&["gid=5"], Some(""), "gid=5", None),
    ] {
        let merged = merged(Smb, items, group);
        let found = merged.options.words().join(",");
        assert_eq!(found, format!("{expected},{end}"));
        assert_eq!(merged.other_group.as_deref(), other, "{items:?}");
    }
    let bad = merge(&asked(Smb, &[], Some("2000,cruid=0")), &Defaults::default());
    assert!(matches!(bad, Err(BadOptions::Group(_))));
}

#[test]
fn nfs_is_4_1_and_nothing_else() {
    let fixed = "vers=4,minorversion=1,sec=sys";
    for (items, expected) in [
        (&[][..], format!("{fixed},noresvport,actimeo=30")),
        (
            &["nconnect=4"],
            format!("nconnect=4,{fixed},noresvport,actimeo=30"),
        ),
        (
            &["vers=4.1", "sec=sys"],
            format!("{fixed},noresvport,actimeo=30"),
        ),
        (&["resvport", "noac"], format!("resvport,noac,{fixed}")),
        (&["actimeo=1"], format!("actimeo=1,{fixed},noresvport")),
    ] {
        assert_eq!(words(Nfs, items, Some("2000")), expected, "{items:?}");
    }
    for word in [
        "vers=3",
        "nfsvers=4.2",
        "sec=krb5",
        "minorversion=0",
        "v3",
        "port=1",
    ] {
        let error = merge(&asked(Nfs, &[word], None), &Defaults::default());
        assert!(matches!(error, Err(BadOptions::Reserved { .. })), "{word}");
    }
}

#[test]
fn nobody_names_a_login_among_the_options() {
    for word in [
        "username=a",
        "pass=b",
        "credentials=/f",
        "CRUID=0",
        "ip=1.2.3.4",
    ] {
        let error = merge(&asked(Smb, &[word], None), &Defaults::default());
        assert!(matches!(error, Err(BadOptions::Reserved { .. })), "{word}");
    }
    let error = merge(&asked(Smb, &["pass=hunter2"], None), &Defaults::default());
    assert!(!error.unwrap_err().to_string().contains("hunter2"));
}

#[test]
fn contradictions_are_refused() {
    let error = merge(&asked(Smb, &["uid=1", "uid=2"], None), &Defaults::default()).unwrap_err();
    let expected = "the mount option 'uid' is given twice: as '1' and as '2'";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn read_only_is_kept_smb_16() {
    for items in [&[][..], &["rw"], &["ro"]] {
        let asked = Asked {
            read_only: true,
            ..asked(Smb, items, None)
        };
        let merged = merge(&asked, &Defaults::default()).unwrap();
        assert!(merged.options.is_read_only(), "{items:?}");
        assert!(!merged.options.has("rw"));
    }
}

#[test]
fn flags_switch_defaults() {
    let defaults = Defaults {
        own_connection: Toggle::Off,
        close_at_once: Toggle::On,
        high_port: Toggle::Off,
        cache_attributes: Toggle::Off,
    };
    let smb = merge(&asked(Smb, &[], None), &defaults).unwrap();
    assert!(smb.options.has("closetimeo=0") && smb.options.has("sloppy"));
    assert!(!smb.options.has("nosharesock"));
    let nfs = merge(&asked(Nfs, &[], None), &defaults).unwrap();
    assert_eq!(nfs.options.words(), ["vers=4", "minorversion=1", "sec=sys"]);
}

#[test]
fn encryption_is_a_wish_and_no_word_for_the_kernel() {
    let merged = merged(Nfs, &["EncryptInTransit"], None);
    assert!(merged.encrypt);
    assert!(
        !merged
            .options
            .words()
            .join(",")
            .to_lowercase()
            .contains("encrypt")
    );
}
