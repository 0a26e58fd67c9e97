//! Raw block volumes.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use azcsi_proto::csi::v1::volume_capability::access_mode::Mode;
use tonic::Code;

use super::rig::{MIB, Rig, Volume, code, volume};

fn block(name: &str, lun: i64) -> Volume {
    Volume {
        is_block: true,
        ..volume(name, lun, "")
    }
}

/// How many mounts lie on a path.
fn mounts_at(rig: &Rig, path: &str) -> usize {
    let path = rig.path(path);
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    let path = path.to_str().unwrap();
    table
        .lines()
        .filter(|line| line.split(' ').nth(1) == Some(path))
        .count()
}

#[tokio::test]
async fn a_device_is_bound_exactly_once_and_grows_nd_13() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 2, 8 * MIB);
    let volume = block("d", 2);
    rig.stage(&volume).await.unwrap();
    for _ in 0..3 {
        rig.publish(&volume, "publish/pod").await.unwrap();
    }
    assert_eq!(mounts_at(&rig, "publish/pod"), 1);
    let meta = rig.path("publish/pod").metadata().unwrap();
    assert!(meta.file_type().is_block_device());
    assert_eq!(meta.rdev(), rig.loops[disk].node.metadata().unwrap().rdev());
    let path = rig.path("publish/pod").to_str().unwrap().to_owned();
    let usage = rig.stats(&volume, &path).await.unwrap();
    assert_eq!(usage[0].total, i64::try_from(8 * MIB).unwrap());
    assert_eq!(
        code(rig.expand(&volume, &path, 16 * MIB).await),
        Code::Unavailable
    );
    rig.loops[disk].resize(16 * MIB);
    assert_eq!(
        rig.expand(&volume, &path, 16 * MIB).await.unwrap(),
        16 * MIB
    );
    assert!(rig.health(&volume).await.is_empty());
    assert_eq!(
        code(rig.unstage(&volume).await),
        Code::Internal,
        "a pod still uses it"
    );
    for _ in 0..2 {
        rig.unpublish(&volume, "publish/pod").await.unwrap();
    }
    assert!(!rig.path("publish/pod").exists());
    rig.unstage(&volume).await.unwrap();
}

#[tokio::test]
async fn targets_of_a_device_are_counted() {
    let mut rig = Rig::new();
    rig.attach("d", 2, 8 * MIB);
    let mut volume = block("d", 2);
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "one").await.unwrap();
    rig.publish(&volume, "two").await.unwrap();
    assert_eq!(
        code(rig.publish_read_only(&volume, "two").await),
        Code::AlreadyExists
    );
    rig.unpublish(&volume, "two").await.unwrap();
    volume.mode = Mode::SingleNodeSingleWriter;
    assert_eq!(
        code(rig.publish(&volume, "two").await),
        Code::FailedPrecondition
    );
    assert!(!rig.path("two").exists());
    rig.unpublish(&volume, "one").await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_not_empty_is_neither_used_nor_removed() {
    let mut rig = Rig::new();
    rig.attach("d", 2, 8 * MIB);
    let volume = block("d", 2);
    rig.stage(&volume).await.unwrap();
    fs::write(rig.path("pod"), "data").unwrap();
    assert_eq!(code(rig.publish(&volume, "pod").await), Code::Internal);
    assert_eq!(code(rig.unpublish(&volume, "pod").await), Code::Internal);
    assert_eq!(fs::read_to_string(rig.path("pod")).unwrap(), "data");
}

#[tokio::test]
async fn several_nodes_need_a_shared_disk() {
    let mut rig = Rig::new();
    rig.attach("d", 2, 8 * MIB);
    let mut volume = block("d", 2);
    volume.mode = Mode::MultiNodeMultiWriter;
    assert_eq!(code(rig.stage(&volume).await), Code::InvalidArgument);
    volume
        .context
        .insert("maxShares".to_owned(), "2".to_owned());
    rig.stage(&volume).await.unwrap();
}
