//! CreateVolume: one share for one name, in an account that fits, and no account left behind.

use azcsi_sim::faults::Effect;
use tonic::Code;

use super::world::{GIB, GROUP, SHARES, World, create_request};

const PVC: &str = "pvc-3f0e3b4a-1111-2222-3333-444455556666";

#[tokio::test(start_paused = true)]
async fn a_volume_is_a_share_and_its_id_tells_where() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let account = world.accounts().remove(0);
    assert_eq!(
        volume.volume_id,
        format!("{GROUP}#{account}#{PVC}###default")
    );
    assert_eq!(volume.capacity_bytes, 5 * GIB);
    assert_eq!(volume.volume_context["secretnamespace"], "default");
    assert_eq!(world.shares(), [(PVC.to_owned(), 5)]);
    let secret = format!("default/azure-storage-account-{account}-secret");
    assert_eq!(world.cluster.secrets(), [(secret, account)]);
}

#[tokio::test(start_paused = true)]
async fn the_same_request_is_the_same_volume_even_to_another_process() {
    let world = World::new();
    let first = world.volume(PVC, 5, &[]).await;
    assert_eq!(world.volume(PVC, 5, &[]).await, first);
    assert_eq!(world.restarted().volume(PVC, 5, &[]).await, first);
    assert_eq!((world.accounts().len(), world.shares().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_name_of_another_shape_is_refused_and_the_share_left_alone_pr_04() {
    let world = World::new();
    world.volume(PVC, 5, &[("accessTier", "Hot")]).await;
    for (gib, class) in [
        (50, &[("accessTier", "Hot")][..]),
        (5, &[("accessTier", "Cool")]),
    ] {
        let work = world.create(create_request(PVC, gib, class));
        let (outcome, requests) = world.requests_of(work).await;
        assert_eq!(
            outcome.unwrap_err().code(),
            Code::AlreadyExists,
            "{gib} {class:?}"
        );
        assert!(
            !requests.iter().any(|one| one.starts_with("PUT")),
            "{requests:?}"
        );
    }
    assert_eq!(world.shares(), [(PVC.to_owned(), 5)]);
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_create_are_few_au_05() {
    let world = World::new();
    world.volume("pvc-0", 5, &[]).await;
    let (_, requests) = world.requests_of(world.volume("pvc-1", 5, &[])).await;
    assert_eq!(
        requests,
        [
            "GET storageAccounts/fileServices/shares",
            "PUT storageAccounts/fileServices/shares"
        ]
    );
    let other = world.restarted();
    let (_, requests) = other.requests_of(other.volume("pvc-2", 5, &[])).await;
    assert_eq!(
        requests,
        [
            "GET storageAccounts",
            "GET storageAccounts/fileServices/shares",
            "PUT storageAccounts/fileServices/shares",
            "POST storageAccounts/listKeys"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn many_at_once_make_one_account_and_list_once() {
    let world = World::new();
    let names: Vec<String> = (0..20).map(|n| format!("pvc-{n}")).collect();
    let all = names.iter().map(|name| world.volume(name, 5, &[]));
    let (_, requests) = world.requests_of(futures_util::future::join_all(all)).await;
    assert_eq!((world.accounts().len(), world.shares().len()), (1, 20));
    let count = |class: &str| requests.iter().filter(|one| *one == class).count();
    assert_eq!(count("GET storageAccounts"), 1);
    assert_eq!(count("POST storageAccounts/listKeys"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_one_account_and_one_share_pr_01() {
    for (kind, method) in [("storageAccounts", "PUT"), (SHARES, "PUT"), (SHARES, "GET")] {
        let world = World::new();
        world.fault(method, kind, 4, Effect::ResetAfter);
        if let Err(status) = world.create(create_request(PVC, 5, &[])).await {
            let retried = [Code::Unavailable, Code::Aborted, Code::DeadlineExceeded];
            assert!(retried.contains(&status.code()), "{kind}: {status:?}");
        }
        world.sim.clear_faults();
        world.restarted().volume(PVC, 5, &[]).await;
        assert_eq!(
            (world.accounts().len(), world.shares().len()),
            (1, 1),
            "{kind}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_account_is_left_for_the_next_one_and_remembered_pr_20() {
    let world = World::new();
    let first = world.volume("pvc-0", 5, &[]).await;
    let full = Effect::Status {
        status: 409,
        code: "TotalSharesProvisionedCapacityExceedsAccountLimit".to_owned(),
        message: "full".to_owned(),
    };
    world.fault("PUT", SHARES, 1, full);
    let second = world.volume("pvc-1", 5, &[]).await;
    assert_eq!(world.accounts().len(), 2);
    let account = |id: &str| id.split('#').nth(1).unwrap().to_owned();
    assert_ne!(account(&first.volume_id), account(&second.volume_id));
    let third = world.restarted().volume("pvc-2", 5, &[]).await;
    assert_eq!(account(&third.volume_id), account(&second.volume_id));
    // A try that left its share in the account before it was marked is found there.
    let again = world.restarted().volume("pvc-0", 5, &[]).await;
    assert_eq!(again.volume_id, first.volume_id);
}

#[tokio::test(start_paused = true)]
async fn every_account_full_is_no_room_and_ends() {
    let world = World::new();
    let full = Effect::Status {
        status: 409,
        code: "TotalSharesCountExceedsAccountLimit".to_owned(),
        message: "full".to_owned(),
    };
    world.fault("PUT", SHARES, 50, full);
    let status = world.create(create_request(PVC, 5, &[])).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert_eq!(world.accounts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn bad_parameters_are_refused_before_azure_hears_of_them() {
    let world = World::new();
    for (key, value) in [
        ("skuName", "Ultra"),
        ("protocol", "ftp"),
        ("shareName", "No"),
        ("x", "y"),
    ] {
        let work = world.create(create_request(PVC, 5, &[(key, value)]));
        let (outcome, requests) = world.requests_of(work).await;
        let status = outcome.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{key}");
        assert!(status.message().contains(key), "{status:?}");
        assert_eq!(requests, Vec::<String>::new(), "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn throttling_is_never_a_final_answer() {
    let world = World::new();
    let effect = Effect::Throttle {
        retry_after: Some(600),
    };
    world.fault("PUT", SHARES, 50, effect);
    let status = world.create(create_request(PVC, 5, &[])).await.unwrap_err();
    assert!(
        matches!(status.code(), Code::Unavailable | Code::Aborted),
        "{status:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn sizes_are_real_and_limits_are_kept_pr_19() {
    let world = World::new();
    let premium = [("skuName", "Premium_LRS")];
    assert_eq!(
        world.volume("pvc-a", 1, &premium).await.capacity_bytes,
        100 * GIB
    );
    assert_eq!(
        world
            .volume("pvc-b", 1, &[("skuName", "PremiumV2_LRS")])
            .await
            .capacity_bytes,
        32 * GIB
    );
    let mut narrow = create_request("pvc-c", 1, &premium);
    narrow.capacity_range.as_mut().unwrap().limit_bytes = 50 * GIB;
    assert_eq!(
        world.create(narrow).await.unwrap_err().code(),
        Code::OutOfRange
    );
}
