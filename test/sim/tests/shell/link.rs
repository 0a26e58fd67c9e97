//! Loop devices: needs root, and says so when it is not root instead of passing by.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use azcsi_sim::link::{Attachment, LoopLink, Taken, loopdev};

fn need_root() {
    if let Err(error) = loopdev::preflight() {
        panic!("this test makes loop devices and cannot run here: {error}");
    }
}

fn at(node: &str, lun: u32, disk: &str) -> Attachment {
    Attachment {
        node: node.into(),
        lun,
        disk: disk.into(),
        sector: 512,
    }
}

fn nodes() -> Vec<String> {
    vec!["n1".to_owned(), "n2".to_owned()]
}

fn start(dir: &Path, wanted: &[Attachment]) -> LoopLink {
    LoopLink::start(dir, &nodes(), wanted).expect("start")
}

fn device(link: &LoopLink, node: &str, lun: u32) -> PathBuf {
    let link = link
        .farm()
        .device_root(node)
        .join(format!("disk/azure/scsi1/lun{lun}"));
    link.canonicalize().expect("the link leads to a device")
}

fn open(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .expect("open")
}

fn numbers(link: &LoopLink) -> BTreeSet<u32> {
    let bound = loopdev::bound_under(link.backing().root()).expect("sysfs");
    bound.into_iter().map(|bound| bound.number).collect()
}

fn sysfs(device: &Path, what: &str) -> String {
    let name = device.file_name().expect("name").to_str().expect("text");
    let text = fs::read_to_string(format!("/sys/block/{name}/{what}")).expect("sysfs");
    text.trim().to_owned()
}

#[test]
fn an_attached_disk_is_a_block_device_under_both_names_and_goes_with_the_detach() {
    need_root();
    let dir = tempfile::tempdir().expect("tempdir");
    let link = start(dir.path(), &[]);
    link.backing().ensure("d1", 64 << 20).expect("disk");
    link.attach(&at("n1", 3, "d1")).expect("attach");

    let path = device(&link, "n1", 3);
    assert!(
        fs::metadata(&path)
            .expect("metadata")
            .file_type()
            .is_block_device()
    );
    let by_lun = link
        .farm()
        .device_root("n1")
        .join("disk/azure/data/by-lun/3");
    assert_eq!(by_lun.canonicalize().expect("by-lun"), path);
    assert_eq!(sysfs(&path, "size"), ((64 << 20) / 512).to_string());

    assert_eq!(
        link.detach(&at("n1", 3, "d1")).expect("detach"),
        Taken::Clean
    );
    assert!(!path.exists());
    assert!(by_lun.symlink_metadata().is_err());
    assert!(numbers(&link).is_empty());
}

#[test]
fn sector_size_is_the_disks() {
    need_root();
    let dir = tempfile::tempdir().expect("tempdir");
    let link = start(dir.path(), &[]);
    link.backing().ensure("d1", 8 << 20).expect("disk");
    link.attach(&Attachment {
        sector: 4096,
        ..at("n1", 0, "d1")
    })
    .expect("attach");
    assert_eq!(
        sysfs(&device(&link, "n1", 0), "queue/logical_block_size"),
        "4096"
    );
}

#[test]
fn growing_a_disk_grows_its_device() {
    need_root();
    let dir = tempfile::tempdir().expect("tempdir");
    let link = start(dir.path(), &[]);
    link.backing().ensure("d1", 8 << 20).expect("disk");
    link.attach(&at("n1", 0, "d1")).expect("attach");
    link.resize("d1", 16 << 20).expect("resize");
    assert_eq!(
        sysfs(&device(&link, "n1", 0), "size"),
        ((16 << 20) / 512).to_string()
    );
}

#[test]
fn what_one_node_writes_to_a_shared_disk_the_other_reads() {
    need_root();
    let dir = tempfile::tempdir().expect("tempdir");
    let link = start(dir.path(), &[]);
    link.backing().ensure("d1", 8 << 20).expect("disk");
    link.attach(&at("n1", 0, "d1")).expect("attach");
    link.attach(&at("n2", 5, "d1")).expect("attach again");
    open(&device(&link, "n1", 0))
        .write_all_at(b"shared", 4096)
        .expect("write");
    let mut got = [0; 6];
    open(&device(&link, "n2", 5))
        .read_exact_at(&mut got, 4096)
        .expect("read");
    assert_eq!(&got, b"shared");

    assert_eq!(
        link.detach(&at("n1", 0, "d1")).expect("detach"),
        Taken::Clean
    );
    open(&device(&link, "n2", 5))
        .read_exact_at(&mut got, 4096)
        .expect("still there");
}

#[test]
fn a_device_pulled_while_open_fails_its_user_and_keeps_the_disk() {
    need_root();
    let dir = tempfile::tempdir().expect("tempdir");
    let link = start(dir.path(), &[]);
    link.backing().ensure("d1", 8 << 20).expect("disk");
    link.attach(&at("n1", 0, "d1")).expect("attach");
    let user = open(&device(&link, "n1", 0));
    user.write_all_at(b"kept", 0).expect("write");
    user.sync_all().expect("sync");

    let taken = link.detach(&at("n1", 0, "d1")).expect("detach");
    assert_eq!(taken, Taken::InUse { mounts: Vec::new() });
    let late = user
        .write_all_at(&[1; 4096], 1 << 20)
        .and_then(|()| user.sync_all());
    assert!(late.is_err(), "a write to a pulled device went through");

    link.attach(&at("n2", 1, "d1")).expect("attach elsewhere");
    let mut got = [0; 4];
    open(&device(&link, "n2", 1))
        .read_exact_at(&mut got, 0)
        .expect("read");
    assert_eq!(&got, b"kept");
    drop(user);
}

#[test]
fn devices_of_a_dead_process_are_taken_over_or_let_go() {
    need_root();
    let dir = tempfile::tempdir().expect("tempdir");
    let dead = start(dir.path(), &[]);
    for disk in ["d1", "d2"] {
        dead.backing().ensure(disk, 8 << 20).expect("disk");
    }
    dead.attach(&at("n1", 0, "d1")).expect("attach");
    dead.attach(&at("n1", 1, "d2")).expect("attach");
    let kept = device(&dead, "n1", 0);
    let before = numbers(&dead);
    // A killed process runs no destructor.
    std::mem::forget(dead);

    let next = start(dir.path(), &[at("n1", 0, "d1")]);
    assert_eq!(
        device(&next, "n1", 0),
        kept,
        "an attached disk keeps its device"
    );
    let after = numbers(&next);
    assert_eq!(after.len(), 1);
    assert!(after.is_subset(&before));
    let gone = next.farm().device_root("n1").join("disk/azure/scsi1/lun1");
    assert_eq!(
        gone.symlink_metadata().expect_err("gone").kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn shutdown_leaves_no_device() {
    need_root();
    let dir = tempfile::tempdir().expect("tempdir");
    let link = start(dir.path(), &[]);
    link.backing().ensure("d1", 8 << 20).expect("disk");
    link.attach(&at("n1", 0, "d1")).expect("attach");
    link.shutdown();
    assert!(numbers(&link).is_empty());
}
