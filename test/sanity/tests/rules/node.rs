//! NodeStageVolume, NodePublishVolume and their opposites: the table of second calls.

use azcsi_proto::csi::v1::volume_capability::access_mode::Mode;
use azcsi_proto::csi::v1::{
    NodePublishVolumeRequest, NodeStageVolumeRequest, NodeUnpublishVolumeRequest,
    NodeUnstageVolumeRequest,
};
use azcsi_rig::csi::block;
use azcsi_rig::leftovers::mounts_below;
use azcsi_rig::rig::Rig;
use tonic::Code;

use crate::support::{Attached, USUAL, code, machine, ok, target, text, with_mode};

#[tokio::test]
async fn publish_before_stage_is_a_failed_precondition_and_leaves_nothing() {
    USUAL
        .run(async |rig: &Rig| {
            let attached = Attached::new(rig, "early").await;
            let target = target(rig, "early");
            let mut node = machine(rig).plugin().unwrap().node();
            let reply = node.node_publish_volume(attached.publish(&target)).await;
            assert_eq!(code(reply), Code::FailedPrecondition);
            assert!(!target.exists());
        })
        .await;
}

/// Publishes twice; the answer to the second call.
async fn second(
    rig: &Rig,
    mode: Mode,
    change: impl Fn(&mut NodePublishVolumeRequest),
) -> Option<Code> {
    let name = format!("{mode:?}").to_ascii_lowercase();
    let attached = Attached::new(rig, &name).await;
    let mut node = machine(rig).plugin().unwrap().node();
    let stage = NodeStageVolumeRequest {
        volume_capability: Some(with_mode(mode)),
        ..attached.stage()
    };
    ok(node.node_stage_volume(stage).await);
    let first = NodePublishVolumeRequest {
        volume_capability: Some(with_mode(mode)),
        ..attached.publish(&target(rig, &format!("{name}-1")))
    };
    ok(node.node_publish_volume(first.clone()).await);
    let mut other = first;
    change(&mut other);
    node.node_publish_volume(other)
        .await
        .err()
        .map(|status| status.code())
}

const MODES: [Mode; 3] = [
    Mode::SingleNodeWriter,
    Mode::SingleNodeSingleWriter,
    Mode::SingleNodeMultiWriter,
];

#[tokio::test]
async fn the_same_target_with_the_same_arguments_is_fine() {
    USUAL
        .run(async |rig: &Rig| {
            for mode in MODES {
                assert_eq!(second(rig, mode, |_| {}).await, None, "{mode:?}");
            }
        })
        .await;
}

#[tokio::test]
async fn the_same_target_with_other_arguments_already_exists() {
    USUAL
        .run(async |rig: &Rig| {
            for mode in MODES {
                let answer = second(rig, mode, |call| call.readonly = true).await;
                assert_eq!(answer, Some(Code::AlreadyExists), "{mode:?}");
            }
        })
        .await;
}

#[tokio::test]
async fn another_target_is_for_volumes_that_several_may_write_on_one_node() {
    USUAL
        .run(async |rig: &Rig| {
            for mode in MODES {
                let other = text(&target(rig, &format!("{mode:?}-2")));
                let answer = second(rig, mode, |call| call.target_path.clone_from(&other)).await;
                let expected =
                    (mode == Mode::SingleNodeSingleWriter).then_some(Code::FailedPrecondition);
                assert_eq!(answer, expected, "{mode:?}");
            }
        })
        .await;
}

#[tokio::test]
async fn stage_again_with_another_kind_of_access_already_exists() {
    USUAL
        .run(async |rig: &Rig| {
            let attached = Attached::new(rig, "restaged").await;
            let mut node = machine(rig).plugin().unwrap().node();
            ok(node.node_stage_volume(attached.stage()).await);
            ok(node.node_stage_volume(attached.stage()).await);
            let other = NodeStageVolumeRequest {
                volume_capability: Some(block()),
                ..attached.stage()
            };
            assert_eq!(
                code(node.node_stage_volume(other).await),
                Code::AlreadyExists
            );
        })
        .await;
}

#[tokio::test]
async fn the_undoing_calls_succeed_for_what_was_never_done() {
    USUAL
        .run(async |rig: &Rig| {
            let target = target(rig, "never");
            let mut node = machine(rig).plugin().unwrap().node();
            for volume_id in [
                "no-such-volume".to_owned(),
                Attached::new(rig, "v").await.volume.volume_id,
            ] {
                let unpublish = NodeUnpublishVolumeRequest {
                    volume_id: volume_id.clone(),
                    target_path: text(&target),
                };
                ok(node.node_unpublish_volume(unpublish).await);
                let unstage = NodeUnstageVolumeRequest {
                    volume_id,
                    staging_target_path: text(&machine(rig).kubelet.join("nowhere")),
                };
                ok(node.node_unstage_volume(unstage).await);
            }
            assert!(!target.exists());
            assert!(mounts_below(rig.dir()).unwrap().is_empty());
        })
        .await;
}

#[tokio::test]
async fn relative_paths_are_invalid() {
    USUAL
        .run(async |rig: &Rig| {
            let attached = Attached::new(rig, "relative").await;
            let mut node = machine(rig).plugin().unwrap().node();
            let stage = NodeStageVolumeRequest {
                staging_target_path: "some/path".to_owned(),
                ..attached.stage()
            };
            assert_eq!(
                code(node.node_stage_volume(stage).await),
                Code::InvalidArgument
            );
            let publish = NodePublishVolumeRequest {
                target_path: "../path".to_owned(),
                ..attached.publish(&target(rig, "x"))
            };
            assert_eq!(
                code(node.node_publish_volume(publish).await),
                Code::InvalidArgument
            );
        })
        .await;
}

#[tokio::test]
async fn a_secret_is_echoed_in_no_answer() {
    USUAL
        .run(async |rig: &Rig| {
            let attached = Attached::new(rig, "secret").await;
            let mut stage = attached.stage();
            stage.staging_target_path = "some/path".to_owned();
            stage.secrets = crate::support::parameters(&[("token", "do-not-say-this")]);
            let mut node = machine(rig).plugin().unwrap().node();
            let status = node.node_stage_volume(stage).await.unwrap_err();
            assert!(!format!("{status:?}").contains("do-not-say-this"));
            let mut call = crate::support::request("secret-2");
            call.secrets = crate::support::parameters(&[("token", "do-not-say-this")]);
            call.parameters = crate::support::parameters(&[("bad", "key")]);
            let status = rig
                .controller
                .controller()
                .create_volume(call)
                .await
                .unwrap_err();
            assert!(!format!("{status:?}").contains("do-not-say-this"));
        })
        .await;
}
