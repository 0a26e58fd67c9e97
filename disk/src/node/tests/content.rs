//! What must never be formatted. In every case but the blank disk the file behind the device is the
//! same afterwards, byte for byte.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use tonic::Code;

use super::rig::{MIB, Rig, Volume, code, key, volume};
use super::support::Loop;
use crate::node::record::Intent;

const SIZE: u64 = 64 * MIB;

/// The whole file. Compared as a whole: a hash of it takes longer without optimisation.
fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test prepares a disk with the ordinary tool"
)]
fn tool(program: &str, args: &[&str], path: &Path) {
    let output = Command::new(program).args(args).arg(path).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
}

fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Stages a disk that was prepared; the answer, and whether a byte has changed.
async fn stage(wish: impl FnOnce(&mut Volume), prepare: impl FnOnce(&Path)) -> (Code, bool) {
    let mut rig = Rig::new();
    let path = rig.path("d");
    File::create(&path).unwrap().set_len(SIZE).unwrap();
    prepare(&path);
    let before = bytes(&path);
    rig.attach_file("d", 0);
    let mut volume = volume("d", 0, "ext4");
    wish(&mut volume);
    let answer = code(rig.stage(&volume).await);
    assert_eq!(rig.loops[0].mounts().is_empty(), answer != Code::Ok);
    drop(rig.loops.pop());
    (answer, bytes(&path) != before)
}

fn context(key: &'static str, value: &'static str) -> impl FnOnce(&mut Volume) {
    move |volume| {
        volume.context.insert(key.to_owned(), value.to_owned());
    }
}

#[tokio::test]
async fn anything_but_zeros_is_left_alone_nd_01() {
    let refused = (Code::FailedPrecondition, false);
    for at in [0, 1024, SIZE / 4, SIZE - 1, 2 * MIB] {
        assert_eq!(
            stage(|_| {}, |path| write_at(path, at, b"x")).await,
            refused,
            "{at}"
        );
    }
    let magics: [(u64, &[u8]); 5] = [
        (0, b"LUKS\xba\xbe"),
        (512, b"LABELONE"),
        (4086, b"SWAPSPACE2"),
        (SIZE - 512, b"EFI PART"),
        (0, b"hsqs"),
    ];
    for (at, magic) in magics {
        assert_eq!(
            stage(|_| {}, |path| write_at(path, at, magic)).await,
            refused
        );
    }
}

#[tokio::test]
async fn other_filesystems_and_damaged_ones_are_left_alone_nd_01() {
    let refused = (Code::FailedPrecondition, false);
    let btrfs = |path: &Path| tool("mkfs.btrfs", &["-q", "-M"], path);
    assert_eq!(stage(|_| {}, btrfs).await, refused);
    let ext3 = |path: &Path| tool("mkfs.ext3", &["-q"], path);
    assert_eq!(stage(|_| {}, ext3).await, refused);
    let headless = |path: &Path| {
        tool("mkfs.ext4", &["-q"], path);
        write_at(path, 0, &[0; 65536]);
    };
    assert_eq!(stage(|_| {}, headless).await, refused);
    let both = |path: &Path| {
        tool("mkfs.ext4", &["-q"], path);
        write_at(path, 0, b"XFSB");
    };
    assert_eq!(stage(|_| {}, both).await, refused);
}

#[tokio::test]
async fn the_copies_of_a_destroyed_xfs_are_seen_nd_01() {
    let mut rig = Rig::new();
    let path = rig.path("d");
    File::create(&path).unwrap().set_len(320 * MIB).unwrap();
    tool("mkfs.xfs", &["-q"], &path);
    write_at(&path, 0, &[0; 65536]);
    rig.attach_file("d", 0);
    let answer = rig.stage(&volume("d", 0, "xfs")).await;
    assert_eq!(code(answer), Code::FailedPrecondition);
}

#[tokio::test]
async fn a_blank_disk_is_formatted_only_when_nothing_speaks_against_it() {
    let made = (Code::Ok, true);
    let refused = (Code::FailedPrecondition, false);
    let nothing = |_: &Path| {};
    assert_eq!(stage(|_| {}, nothing).await, made);
    assert_eq!(
        stage(context("createdEmpty", "false"), nothing).await,
        refused
    );
    let read_only = |volume: &mut Volume| volume.flags = vec!["noatime,ro".to_owned()];
    assert_eq!(stage(read_only, nothing).await, refused);
    assert_eq!(stage(context("allowFormat", "true"), nothing).await, made);
    let data = |path: &Path| write_at(path, 5 * MIB, b"x");
    assert_eq!(
        stage(context("allowFormat", "true"), |p| write_at(p, 9, b"x")).await,
        refused
    );
    assert_eq!(
        stage(context("allowFormatNonBlank", "true"), data).await,
        made
    );
    let known = |path: &Path| write_at(path, 0, b"LUKS\xba\xbe");
    assert_eq!(
        stage(context("allowFormatNonBlank", "true"), known).await,
        refused
    );
}

#[tokio::test]
async fn sectors_of_4096_bytes_work_from_blank_to_mounted() {
    let mut rig = Rig::new();
    let folder = rig.path("");
    let device = Loop::with_sector(&folder, "d", SIZE, 4096);
    rig.show(device, "d", 0);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    rig.unstage(&volume).await.unwrap();
    rig.stage(&volume).await.unwrap();
}

#[tokio::test]
async fn an_interrupted_format_is_finished_on_the_same_attachment_only() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, SIZE);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    let mut record = rig.record(&volume).unwrap();
    rig.unstage(&volume).await.unwrap();
    let path = rig.loops[disk].file.clone();
    write_at(&path, 0, &[0; 65536]);
    assert_eq!(code(rig.stage(&volume).await), Code::FailedPrecondition);
    record.intent = Intent::Formatting;
    record.staging_path.clear();
    let earlier = record.mark.sequence.map(|sequence| sequence - 1);
    let other = crate::node::record::Record {
        mark: crate::node::record::DeviceMark {
            sequence: earlier,
            ..record.mark.clone()
        },
        ..record.clone()
    };
    rig.records().put(&key(&volume), other).unwrap();
    rig.restart();
    assert_eq!(code(rig.stage(&volume).await), Code::FailedPrecondition);
    rig.records().put(&key(&volume), record).unwrap();
    rig.stage(&volume).await.unwrap();
    fs::write(rig.path("staging/file"), "x").unwrap();
}
