//! Another disk takes the slot of a volume, and the node plugin is told the old slot.

use azcsi_rig::rig::Rig;
use tonic::Code;

use super::world::{Volume, node, run, until_done, write};

async fn stage(rig: &Rig, volume: &Volume) {
    let client = node(rig);
    until_done("stage", || {
        let (mut client, request) = (client.clone(), volume.stage());
        async move { client.node_stage_volume(request).await }
    })
    .await;
}

async fn publish(rig: &Rig, volume: &Volume) {
    let mut client = node(rig);
    client.node_publish_volume(volume.publish()).await.unwrap();
}

async fn take_down(rig: &Rig, volume: &Volume) {
    let mut client = node(rig);
    client
        .node_unpublish_volume(volume.unpublish())
        .await
        .unwrap();
    client.node_unstage_volume(volume.unstage()).await.unwrap();
}

/// Gives the slot of the first volume to a second one, which holds data, and checks that it still
/// does at the end.
async fn reuse(rig: &mut Rig, first: &Volume, attack: impl AsyncFnOnce(&Rig)) {
    first.detach(rig).await;
    let second = Volume::new(rig, "second", "ext4").await;
    assert_eq!(first.published["LUN"], second.published["LUN"]);
    stage(rig, &second).await;
    publish(rig, &second).await;
    let bytes = write(&second.target.join("data"), 2);
    take_down(rig, &second).await;
    attack(rig).await;
    stage(rig, &second).await;
    publish(rig, &second).await;
    assert!(std::fs::read(second.target.join("data")).unwrap() == bytes);
    take_down(rig, &second).await;
}

#[tokio::test]
async fn a_volume_is_never_staged_from_a_slot_that_was_given_to_another() {
    run(async |rig: &mut Rig| {
        let first = Volume::new(rig, "first", "ext4").await;
        reuse(rig, &first, async |rig: &Rig| {
            let refused = node(rig)
                .node_stage_volume(first.stage())
                .await
                .unwrap_err();
            assert_eq!(refused.code(), Code::FailedPrecondition, "{refused:?}");
            assert!(refused.message().contains("second") || refused.message().contains("disks/"));
            assert!(!first.staging.exists());
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_volume_whose_disk_was_pulled_is_not_published_from_its_successor() {
    run(async |rig: &mut Rig| {
        let first = Volume::new(rig, "first", "ext4").await;
        stage(rig, &first).await;
        let (stage, publish) = (first.stage(), first.publish());
        reuse(rig, &first, async |rig: &Rig| {
            let refused = node(rig).node_publish_volume(publish).await.unwrap_err();
            assert_eq!(refused.code(), Code::FailedPrecondition, "{refused:?}");
            assert!(!first.target.exists());
            let refused = node(rig).node_stage_volume(stage).await.unwrap_err();
            assert_eq!(refused.code(), Code::FailedPrecondition, "{refused:?}");
            // What is left of the first can still be taken away.
            let gone = node(rig).node_unstage_volume(first.unstage()).await;
            assert!(gone.is_ok(), "{gone:?}");
            assert!(!first.staging.exists());
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_metadata_service_that_refuses_for_a_while_only_delays_a_format() {
    run(async |rig: &mut Rig| {
        let volume = Volume::new(rig, "first", "ext4").await;
        let refuse = serde_json::json!({"count": 5});
        let control = rig.control.clone();
        control.post("/_sim/imds/throttle", &refuse).await.unwrap();
        node(rig).node_stage_volume(volume.stage()).await.unwrap();
        publish(rig, &volume).await;
        take_down(rig, &volume).await;
    })
    .await;
}
