//! Operations that Azure accepted and that then failed: what they leave behind is found again.

use azcsi_sim::faults::Effect;
use tonic::Code;

use crate::world::{World, create_request};

fn failure(code: &str) -> Effect {
    Effect::FailAfterAccept {
        code: code.to_owned(),
        message: "it did not work".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_a_failed_create_left_behind_is_not_forgotten_pr_01() {
    for code in [
        "AllocationFailed",
        "OperationNotAllowed",
        "InvalidParameter",
    ] {
        let world = World::new();
        world.fault("PUT", "disks", 1, failure(code));
        let status = world.create(create_request("pvc-1", 4)).await.unwrap_err();
        assert!(world.has_disk("pvc-1"), "{code}");
        assert_eq!(status.code(), Code::Unavailable, "{code}: {status:?}");
        world.volume("pvc-1", 4).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_a_failed_detach_left_half_way_out_can_be_attached_again_ad_19() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    world.publish(&volume, "vm1").await.unwrap();
    world.fault(
        "POST",
        "virtualMachines/attachDetachDataDisks",
        1,
        failure("InternalExecutionError"),
    );
    world.unpublish(&volume.volume_id, "vm1").await.unwrap_err();
    let lun = world.publish(&volume, "vm1").await.unwrap();
    assert_eq!(world.disks_on("vm1")["pvc-1"], u32::from(lun.get()));
    world.assert_clean();
}

const WRITES: [(&str, &str); 2] = [
    ("vm1", "virtualMachines/attachDetachDataDisks"),
    (
        "uni000000",
        "virtualMachineScaleSets/virtualMachines/attachDetachDataDisks",
    ),
];

#[tokio::test(start_paused = true)]
async fn a_disk_that_a_preempted_attach_only_listed_is_not_reported_as_attached_ad_16() {
    for (node, kind) in WRITES {
        let world = World::new();
        let volume = world.volume("pvc-1", 4).await;
        world.fault("POST", kind, 10, Effect::Preempted);
        world.publish(&volume, node).await.unwrap_err();
        assert!(world.disks_on(node).contains_key("pvc-1"), "{node}");
        world.sim.clear_faults();
        let lun = world.publish(&volume, node).await.unwrap();
        assert_eq!(world.disks_on(node)["pvc-1"], u32::from(lun.get()));
        let disks = world.sim.world().disks;
        assert!(disks.values().all(|disk| !disk.owners.is_empty()), "{node}");
        world.assert_clean();
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_disk_that_a_preempted_attach_left_on_the_list_blocks_no_other_ad_16() {
    for (node, kind) in WRITES {
        let world = World::new();
        let lost = world.volume("pvc-lost", 4).await;
        world.fault("POST", kind, 10, Effect::Preempted);
        world.publish(&lost, node).await.unwrap_err();
        world.sim.clear_faults();
        world.delete(&lost.volume_id).await.unwrap();
        assert!(world.disks_on(node).contains_key("pvc-lost"), "{node}");
        let next = world.volume("pvc-next", 4).await;
        let lun = world.publish(&next, node).await.unwrap();
        let disks = world.disks_on(node);
        assert_eq!(
            disks,
            [("pvc-next".to_owned(), u32::from(lun.get()))].into()
        );
        world.assert_clean();
    }
}
