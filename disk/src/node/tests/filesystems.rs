//! Filesystems from blank disk to unstage, on every kind that is served.

use std::fs;

use tonic::Code;

use super::rig::{MIB, Rig, code, grows_mounted_ext, volume};
use azcsi_proto::csi::v1::volume_capability::access_mode::Mode;

const SIZES: [(&str, u64); 5] = [
    ("ext2", 16 * MIB),
    ("ext3", 32 * MIB),
    ("ext4", 16 * MIB),
    ("xfs", 320 * MIB),
    ("btrfs", 160 * MIB),
];

#[tokio::test]
async fn a_volume_lives_through_every_call_twice_and_grows_nd_10() {
    for (fs, size) in SIZES {
        let mut rig = Rig::new();
        let disk = rig.attach("d", 3, size);
        let volume = volume("d", 3, fs);
        for _ in 0..2 {
            rig.stage(&volume).await.unwrap();
            rig.publish(&volume, "pod").await.unwrap();
        }
        assert_eq!(rig.loops[disk].mounts().len(), 2, "{fs}: staging and pod");
        fs::write(rig.path("pod/file"), fs).unwrap();
        let pod = rig.path("pod").to_str().unwrap().to_owned();
        let before = rig.stats(&volume, &pod).await.unwrap()[0].total;
        rig.loops[disk].resize(2 * size);
        let grown = rig.expand(&volume, &pod, 2 * size).await;
        let after = rig.stats(&volume, &pod).await.unwrap()[0].total;
        if grows_mounted_ext() || !fs.starts_with("ext") {
            assert_eq!(grown.unwrap(), 2 * size, "{fs}");
            assert!(after > before + before / 2, "{fs}: {before} {after}");
        } else {
            assert_eq!(code(grown), Code::Internal, "{fs}");
            assert_eq!(after, before, "{fs}");
        }
        assert!(rig.health(&volume).await.is_empty(), "{fs}");
        for _ in 0..2 {
            rig.unpublish(&volume, "pod").await.unwrap();
            rig.unstage(&volume).await.unwrap();
        }
        assert!(!rig.path("pod").exists() && !rig.path("staging").exists());
        assert!(rig.loops[disk].mounts().is_empty());
        assert_eq!(rig.record(&volume), None);
        rig.stage(&volume).await.unwrap();
        assert_eq!(fs::read_to_string(rig.path("staging/file")).unwrap(), fs);
        rig.unstage(&volume).await.unwrap();
    }
}

#[tokio::test]
async fn a_larger_disk_than_its_filesystem_is_grown_at_stage() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    rig.unstage(&volume).await.unwrap();
    rig.loops[disk].resize(64 * MIB);
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "pod").await.unwrap();
    let pod = rig.path("pod").to_str().unwrap().to_owned();
    let total = rig.stats(&volume, &pod).await.unwrap()[0].total;
    assert!(total > i64::try_from(48 * MIB).unwrap(), "{total}");
}

#[tokio::test]
async fn an_expand_waits_for_the_device_and_refuses_read_only_nd_14() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let mut volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    let staging = rig.path("staging").to_str().unwrap().to_owned();
    assert_eq!(
        code(rig.expand(&volume, &staging, 32 * MIB).await),
        Code::Unavailable
    );
    assert_eq!(
        rig.expand(&volume, &staging, 16 * MIB).await.unwrap(),
        16 * MIB
    );
    rig.unstage(&volume).await.unwrap();
    volume.flags = vec!["noatime,ro".to_owned()];
    rig.stage(&volume).await.unwrap();
    rig.loops[disk].resize(32 * MIB);
    assert_eq!(
        code(rig.expand(&volume, &staging, 32 * MIB).await),
        Code::FailedPrecondition
    );
}

#[tokio::test]
async fn the_staging_path_is_no_substitute_for_a_path_where_nothing_is_mounted() {
    let mut rig = Rig::new();
    rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    let staging = rig.text("staging");
    fs::create_dir(rig.path("pod")).unwrap();
    for path in [rig.text("pod"), rig.text("nothing")] {
        let grown = rig.expand_with(&volume, &path, 16 * MIB, |request| {
            request.staging_target_path.clone_from(&staging);
        });
        assert_eq!(code(grown.await), Code::NotFound, "{path}");
    }
}

#[tokio::test]
async fn a_clone_of_an_xfs_is_mounted_beside_its_source() {
    let mut rig = Rig::new();
    let one = rig.attach("one", 0, 320 * MIB);
    let mut source = volume("one", 0, "");
    source.context.insert("fsType".to_owned(), "xfs".to_owned());
    rig.stage_at(&source, "staging one").await.unwrap();
    fs::write(rig.path("staging one/file"), "x").unwrap();
    rig.unstage_at(&source, "staging one").await.unwrap();
    fs::copy(&rig.loops[one].file, rig.path("two")).unwrap();
    rig.attach_file("two", 1);
    let mut clone = volume("two", 1, "xfs");
    clone
        .context
        .insert("createdEmpty".to_owned(), "false".to_owned());
    rig.stage_at(&source, "staging one").await.unwrap();
    rig.stage_at(&clone, "staging two").await.unwrap();
    for path in ["staging one/file", "staging two/file"] {
        assert_eq!(fs::read_to_string(rig.path(path)).unwrap(), "x");
    }
}

#[tokio::test]
async fn a_read_only_publish_cannot_be_written_through() {
    let mut rig = Rig::new();
    rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    rig.publish_read_only(&volume, "reader").await.unwrap();
    rig.publish_read_only(&volume, "reader").await.unwrap();
    rig.publish(&volume, "writer").await.unwrap();
    assert!(fs::write(rig.path("reader/file"), "x").is_err());
    fs::write(rig.path("writer/file"), "x").unwrap();
    assert_eq!(
        code(rig.publish(&volume, "reader").await),
        Code::AlreadyExists
    );
    assert_eq!(
        code(rig.publish_read_only(&volume, "writer").await),
        Code::AlreadyExists
    );
    assert_eq!(
        code(rig.unstage(&volume).await),
        Code::Internal,
        "pods still use it"
    );
}

#[tokio::test]
async fn a_single_writer_has_one_target_and_a_refusal_leaves_nothing() {
    let mut rig = Rig::new();
    rig.attach("d", 0, 16 * MIB);
    let mut volume = volume("d", 0, "ext4");
    volume.mode = Mode::SingleNodeSingleWriter;
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "one").await.unwrap();
    rig.publish(&volume, "one").await.unwrap();
    assert_eq!(
        code(rig.publish(&volume, "two").await),
        Code::FailedPrecondition
    );
    assert!(!rig.path("two").exists());
}

#[tokio::test]
async fn nothing_is_published_that_is_not_staged() {
    let mut rig = Rig::new();
    rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    fs::create_dir(rig.path("staging")).unwrap();
    assert_eq!(
        code(rig.publish(&volume, "pod").await),
        Code::FailedPrecondition
    );
    assert!(!rig.path("pod").exists());
    let no_path = rig.publish_with(&volume, "pod", |r| r.staging_target_path.clear());
    assert_eq!(code(no_path.await), Code::FailedPrecondition);
}

#[tokio::test]
async fn a_second_stage_in_another_way_is_refused() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let mut volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    volume.flags = vec!["ro".to_owned()];
    assert_eq!(code(rig.stage(&volume).await), Code::AlreadyExists);
    volume.flags.clear();
    volume.fs = "xfs";
    assert_eq!(code(rig.stage(&volume).await), Code::AlreadyExists);
    assert_eq!(rig.loops[disk].mounts().len(), 1);
}
