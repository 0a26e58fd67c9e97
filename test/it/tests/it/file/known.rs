//! Problems that users of other drivers reported, played through: ids, deletes, rights, bodies.

use azcsi_proto::csi::v1;
use azcsi_sim::faults::Effect;
use tonic::Code;
use v1::controller_server::Controller as _;

use super::world::{GIB, GROUP, SHARES, SUBSCRIPTION, World, create_request};

const PVC: &str = "pvc-3f0e3b4a-1111-2222-3333-444455556666";

fn denied(action: &str) -> Effect {
    Effect::Status {
        status: 403,
        code: "AuthorizationFailed".to_owned(),
        message: format!(
            "The client 'c' with object id 'o' does not have authorization to perform action '{action}' over scope '/subscriptions/s' or the scope is invalid."
        ),
    }
}

#[tokio::test(start_paused = true)]
async fn a_hand_written_id_is_answered_with_the_form_that_is_needed_id_05() {
    let world = World::new();
    let status = world.snapshot("s", "acct_share").await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("<account>#<share>"), "{status:?}");
    let (done, requests) = world.requests_of(world.delete("acct_share")).await;
    done.unwrap();
    assert!(requests.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_id_is_short_enough_for_a_path_id_07() {
    let world = World::new();
    for class in [
        &[][..],
        &[
            ("useDataPlaneAPI", "true"),
            ("secretNamespace", "kube-system"),
        ],
        &[("shareName", "common"), ("folderPerVolume", "true")],
    ] {
        let volume = world.volume(PVC, 5, class).await;
        let id = &volume.volume_id;
        assert!(id.len() <= 255, "{id} has {} bytes", id.len());
    }
}

#[tokio::test(start_paused = true)]
async fn every_spelling_of_an_id_is_the_same_share_id_01() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let account = world.accounts().remove(0);
    let upper = format!(
        "{}#{}#{PVC}###default#{}",
        GROUP.to_uppercase(),
        account.to_uppercase(),
        SUBSCRIPTION.to_uppercase()
    );
    let lower = volume.volume_id.to_lowercase();
    for id in [&lower, &volume.volume_id] {
        let request = tonic::Request::new(v1::ControllerGetVolumeRequest {
            volume_id: id.clone(),
        });
        world
            .controller
            .controller_get_volume(request)
            .await
            .unwrap();
    }
    // Names of accounts have no upper case: such an id names nothing, and nothing is deleted by it.
    world.delete(&upper).await.unwrap();
    let spelt = upper.replace(&account.to_uppercase(), &account);
    world.delete(&spelt).await.unwrap();
    assert!(world.shares().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_off_never_undoes_what_its_retry_made_pr_02() {
    let world = World::new();
    world.fault(
        "PUT",
        SHARES,
        1,
        Effect::Timeout {
            milliseconds: 600_000,
        },
    );
    let request = create_request(PVC, 5, &[]);
    let (first, second) = futures_util::future::join(
        world.create(request.clone()),
        world.restarted().create(request),
    )
    .await;
    assert!(first.is_ok() || second.is_ok());
    let volume = world.volume(PVC, 5, &[]).await;
    for made in [first, second].into_iter().flatten() {
        assert_eq!(made.volume_id, volume.volume_id);
    }
    assert_eq!((world.accounts().len(), world.shares().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_with_its_group_or_account_is_deleted_pr_05() {
    for code in [
        "ResourceNotFound",
        "ParentResourceNotFound",
        "ResourceGroupNotFound",
        "ShareNotFound",
    ] {
        let world = World::new();
        let volume = world.volume(PVC, 5, &[]).await;
        for method in ["GET", "DELETE"] {
            let gone = Effect::Status {
                status: 404,
                code: code.to_owned(),
                message: "gone".to_owned(),
            };
            world.fault(method, SHARES, 1, gone);
            let (done, requests) = world.requests_of(world.delete(&volume.volume_id)).await;
            done.unwrap_or_else(|status| panic!("{code} {method}: {status:?}"));
            assert!(requests.len() <= 2, "{requests:?}");
            world.sim.clear_faults();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_named_pr_05() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let lock = Effect::Status {
        status: 409,
        code: "ScopeLocked".to_owned(),
        message:
            "The scope cannot perform delete operation because following scope(s) are locked: 'x'."
                .to_owned(),
    };
    world.fault("DELETE", SHARES, 50, lock);
    let status = world.delete(&volume.volume_id).await.unwrap_err();
    assert!(status.message().contains("locked"), "{status:?}");
    assert_ne!(status.code(), Code::Internal, "{status:?}");
    assert_eq!(world.shares().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_names_action_and_scope_in_every_rpc_pr_13() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let id = volume.volume_id.as_str();
    for (method, action) in [
        (
            "GET",
            "Microsoft.Storage/storageAccounts/fileServices/shares/read",
        ),
        (
            "DELETE",
            "Microsoft.Storage/storageAccounts/fileServices/shares/delete",
        ),
    ] {
        world.fault(method, SHARES, 50, denied(action));
        let status = world.delete(id).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
        assert!(status.message().contains(action), "{status:?}");
        assert!(status.message().len() <= 990, "{}", status.message().len());
        world.sim.clear_faults();
    }
    let action = "Microsoft.Storage/storageAccounts/write";
    let other = World::new();
    other.fault("PUT", "storageAccounts", 50, denied(action));
    let status = other.create(create_request(PVC, 5, &[])).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
    assert!(status.message().contains(action), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_share_of_another_group_is_worked_on_where_its_id_says_sn_04() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let taken = world
        .snapshot("snapshot-1", &volume.volume_id)
        .await
        .unwrap();
    let elsewhere = "99999999-2222-3333-4444-555555555555";
    let account = world.accounts().remove(0);
    let other = format!("other#{account}#{PVC}###default#{elsewhere}");
    let before = world.sim.requests(0).last().map_or(0, |last| last.number);
    let status = world.snapshot("snapshot-2", &other).await.unwrap_err();
    // A subscription that the token does not show proves nothing about the share.
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let seen = world.sim.requests(before);
    assert!(!seen.is_empty());
    for request in seen {
        assert!(request.path.contains(elsewhere), "{}", request.path);
        assert!(
            request
                .path
                .to_lowercase()
                .contains("/resourcegroups/other/")
        );
    }
    assert!(
        taken.snapshot_id.contains(SUBSCRIPTION),
        "{}",
        taken.snapshot_id
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_makes_no_sense_is_tried_again_au_10() {
    for effect in [
        Effect::HtmlBody { status: 200 },
        Effect::HtmlBody { status: 502 },
        Effect::TruncatedBody,
        Effect::ResetBefore,
    ] {
        for (method, kind) in [
            ("GET", "storageAccounts"),
            ("PUT", "storageAccounts"),
            ("GET", SHARES),
            ("PUT", SHARES),
            ("POST", "storageAccounts/listKeys"),
        ] {
            let world = World::new();
            world.fault(method, kind, 1, effect.clone());
            if let Err(status) = world.create(create_request(PVC, 5, &[])).await {
                let retried = [Code::Unavailable, Code::Aborted, Code::DeadlineExceeded];
                assert!(
                    retried.contains(&status.code()),
                    "{kind} {effect:?}: {status:?}"
                );
            }
            world.restarted().volume(PVC, 5, &[]).await;
            let left = (world.accounts().len(), world.shares().len());
            assert_eq!(left, (1, 1), "{method} {kind} {effect:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_ran_out_is_renewed_once_au_07() {
    let world = World::new();
    world.fault("GET", SHARES, 1, Effect::TokenExpired);
    world.volume(PVC, 5, &[]).await;
    assert_eq!(world.shares(), [(PVC.to_owned(), 5)]);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_shares_are_made_under_the_documented_limits_au_05() {
    let world = World::throttled();
    let names: Vec<String> = (0..1000).map(|n| format!("pvc-{n:04}")).collect();
    let world = &world;
    for batch in names.chunks(100) {
        let all = batch.iter().map(|name| async move {
            // As external-provisioner does: what is not final is asked again.
            for _ in 0..50 {
                match world.create(create_request(name, 5, &[])).await {
                    Ok(volume) => return volume,
                    Err(status) => {
                        let again = [
                            Code::Unavailable,
                            Code::Aborted,
                            Code::DeadlineExceeded,
                            Code::ResourceExhausted,
                        ];
                        assert!(again.contains(&status.code()), "{name}: {status:?}");
                        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                    }
                }
            }
            panic!("{name} is not made");
        });
        futures_util::future::join_all(all).await;
    }
    assert_eq!(world.shares().len(), 1000);
    let total: u64 = world.shares().iter().map(|(_, gib)| gib).sum();
    assert_eq!(i64::try_from(total).unwrap() * GIB, 5000 * GIB);
    let keys = world.sim.requests(0).into_iter();
    let keys = keys.filter(|one| one.class == "POST storageAccounts/listKeys");
    assert!(
        keys.count() <= 100,
        "a key is asked for once in three minutes"
    );
    assert!(world.sim.violations().is_empty());
}
