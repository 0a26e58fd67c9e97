//! Calls that meet while one of them is still running. Azure takes its documented time here, so
//! that a call is surely still running when the next one comes.

use std::time::Duration;

use azcsi_proto::csi::v1::{CapacityRange, ControllerExpandVolumeRequest, DeleteVolumeRequest};
use azcsi_rig::rig::Rig;
use tonic::{Code, Request};

use crate::support::{GIB, USUAL, World, attach, count, create, machine, ok, request};

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

#[tokio::test]
async fn another_operation_on_a_volume_that_has_one_pending_is_aborted() {
    SLOW.run(async |rig: &Rig| {
        let volume = create(rig, "busy").await.volume_id;
        let call = attach(&volume, &machine(rig).name);
        let mut client = rig.controller.controller();
        let attaching = tokio::spawn(async move { client.controller_publish_volume(call).await });
        asked(rig, "POST virtualMachine").await;
        let mut calls = rig.controller.controller();
        let expand = ControllerExpandVolumeRequest {
            volume_id: volume.clone(),
            capacity_range: Some(CapacityRange {
                required_bytes: 2 * GIB,
                limit_bytes: 0,
            }),
            ..ControllerExpandVolumeRequest::default()
        };
        let delete = DeleteVolumeRequest {
            volume_id: volume
                .to_ascii_uppercase()
                .replace("/SUBSCRIPTIONS/", "/subscriptions/"),
            ..DeleteVolumeRequest::default()
        };
        let expand = calls.controller_expand_volume(expand).await.unwrap_err();
        assert_eq!(expand.code(), Code::Aborted, "{expand:?}");
        // An id in another casing is the same volume.
        let delete = calls.delete_volume(delete).await.unwrap_err();
        assert_eq!(delete.code(), Code::Aborted, "{delete:?}");
        ok(attaching.await.unwrap());
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
