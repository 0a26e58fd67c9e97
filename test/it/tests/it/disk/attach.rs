//! ControllerPublishVolume and ControllerUnpublishVolume: slots, owners, storms, lost answers.

use std::collections::BTreeSet;

use azcsi_disk::controller::ports::NodeState;
use azcsi_proto::csi::v1;
use azcsi_sim::faults::Effect;
use futures_util::future::join_all;
use tonic::Code;

use crate::world::{NODES, World, create_request, shared_block};

#[tokio::test(start_paused = true)]
async fn every_kind_of_machine_attaches_and_detaches() {
    let world = World::new();
    for node in NODES {
        let volume = world.volume(&format!("pvc-{node}"), 4).await;
        let lun = world.publish(&volume, node).await.unwrap();
        let name = format!("pvc-{node}");
        assert_eq!(
            world.disks_on(node).get(&name),
            Some(&u32::from(lun.get())),
            "{node}"
        );
        assert_eq!(
            world.publish(&volume, node).await.unwrap(),
            lun,
            "again on {node}"
        );
        world.unpublish(&volume.volume_id, node).await.unwrap();
        world.unpublish(&volume.volume_id, node).await.unwrap();
        assert!(world.disks_on(node).is_empty());
    }
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn volumes_that_arrive_together_get_slots_of_their_own_ad_01() {
    let world = World::new();
    let mut volumes = Vec::new();
    for number in 0..8 {
        volumes.push(world.volume(&format!("pvc-{number}"), 4).await);
    }
    let (luns, requests) = world
        .requests_of(join_all(
            volumes
                .iter()
                .map(|volume| world.publish(volume, "uni000000")),
        ))
        .await;
    let luns: BTreeSet<u8> = luns.into_iter().map(|lun| lun.unwrap().get()).collect();
    assert_eq!(luns.len(), 8);
    let writes = requests
        .iter()
        .filter(|class| class.starts_with("POST"))
        .count();
    assert!(writes <= 2, "{writes} writes: {requests:?}");
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn attach_and_detach_share_one_write() {
    let world = World::new();
    let old = world.volume("old", 4).await;
    let new = world.volume("new", 4).await;
    world.publish(&old, "vm1").await.unwrap();
    let both = async {
        tokio::join!(
            world.unpublish(&old.volume_id, "vm1"),
            world.publish(&new, "vm1")
        )
    };
    let ((detached, attached), requests) = world.requests_of(both).await;
    detached.unwrap();
    attached.unwrap();
    assert_eq!(world.disks_on("vm1").keys().collect::<Vec<_>>(), ["new"]);
    let writes = requests
        .iter()
        .filter(|class| class.starts_with("POST"))
        .count();
    assert!(writes <= 2, "{requests:?}");
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn the_slot_that_is_answered_is_the_one_that_azure_used_ad_02() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    world.fault(
        "POST",
        "virtualMachines/attachDetachDataDisks",
        4,
        Effect::ResetAfter,
    );
    let first = world.publish(&volume, "vm1").await;
    world.sim.clear_faults();
    let second = world.publish(&volume, "vm1").await.unwrap();
    let real = world.disks_on("vm1")["pvc-1"];
    assert_eq!(u32::from(second.get()), real);
    if let Ok(first) = first {
        assert_eq!(u32::from(first.get()), real);
    }
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_kubernetes_still_claims_is_avoided_ad_03() {
    let world = World::new();
    world.kubernetes.claim_slot("vm1", 0);
    world.kubernetes.claim_slot("vm1", 1);
    let volume = world.volume("pvc-1", 4).await;
    assert_eq!(world.publish(&volume, "vm1").await.unwrap().get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_another_node_uses_is_not_taken_away_ad_04() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    world.publish(&volume, "uni000000").await.unwrap();
    world.kubernetes.claim(&volume.volume_id, "uni000000");
    let status = world.publish(&volume, "uni000001").await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    assert!(status.message().contains("uni000000"), "{status:?}");
    assert_eq!(world.disks_on("uni000000").len(), 1);
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_dangling_attachment_is_moved_within_one_call_ad_04() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    world.publish(&volume, "uni000000").await.unwrap();
    world.kubernetes.claim(&volume.volume_id, "uni000001");
    let lun = world.publish(&volume, "uni000001").await.unwrap();
    assert!(world.disks_on("uni000000").is_empty());
    assert_eq!(world.disks_on("uni000001")["pvc-1"], u32::from(lun.get()));
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_full_node_is_exhausted_and_keeps_what_it_has() {
    let world = World::new();
    // Standard_D4s_v5 takes eight.
    for number in 0..8 {
        let volume = world.volume(&format!("pvc-{number}"), 4).await;
        world.publish(&volume, "vm1").await.unwrap();
    }
    let one_more = world.volume("pvc-8", 4).await;
    let status = world.publish(&one_more, "vm1").await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert_eq!(world.disks_on("vm1").len(), 8);
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn one_bad_disk_does_not_fail_the_others_ad_11() {
    let world = World::new();
    let good = world.volume("good", 4).await;
    let mut elsewhere = create_request("bad", 4);
    for topology in &mut elsewhere
        .accessibility_requirements
        .as_mut()
        .unwrap()
        .requisite
    {
        topology
            .segments
            .values_mut()
            .for_each(|zone| *zone = "eastus2-2".to_owned());
    }
    elsewhere
        .accessibility_requirements
        .as_mut()
        .unwrap()
        .preferred
        .clear();
    let bad = world.create(elsewhere).await.unwrap();
    let (good, bad) = tokio::join!(world.publish(&good, "vm1"), world.publish(&bad, "vm1"));
    good.unwrap();
    let status = bad.unwrap_err();
    assert!(
        !matches!(status.code(), Code::Ok | Code::NotFound),
        "{status:?}"
    );
    assert!(status.message().contains("zone"), "{status:?}");
    assert_eq!(world.disks_on("vm1").keys().collect::<Vec<_>>(), ["good"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_unknown_is_not_found_and_a_missing_field_is_invalid() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    assert_eq!(
        world
            .publish(&volume, "no-such-node")
            .await
            .unwrap_err()
            .code(),
        Code::NotFound
    );
    let mut unknown = volume.clone();
    unknown.volume_id = "fake-vol-id".to_owned();
    assert_eq!(
        world.publish(&unknown, "vm1").await.unwrap_err().code(),
        Code::NotFound
    );
    assert_eq!(
        world.publish(&volume, "").await.unwrap_err().code(),
        Code::InvalidArgument
    );
    world.delete(&volume.volume_id).await.unwrap();
    assert_eq!(
        world.publish(&volume, "vm1").await.unwrap_err().code(),
        Code::NotFound
    );
    world.unpublish(&volume.volume_id, "vm1").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn throttling_never_leads_to_a_forced_detach_ad_10() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    world.publish(&volume, "vm1").await.unwrap();
    world.kubernetes.set_state("vm1", NodeState::NotReady);
    world.fault(
        "POST",
        "virtualMachines/attachDetachDataDisks",
        50,
        Effect::Throttle {
            retry_after: Some(900),
        },
    );
    let status = world.unpublish(&volume.volume_id, "vm1").await.unwrap_err();
    assert!(
        matches!(
            status.code(),
            Code::Unavailable | Code::Aborted | Code::DeadlineExceeded
        ),
        "{status:?}"
    );
    assert_eq!(world.disks_on("vm1").len(), 1);
    world.sim.clear_faults();
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_preempted_write_is_sent_again_ad_16() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    world.fault(
        "POST",
        "virtualMachines/attachDetachDataDisks",
        1,
        Effect::Preempted,
    );
    let lun = world.publish(&volume, "vm1").await.unwrap();
    assert_eq!(world.disks_on("vm1")["pvc-1"], u32::from(lun.get()));
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_shared_disk_is_on_two_nodes_and_leaves_each_alone_ad_23() {
    use v1::controller_server::Controller as _;
    let world = World::new();
    let mut request = create_request("shared", 4);
    request.volume_capabilities = vec![shared_block()];
    request
        .parameters
        .insert("maxShares".to_owned(), "2".to_owned());
    request
        .parameters
        .insert("skuName".to_owned(), "Premium_LRS".to_owned());
    let volume = world.create(request).await.unwrap();
    for node in ["uni000000", "vm1"] {
        let mut request = World::publish_request(&volume, node);
        request.volume_capability = Some(shared_block());
        world
            .controller
            .controller_publish_volume(tonic::Request::new(request))
            .await
            .unwrap();
    }
    world.unpublish(&volume.volume_id, "vm1").await.unwrap();
    assert_eq!(world.disks_on("uni000000").len(), 1);
    assert!(world.disks_on("vm1").is_empty());
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_lone_attach_with_warm_caches_is_one_write_and_no_read() {
    let world = World::new();
    let first = world.volume("pvc-1", 4).await;
    world.publish(&first, "vm1").await.unwrap();
    let second = world.volume("pvc-2", 4).await;
    let (lun, requests) = world.requests_of(world.publish(&second, "vm1")).await;
    lun.unwrap();
    let other: Vec<_> = requests
        .iter()
        .filter(|class| {
            !class.ends_with("operation") && !class.starts_with("POST virtualMachines/attachDetach")
        })
        .collect();
    assert_eq!(other, Vec::<&String>::new(), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_new_controller_process_finds_what_the_old_one_attached() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    let lun = world.publish(&volume, "uni000000").await.unwrap();
    let next = world.restarted();
    assert_eq!(next.publish(&volume, "uni000000").await.unwrap(), lun);
    next.unpublish(&volume.volume_id, "uni000000")
        .await
        .unwrap();
    assert!(next.disks_on("uni000000").is_empty());
    next.assert_clean();
}
