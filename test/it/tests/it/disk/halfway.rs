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
