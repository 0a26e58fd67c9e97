//! Slots that hold another disk, and ids that are none.

use tonic::Code;

use super::rig::{MIB, Rig, code, id, volume};

#[tokio::test]
async fn another_disk_in_the_slot_is_never_mounted_nd_02() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.metadata.put(0, &id("other"));
    let refused = rig.stage(&volume).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("disks/other"), "{refused}");
    assert!(rig.loops[disk].mounts().is_empty() && !rig.path("staging").exists());
    assert_eq!(rig.health(&volume).await, ["StageRefused"]);
    rig.metadata.put(0, &id("D").to_uppercase());
    rig.stage(&volume).await.unwrap();
    assert!(rig.health(&volume).await.is_empty());
    rig.metadata.put(0, &id("other"));
    assert_eq!(
        code(rig.publish(&volume, "pod").await),
        Code::FailedPrecondition
    );
    let staging = rig.path("staging").to_str().unwrap().to_owned();
    assert_eq!(
        code(rig.expand(&volume, &staging, 16 * MIB).await),
        Code::Internal
    );
}

#[tokio::test]
async fn without_azure_s_word_a_device_known_by_a_link_waits() {
    let mut rig = Rig::new();
    rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.metadata.silence();
    assert_eq!(code(rig.stage(&volume).await), Code::Unavailable);
    rig.metadata.clear();
    assert_eq!(
        code(rig.stage(&volume).await),
        Code::Unavailable,
        "the slot is empty"
    );
    assert_eq!(rig.health(&volume).await, ["DeviceNotReady"]);
}

#[tokio::test]
async fn a_slot_without_a_device_is_not_ready_nd_05() {
    let rig = Rig::new();
    assert_eq!(
        code(rig.stage(&volume("d", 5, "ext4")).await),
        Code::Unavailable
    );
}

#[tokio::test]
async fn one_device_serves_one_volume_nd_04() {
    let mut rig = Rig::new();
    rig.attach("one", 0, 16 * MIB);
    rig.stage_at(&volume("one", 0, "ext4"), "one-staging")
        .await
        .unwrap();
    rig.metadata.put(0, &id("two"));
    let refused = rig.stage(&volume("two", 0, "ext4")).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("disks/one"), "{refused}");
}

#[tokio::test]
async fn a_device_smaller_than_its_disk_is_not_ready() {
    let mut rig = Rig::new();
    rig.attach("d", 0, 16 * MIB);
    let mut volume = volume("d", 0, "ext4");
    volume
        .context
        .insert("requestedsizegib".to_owned(), "1".to_owned());
    assert_eq!(code(rig.stage(&volume).await), Code::Unavailable);
}

#[tokio::test]
async fn ids_of_nothing_are_not_found_and_can_be_cleaned_up() {
    let rig = Rig::new();
    let mut nothing = volume("d", 0, "ext4");
    nothing.id = "fake-vol-id".to_owned();
    assert_eq!(code(rig.stage(&nothing).await), Code::NotFound);
    assert_eq!(code(rig.publish(&nothing, "pod").await), Code::NotFound);
    assert_eq!(code(rig.stats(&nothing, "some/path").await), Code::NotFound);
    assert_eq!(
        code(rig.expand(&nothing, "some/path", MIB).await),
        Code::NotFound
    );
    rig.unpublish(&nothing, "pod").await.unwrap();
    rig.unstage(&nothing).await.unwrap();
    let known = volume("d", 0, "ext4");
    assert_eq!(code(rig.stats(&known, "some/path").await), Code::NotFound);
    assert_eq!(
        code(rig.stats(&known, "/").await),
        Code::Ok,
        "no record can tell"
    );
    assert_eq!(
        code(rig.expand(&known, "some/path", MIB).await),
        Code::NotFound
    );
    assert_eq!(
        code(rig.expand(&known, "/no/such/path", MIB).await),
        Code::NotFound
    );
}

#[tokio::test]
async fn what_is_missing_is_said_before_anything_else() {
    let rig = Rig::new();
    let mut volume = volume("d", 0, "ext4");
    volume.id.clear();
    assert_eq!(code(rig.stage(&volume).await), Code::InvalidArgument);
    assert_eq!(
        code(rig.publish(&volume, "pod").await),
        Code::InvalidArgument
    );
    assert_eq!(code(rig.unstage(&volume).await), Code::InvalidArgument);
    assert_eq!(
        code(rig.unpublish(&volume, "pod").await),
        Code::InvalidArgument
    );
    assert_eq!(code(rig.stats(&volume, "/").await), Code::InvalidArgument);
    assert_eq!(
        code(rig.expand(&volume, "/", 1).await),
        Code::InvalidArgument
    );
    volume.id = "fake-vol-id".to_owned();
    let publish = rig.publish_with(&volume, "pod", |request| {
        request.volume_capability = None;
        request.staging_target_path.clear();
    });
    assert_eq!(code(publish.await), Code::InvalidArgument);
}
