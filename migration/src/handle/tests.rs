//! Handles in every form.

use super::{DiskId, FileHandle, account_of_secret, disk_name, is_blob, repair, secret_of_account};
use crate::error::TranslateError;

const ID: &str = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d";

#[test]
fn a_disk_id_is_read_in_any_case_and_only_in_its_form() {
    let parsed = DiskId::parse(ID).unwrap();
    assert_eq!(
        (parsed.subscription, parsed.resource_group, parsed.name),
        ("s", "r", "d")
    );
    assert_eq!(DiskId::parse(&ID.to_ascii_uppercase()).unwrap().name, "D");
    for wrong in [
        "",
        "d",
        "subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d",
        "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/",
        "/subscriptions//resourceGroups/r/providers/Microsoft.Compute/disks/d",
        "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/a/b",
        "/subscriptions/s/resourceGroups/r/providers/Microsoft-Compute/disks/d",
        "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/a\nb",
        "https://h/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d",
    ] {
        let error = DiskId::parse(wrong).unwrap_err();
        assert_eq!(error, TranslateError::DiskIdUnparsable(wrong.to_owned()));
    }
}

#[test]
fn the_disk_name_follows_the_patterns_of_kubernetes() {
    assert_eq!(disk_name(ID), Ok("d"));
    assert_eq!(disk_name(&format!("x\n{ID}")), Ok("d"));
    assert_eq!(
        disk_name(&format!("{ID}/subscriptions/z")),
        Ok("d/subscriptions/z")
    );
    assert_eq!(disk_name(&ID.replace("Microsoft.", "Microsofté")), Ok("d"));
    assert!(disk_name(&ID.replace("Microsoft.", "Microsoft\n")).is_err());
    assert!(disk_name(&ID.replace("/resourceGroups/r", "/resourceGroups")).is_err());
    assert_eq!(disk_name("https://a.b/vhds/x/vhds/y.vhd"), Ok("y.vhd"));
    assert_eq!(disk_name("http:///vhds/x/vhds/"), Ok("x/vhds/"));
    assert!(disk_name("HTTPS://a.b/vhds/y.vhd").is_err());
    assert!(disk_name("http").is_err());
}

#[test]
fn a_blob_is_told_by_its_first_letters() {
    assert!(is_blob("HtTpx"));
    assert!(!is_blob("http"));
    assert!(!is_blob(ID));
    assert!(!is_blob("htté p"));
}

#[test]
fn a_share_handle_has_its_parts_where_its_length_says() {
    let read = |handle| FileHandle::parse(handle).unwrap();
    let three = read("r#a#s");
    assert_eq!(
        (three.resource_group, three.account, three.share),
        ("r", "a", "s")
    );
    assert_eq!(read("r#a#s#d.vhd").disk, "d.vhd");
    let five = read("r#a#s#pv.vhd#ns");
    assert_eq!((five.disk, five.namespace), ("", "ns"));
    let seven = read("r#a#s#d#u#ns#sub");
    assert_eq!(
        (seven.disk, seven.namespace, seven.subscription),
        ("d", "ns", "sub")
    );
    assert!(FileHandle::parse("r#a").is_err());
}

#[test]
fn the_account_stands_in_the_customary_name_of_its_secret() {
    assert_eq!(account_of_secret(&secret_of_account("acct")), "acct");
    for whole in [
        "mine",
        "azure-storage-account--secret",
        "azure-storage-account-a",
    ] {
        assert_eq!(account_of_secret(whole), whole);
    }
}

#[test]
fn handles_need_no_repair_but_their_driver_must_be_known() {
    assert_eq!(repair("disk.csi.azure.com", "/X"), Ok("/X".to_owned()));
    assert!(repair("Disk.csi.azure.com", "/X").is_err());
}
