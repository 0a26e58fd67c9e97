//! Parameters of classes that reach Azure, or that only this volume feels.

use std::time::Duration;

use azcsi_proto::csi::v1;
use tokio::time::Instant;
use tonic::{Code, Request};
use v1::controller_server::Controller as _;

use crate::world::{World, create_request};

fn with(name: &str, parameters: &[(&str, &str)]) -> v1::CreateVolumeRequest {
    let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    v1::CreateVolumeRequest {
        parameters: parameters.iter().map(pair).collect(),
        ..create_request(name, 8)
    }
}

#[tokio::test(start_paused = true)]
async fn the_user_agent_of_a_class_reaches_azure_for_its_requests_only() {
    let world = World::new();
    let named = with("one", &[("userAgent", "Tenant-A/1.0")]);
    world.create(named).await.unwrap();
    let volume = world.create(with("two", &[])).await.unwrap();
    let snapshot = v1::CreateSnapshotRequest {
        name: "snap".to_owned(),
        source_volume_id: volume.volume_id,
        parameters: [("userAgent".to_owned(), "Backup/2".to_owned())].into(),
        ..Default::default()
    };
    let taken = world.controller.create_snapshot(Request::new(snapshot));
    taken.await.unwrap();
    let agents = world.line.agents("PUT");
    assert_eq!(agents.len(), 3);
    assert_eq!((&*agents[0], &*agents[2]), ("Tenant-A/1.0", "Backup/2"));
    assert!(agents[1].starts_with("azcsi/"), "{agents:?}");
    let refused = world.create(with("three", &[("userAgent", "a\nb")])).await;
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test(start_paused = true)]
async fn an_initial_delay_is_felt_by_its_own_volume_only() {
    let world = World::new();
    let delay = [("attachDiskInitialDelay", "20000")];
    let slow = world.create(with("slow", &delay)).await.unwrap();
    let quick = world.volume("quick", 8).await;
    let begin = Instant::now();
    let both = async {
        let slow = async {
            world.publish(&slow, "vm1").await.unwrap();
            begin.elapsed()
        };
        let quick = async {
            world.publish(&quick, "vm1").await.unwrap();
            begin.elapsed()
        };
        tokio::join!(slow, quick)
    };
    let (slow, quick) = both.await;
    let delay = Duration::from_secs(20);
    assert!(slow >= delay && quick < delay, "{slow:?} {quick:?}");
    let later = Instant::now();
    let third = world.volume("third", 8).await;
    world.publish(&third, "vm1").await.unwrap();
    assert!(later.elapsed() < delay, "nothing of it is left");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_exists_in_zones_only_gets_one_when_nobody_asks() {
    let world = World::new();
    let mut anywhere = with("v2", &[("skuName", "PremiumV2_LRS")]);
    anywhere.accessibility_requirements = None;
    let volume = world.create(anywhere).await.unwrap();
    let zone = &volume.accessible_topology[0].segments["topology.disk.csi.azure.com/zone"];
    assert!(zone.starts_with("eastus2-"), "{zone}");
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn an_export_of_a_snapshot_may_need_a_login() {
    let world = World::new();
    let volume = world.volume("d", 8).await;
    let snapshot = v1::CreateSnapshotRequest {
        name: "snap".to_owned(),
        source_volume_id: volume.volume_id,
        parameters: [(
            "dataAccessAuthMode".to_owned(),
            "AzureActiveDirectory".to_owned(),
        )]
        .into(),
        ..Default::default()
    };
    let taken = world.controller.create_snapshot(Request::new(snapshot));
    taken.await.unwrap();
    let azure = world.sim.world();
    let snapshot = azure.snapshots.values().next().unwrap();
    assert_eq!(snapshot.more["dataAccessAuthMode"], "AzureActiveDirectory");
}
