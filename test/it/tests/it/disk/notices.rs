//! What users are told without reading logs: what is refused, with the remedy, and what takes long.

use std::time::Duration;

use azcsi_proto::csi::v1;
use azcsi_sim::faults::Effect;
use tonic::{Code, Request};
use v1::controller_server::Controller as _;

use crate::world::{GIB, World};

const WRITE: &str = "virtualMachines/attachDetachDataDisks";

async fn grow(world: &World, volume: &v1::Volume, gib: i64) -> Result<(), tonic::Status> {
    let request = v1::ControllerExpandVolumeRequest {
        volume_id: volume.volume_id.clone(),
        capacity_range: Some(v1::CapacityRange {
            required_bytes: gib * GIB,
            limit_bytes: 0,
        }),
        ..Default::default()
    };
    let grown = world
        .controller
        .controller_expand_volume(Request::new(request));
    grown.await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_disk_on_another_node_is_told_with_both_nodes_and_the_remedy() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    world.publish(&volume, "vm1").await.unwrap();
    world.kubernetes.claim(&volume.volume_id, "vm1");
    let refused = world.publish(&volume, "flex_1").await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let told = world.told.of_volumes("DiskInUse");
    assert_eq!(told.len(), 1);
    for word in ["disks/d", "vm1", "flex_1", "out-of-service"] {
        assert!(told[0].contains(word), "{word} in {}", told[0]);
    }
    assert_eq!(world.told.nodes("DiskInUse"), ["flex_1"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_node_is_told_of() {
    let world = World::new();
    let mut codes = Vec::new();
    for number in 0..9 {
        let volume = world.volume(&format!("d{number}"), 4).await;
        codes.push(world.publish(&volume, "vm1").await.is_ok());
    }
    assert_eq!(codes.iter().filter(|ok| **ok).count(), 8);
    assert_eq!(world.told.nodes("NodeDiskLimit"), ["vm1"]);
    let told = world.told.of_volumes("NodeDiskLimit");
    assert!(told[0].contains("allows 8") && told[0].contains("larger machine size"));
}

#[tokio::test(start_paused = true)]
async fn throttling_and_missing_rights_are_told_with_azure_s_own_code() {
    for (effect, reason, word) in [
        (
            Effect::Throttle {
                retry_after: Some(5_000),
            },
            "AzureThrottled",
            "429",
        ),
        (
            Effect::Status {
                status: 403,
                code: "AuthorizationFailed".to_owned(),
                message: "no".to_owned(),
            },
            "AzureDenied",
            "AuthorizationFailed",
        ),
    ] {
        let world = World::new();
        let volume = world.volume("d", 4).await;
        world.fault("POST", WRITE, 9, effect);
        world.publish(&volume, "vm1").await.unwrap_err();
        let told = world.told.of_volumes(reason);
        assert_eq!(told.len(), 1, "{:?}", world.told.all());
        assert!(told[0].contains(word), "{}", told[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_takes_long_is_told_once_and_goes_on() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    let slow = Effect::Slow {
        milliseconds: 150_000,
    };
    world.fault("POST", WRITE, 1, slow);
    world.publish(&volume, "vm1").await.unwrap();
    assert_eq!(world.told.of_volumes("AttachSlow").len(), 1);
    assert_eq!(world.told.nodes("AttachSlow"), ["vm1"]);
    world.unpublish(&volume.volume_id, "vm1").await.unwrap();
    assert!(world.told.of_volumes("DetachSlow").is_empty());
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_refused_growth_is_told_and_a_granted_one_is_not() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    grow(&world, &volume, 8).await.unwrap();
    assert_eq!(world.told.all(), []);
    world.publish(&volume, "vm1").await.unwrap();
    let refused = grow(&world, &volume, 5000).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let told = world.told.of_volumes("ExpansionRefused");
    assert!(told[0].contains("4095 GiB"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dangling_attachment_is_told_of() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    world.publish(&volume, "vm1").await.unwrap();
    world.publish(&volume, "flex_1").await.unwrap();
    assert_eq!(world.told.of_volumes("DanglingAttachment").len(), 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.assert_clean();
}
