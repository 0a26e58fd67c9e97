//! Calls that meet while one of them is still running. Azure takes its documented time here, so
//! that a call is surely still running when the next one comes.

use std::time::Duration;

use azcsi_proto::csi::v1::{ControllerUnpublishVolumeRequest, DeleteVolumeRequest};
use azcsi_rig::rig::Rig;
use tonic::{Code, Request};

use crate::support::{USUAL, World, attach, count, create, machine, ok, request};

const SLOW: World = World {
    profile: "azure",
    ..USUAL
};

/// Waits until Azure has got a request whose line contains `text`; answers with all lines.
async fn asked(rig: &Rig, text: &str) -> Vec<String> {
    loop {
        let (_, lines) = rig.requests_since(0).await.unwrap();
        if lines.iter().any(|line| line.contains(text)) {
            return lines;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn identical_calls_at_the_same_time_make_one_volume() {
    SLOW.run(async |rig: &Rig| {
        let calls = (0..8).map(|_| {
            let mut client = rig.controller.controller();
            async move { client.create_volume(request("once")).await }
        });
        let mut ids = Vec::new();
        for reply in futures_util::future::join_all(calls).await {
            ids.push(ok(reply).volume.unwrap().volume_id);
        }
        ids.dedup();
        assert_eq!((ids.len(), count(rig, "disks").await), (1, 1));
        let (_, lines) = rig.requests_since(0).await.unwrap();
        assert_eq!(
            lines.iter().filter(|line| *line == "PUT disks").count(),
            1,
            "{lines:?}"
        );
    })
    .await;
}

/// Attaches a volume, and calls `meanwhile` with it once Azure is at work.
async fn while_attaching(rig: &Rig, meanwhile: impl AsyncFnOnce(&str)) {
    let volume = create(rig, "busy").await.volume_id;
    let call = attach(&volume, &machine(rig).name);
    let mut client = rig.controller.controller();
    let attaching = tokio::spawn(async move { client.controller_publish_volume(call).await });
    asked(rig, "POST virtualMachine").await;
    meanwhile(&volume).await;
    ok(attaching.await.unwrap());
}

#[tokio::test]
async fn a_volume_that_is_being_published_is_not_unpublished_from_that_node() {
    SLOW.run(async |rig: &Rig| {
        while_attaching(rig, async |volume: &str| {
            let call = ControllerUnpublishVolumeRequest {
                // An id in another casing is the same volume.
                volume_id: volume.to_ascii_uppercase(),
                node_id: machine(rig).name.clone(),
                ..ControllerUnpublishVolumeRequest::default()
            };
            let mut calls = rig.controller.controller();
            let status = calls.controller_unpublish_volume(call).await.unwrap_err();
            assert_eq!(status.code(), Code::Aborted, "{status:?}");
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_volume_that_is_being_published_is_not_deleted() {
    SLOW.run(async |rig: &Rig| {
        while_attaching(rig, async |volume: &str| {
            let call = DeleteVolumeRequest {
                volume_id: volume.to_owned(),
                ..DeleteVolumeRequest::default()
            };
            let mut calls = rig.controller.controller();
            let status = calls.delete_volume(call).await.unwrap_err();
            let refused = matches!(status.code(), Code::Aborted | Code::FailedPrecondition);
            assert!(refused, "{status:?}");
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn work_goes_on_after_its_caller_gave_up_and_the_retry_joins_it() {
    SLOW.run(async |rig: &Rig| {
        let volume = create(rig, "patient").await.volume_id;
        let call = attach(&volume, &machine(rig).name);
        let mut client = rig.controller.controller();
        let first = call.clone();
        let given_up = tokio::spawn(async move { client.controller_publish_volume(first).await });
        asked(rig, "POST virtualMachine").await;
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
        let mut calls = rig.controller.controller();
        ok(calls.controller_publish_volume(call).await);
        let (_, lines) = rig.requests_since(0).await.unwrap();
        let writes = lines
            .iter()
            .filter(|line| line.starts_with("POST virtualMachine"));
        assert_eq!(writes.count(), 1, "{lines:?}");
    })
    .await;
}

#[tokio::test]
async fn a_deadline_ends_the_wait_and_not_the_work() {
    SLOW.run(async |rig: &Rig| {
        let volume = create(rig, "late").await.volume_id;
        let call = attach(&volume, &machine(rig).name);
        let mut calls = rig.controller.controller();
        let mut short = Request::new(call.clone());
        short.set_timeout(Duration::from_millis(300));
        let status = calls.controller_publish_volume(short).await.unwrap_err();
        // The client's own timer may win: it then says that the call was cancelled.
        assert!(
            matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled),
            "{status:?}"
        );
        ok(calls.controller_publish_volume(call).await);
        let (_, lines) = rig.requests_since(0).await.unwrap();
        let writes = lines
            .iter()
            .filter(|line| line.starts_with("POST virtualMachine"));
        assert_eq!(writes.count(), 1, "{lines:?}");
    })
    .await;
}
