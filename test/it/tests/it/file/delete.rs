//! DeleteVolume: what was made for the volume, and nothing else.

use azcsi_file::controller::ports::Use;
use azcsi_sim::faults::Effect;
use tonic::Code;

use super::world::{SHARES, World};

const PVC: &str = "pvc-3f0e3b4a-1111-2222-3333-444455556666";

#[tokio::test(start_paused = true)]
async fn a_share_goes_and_goes_only_once() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let (done, requests) = world.requests_of(world.delete(&volume.volume_id)).await;
    done.unwrap();
    assert_eq!(world.shares(), []);
    assert_eq!(
        requests,
        [
            "GET storageAccounts/fileServices/shares",
            "DELETE storageAccounts/fileServices/shares"
        ]
    );
    world.restarted().delete(&volume.volume_id).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_no_share_is_gone_already_sn_01() {
    let world = World::new();
    for id in ["fake-vol-id", "rg#acct", "rg#noaccount#share###ns"] {
        world.delete(id).await.unwrap();
    }
    assert_eq!(
        world.delete("").await.unwrap_err().code(),
        Code::InvalidArgument
    );
}

#[tokio::test(start_paused = true)]
async fn one_claim_does_not_take_the_share_of_another_pr_17() {
    let world = World::new();
    let class = [("shareName", "common")];
    let (one, two) = (
        world.volume("pvc-1", 5, &class).await,
        world.volume("pvc-2", 5, &class).await,
    );
    assert_ne!(one.volume_id, two.volume_id);
    world.cluster.say_others(Use::Shared);
    world.delete(&one.volume_id).await.unwrap();
    world.cluster.say_others(Use::Unknown);
    world.delete(&one.volume_id).await.unwrap();
    world.cluster.say_others(Use::Alone);
    // The second did not make it.
    world.delete(&two.volume_id).await.unwrap();
    assert_eq!(world.shares().len(), 1);
    world.delete(&one.volume_id).await.unwrap();
    assert_eq!(world.shares().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_refused_delete_is_not_absence() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    for method in ["GET", "DELETE"] {
        let denied = Effect::Status {
            status: 403,
            code: "AuthorizationFailed".to_owned(),
            message: "no".to_owned(),
        };
        world.fault(method, SHARES, 50, denied);
        let status = world.delete(&volume.volume_id).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
        world.sim.clear_faults();
        assert_eq!(world.shares().len(), 1);
    }
}
