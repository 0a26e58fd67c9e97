//! Restarts, lost records, stacked mounts and devices that are pulled.

use std::fs;

use nix::mount::{MsFlags, mount};
use tonic::Code;

use super::rig::{MIB, Rig, code, grows_mounted_ext, volume};

#[tokio::test]
async fn a_restart_and_a_lost_record_change_nothing() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    rig.restart();
    rig.stage(&volume).await.unwrap();
    rig.forget_records();
    rig.publish(&volume, "pod").await.unwrap();
    let pod = rig.path("pod").to_str().unwrap().to_owned();
    rig.loops[disk].resize(32 * MIB);
    let grown = code(rig.expand(&volume, &pod, 32 * MIB).await);
    let expected = if grows_mounted_ext() {
        Code::Ok
    } else {
        Code::Internal
    };
    assert_eq!(grown, expected);
    rig.unpublish(&volume, "pod").await.unwrap();
    rig.unstage(&volume).await.unwrap();
    assert!(rig.loops[disk].mounts().is_empty());
}

#[tokio::test]
async fn stacked_mounts_are_all_removed_nd_11() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    let staging = rig.path("staging");
    for _ in 0..2 {
        let none = None::<&str>;
        mount(Some(&staging), &staging, none, MsFlags::MS_BIND, none).unwrap();
    }
    assert_eq!(rig.loops[disk].mounts().len(), 3);
    rig.unstage(&volume).await.unwrap();
    assert!(rig.loops[disk].mounts().is_empty() && !staging.exists());
}

#[tokio::test]
async fn a_folder_with_files_is_never_removed() {
    let rig = Rig::new();
    let volume = volume("d", 0, "ext4");
    fs::create_dir(rig.path("pod")).unwrap();
    fs::write(rig.path("pod/file"), "written while nothing was mounted").unwrap();
    assert_eq!(code(rig.unpublish(&volume, "pod").await), Code::Internal);
    assert!(rig.path("pod/file").exists());
}

#[tokio::test]
async fn a_pulled_device_is_cleaned_up_and_the_disk_comes_back() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "pod").await.unwrap();
    fs::write(rig.path("pod/file"), "x").unwrap();
    nix::unistd::sync();
    fs::copy(&rig.loops[disk].file, rig.path("copy")).unwrap();
    rig.loops[disk].resize(0);
    assert_eq!(rig.health(&volume).await, ["DeviceGone"]);
    assert_eq!(
        code(rig.publish(&volume, "other").await),
        Code::FailedPrecondition
    );
    // The disk is attached anew, at another number, while the old mounts are still there.
    fs::rename(rig.path("copy"), rig.path("d2")).unwrap();
    let again = rig.attach_file("d2", 0);
    rig.metadata.put(0, &volume.id);
    rig.stage(&volume).await.unwrap();
    assert_eq!(rig.loops[again].mounts(), [rig.path("staging")]);
    rig.publish(&volume, "pod").await.unwrap();
    assert_eq!(fs::read_to_string(rig.path("pod/file")).unwrap(), "x");
    rig.unpublish(&volume, "pod").await.unwrap();
    rig.unstage(&volume).await.unwrap();
}

#[tokio::test]
async fn a_foreign_mount_at_the_staging_path_is_left_alone() {
    let mut rig = Rig::new();
    let one = rig.attach("one", 0, 16 * MIB);
    rig.attach("two", 1, 16 * MIB);
    rig.stage(&volume("one", 0, "ext4")).await.unwrap();
    let answer = rig.stage(&volume("two", 1, "ext4")).await;
    assert_eq!(code(answer), Code::AlreadyExists);
    assert_eq!(rig.loops[one].mounts().len(), 1);
    let first = rig.publish(&volume("two", 1, "ext4"), "pod").await;
    assert_eq!(code(first), Code::FailedPrecondition);
}

#[tokio::test]
async fn a_failed_mount_leaves_nothing_and_says_why() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let mut volume = volume("d", 0, "ext4");
    volume.flags = vec!["no-such-option".to_owned()];
    let failed = rig.stage(&volume).await.unwrap_err();
    assert_eq!(failed.code(), Code::Internal);
    assert!(rig.loops[disk].mounts().is_empty() && !rig.path("staging").exists());
    assert_eq!(rig.health(&volume).await, ["StageFailed"]);
    volume.flags.clear();
    rig.stage(&volume).await.unwrap();
}
