//! Conversions to Premium v2 go on in the background: they are watched, marked and told of.

use std::time::Duration;

use azcsi_disk::controller::ports::Hold;
use azcsi_proto::csi::v1;
use tonic::Request;
use v1::controller_server::Controller as _;

use crate::world::{Unusual, World, create_request};

async fn convert(world: &World, volume: &v1::Volume, sku: &str) {
    let request = v1::ControllerModifyVolumeRequest {
        volume_id: volume.volume_id.clone(),
        mutable_parameters: [("skuName".to_owned(), sku.to_owned())].into(),
        ..Default::default()
    };
    let modified = world
        .controller
        .controller_modify_volume(Request::new(request));
    modified.await.unwrap();
}

/// A world in which copies take their time.
fn slow_world() -> World {
    World::with(Unusual {
        profile: azcsi_sim::Profile::Azure,
        ..Unusual::default()
    })
}

fn started(world: &World) -> usize {
    world.told.of_volumes("SKUMigrationStarted").len()
}

#[tokio::test(start_paused = true)]
async fn a_conversion_is_watched_to_its_end() {
    let world = slow_world();
    let mut request = create_request("d", 64);
    request.parameters = [("skuName".to_owned(), "Premium_LRS".to_owned())].into();
    let volume = world.create(request).await.unwrap();
    convert(&world, &volume, "PremiumV2_LRS").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.kubernetes.marked().len(), 1);
    assert_eq!(started(&world), 1);
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    assert_eq!(world.told.of_volumes("SKUMigrationCompleted").len(), 1);
    assert!(world.told.of_volumes("SKUMigrationTimeout").is_empty());
    assert_eq!(world.kubernetes.marked(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn other_changes_are_not_watched() {
    let world = World::new();
    let volume = world.volume("d", 64).await;
    convert(&world, &volume, "Premium_LRS").await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!((started(&world), world.kubernetes.marked().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_restart_goes_on_and_two_processes_do_not_watch_the_same() {
    for (hold, told) in [(Hold::Ours, 1), (Hold::Others, 0)] {
        let world = World::new();
        let mut request = create_request("d", 64);
        request.parameters = [("skuName".to_owned(), "PremiumV2_LRS".to_owned())].into();
        let volume = world.create(request).await.unwrap();
        world.kubernetes.mark(&volume.volume_id, hold);
        tokio::spawn(world.migration.clone().recover());
        tokio::time::sleep(Duration::from_secs(1800)).await;
        let completed = world.told.of_volumes("SKUMigrationCompleted").len();
        assert_eq!(completed, told, "{hold:?}");
        assert_eq!(world.kubernetes.marked().is_empty(), hold == Hold::Ours);
    }
}
