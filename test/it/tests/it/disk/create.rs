//! CreateVolume and DeleteVolume: never two disks for one name, never another disk for a name.

use azcsi_proto::csi::v1;
use azcsi_sim::faults::Effect;
use tonic::Code;

use crate::world::{GIB, Unusual, World, create_request};

#[tokio::test(start_paused = true)]
async fn the_same_request_gives_the_same_volume_and_one_disk() {
    let world = World::new();
    let first = world.volume("pvc-1", 5).await;
    let again = world.volume("pvc-1", 5).await;
    assert_eq!(first, again);
    assert_eq!(world.sim.world().disks.len(), 1);
    assert_eq!(first.capacity_bytes, 5 * GIB);
}

#[tokio::test(start_paused = true)]
async fn a_name_of_another_shape_is_refused_and_the_disk_left_alone_pr_04() {
    let world = World::new();
    world.volume("pvc-1", 5).await;
    let larger = world.create(create_request("pvc-1", 50)).await.unwrap_err();
    assert_eq!(larger.code(), Code::AlreadyExists);
    let mut premium = create_request("pvc-1", 5);
    premium
        .parameters
        .insert("skuName".to_owned(), "Premium_LRS".to_owned());
    assert_eq!(
        world.create(premium).await.unwrap_err().code(),
        Code::AlreadyExists
    );
    let disk = world.sim.world().disks.values().next().unwrap().clone();
    assert_eq!((disk.gib, disk.sku.as_str()), (5, "StandardSSD_LRS"));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_no_second_disk_pr_01() {
    let world = World::new();
    world.fault("PUT", "disks", 4, Effect::ResetAfter);
    let first = world.create(create_request("pvc-1", 5)).await;
    if let Err(status) = first {
        assert!(
            matches!(
                status.code(),
                Code::Unavailable | Code::Aborted | Code::DeadlineExceeded
            ),
            "{status:?}"
        );
    }
    world.sim.clear_faults();
    let volume = world.volume("pvc-1", 5).await;
    assert_eq!(world.sim.world().disks.len(), 1);
    world.delete(&volume.volume_id).await.unwrap();
    assert_eq!(world.sim.world().disks.len(), 0);
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_create_that_outlives_its_call_is_joined_by_the_retry_pr_02() {
    let world = World::with(Unusual::default());
    world.fault(
        "PUT",
        "disks",
        1,
        Effect::Slow {
            milliseconds: 45_000,
        },
    );
    let mut impatient = tonic::Request::new(create_request("pvc-1", 5));
    impatient.set_timeout(std::time::Duration::from_secs(30));
    use v1::controller_server::Controller as _;
    let status = world.controller.create_volume(impatient).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let (volume, requests) = world.requests_of(world.volume("pvc-1", 5)).await;
    assert_eq!(
        requests
            .iter()
            .filter(|class| *class == "PUT disks")
            .count(),
        0,
        "{requests:?}"
    );
    assert!(volume.volume_id.ends_with("/disks/pvc-1"));
}

#[tokio::test(start_paused = true)]
async fn throttling_is_never_a_final_answer() {
    let world = World::new();
    world.fault(
        "PUT",
        "disks",
        50,
        Effect::Throttle {
            retry_after: Some(600),
        },
    );
    let status = world.create(create_request("pvc-1", 5)).await.unwrap_err();
    assert!(
        matches!(status.code(), Code::Unavailable | Code::Aborted),
        "{status:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn bad_parameters_are_refused_before_azure_hears_of_them() {
    let world = World::new();
    for (key, value) in [
        ("skuName", "Premium"),
        ("cachingMode", "RO"),
        ("maxShares", "0"),
        ("diskIOPSReadWrite", "many"),
        ("noSuchKey", "x"),
        ("networkAccessPolicy", "Sometimes"),
    ] {
        let mut request = create_request("pvc-1", 5);
        request.parameters.insert(key.to_owned(), value.to_owned());
        let (outcome, requests) = world.requests_of(world.create(request)).await;
        let status = outcome.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{key}: {status:?}");
        assert!(status.message().contains(key), "{status:?}");
        assert_eq!(requests, Vec::<String>::new(), "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn sizes_that_no_disk_can_have_are_out_of_range() {
    let world = World::new();
    let mut narrow = create_request("pvc-1", 1);
    narrow.capacity_range = Some(v1::CapacityRange {
        required_bytes: GIB + 1,
        limit_bytes: GIB + 2,
    });
    assert_eq!(
        world.create(narrow).await.unwrap_err().code(),
        Code::OutOfRange
    );
    assert_eq!(
        world
            .create(create_request("pvc-1", 40_000))
            .await
            .unwrap_err()
            .code(),
        Code::OutOfRange
    );
    assert_eq!(world.sim.world().disks.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_attached_disk_is_not_deleted_pr_05() {
    let world = World::new();
    let volume = world.volume("pvc-1", 5).await;
    world.publish(&volume, "vm1").await.unwrap();
    let status = world.delete(&volume.volume_id).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    assert!(world.has_disk("pvc-1"));
    world.unpublish(&volume.volume_id, "vm1").await.unwrap();
    world.delete(&volume.volume_id).await.unwrap();
    world.delete(&volume.volume_id).await.unwrap();
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn deleting_what_is_no_disk_is_done_already() {
    let world = World::new();
    world.delete("fake-vol-id").await.unwrap();
    assert_eq!(
        world.delete("").await.unwrap_err().code(),
        Code::InvalidArgument
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_read_is_not_absence() {
    let world = World::new();
    let volume = world.volume("pvc-1", 5).await;
    let denied = Effect::Status {
        status: 403,
        code: "AuthorizationFailed".to_owned(),
        message: "no".to_owned(),
    };
    world.fault("DELETE", "disks", 50, denied);
    let status = world.delete(&volume.volume_id).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
    assert!(world.has_disk("pvc-1"));
}
