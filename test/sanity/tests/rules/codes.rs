//! Which code each RPC answers when Azure refuses: only codes that the CSI text allows, and never
//! one that tells the caller more than is known.

use std::time::Duration;

use azcsi_proto::csi::v1::{
    CapacityRange, ControllerExpandVolumeRequest, ControllerModifyVolumeRequest,
    ControllerUnpublishVolumeRequest, CreateSnapshotRequest, DeleteVolumeRequest,
    ListVolumesRequest, ValidateVolumeCapabilitiesRequest,
};
use azcsi_rig::csi::filesystem;
use azcsi_rig::rig::Rig;
use serde_json::json;
use tonic::{Code, Request, Status};

use crate::support::{GIB, USUAL, attach, create, machine, ok, parameters, request};

/// What is called, each with a volume of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rpc {
    CreateVolume,
    DeleteVolume,
    Publish,
    Unpublish,
    Validate,
    Expand,
    Modify,
    CreateSnapshot,
    ListVolumes,
}

const ALL: [Rpc; 9] = [
    Rpc::CreateVolume,
    Rpc::DeleteVolume,
    Rpc::Publish,
    Rpc::Unpublish,
    Rpc::Validate,
    Rpc::Expand,
    Rpc::Modify,
    Rpc::CreateSnapshot,
    Rpc::ListVolumes,
];

/// A caller that does not wait long. Retries of the driver may outlast it; the work goes on.
fn brief<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(Duration::from_secs(2));
    request
}

/// Makes what a call needs.
async fn prepare(rig: &Rig, rpc: Rpc, name: &str) -> String {
    if rpc == Rpc::CreateVolume || rpc == Rpc::ListVolumes {
        return String::new();
    }
    let volume = create(rig, name).await.volume_id;
    if rpc == Rpc::Unpublish {
        let call = attach(&volume, &machine(rig).name);
        ok(rig
            .controller
            .controller()
            .controller_publish_volume(call)
            .await);
    }
    volume
}

type Answer = Result<(), Status>;

async fn make(rig: &Rig, rpc: Rpc, name: &str, volume_id: String) -> Answer {
    let mut calls = rig.controller.controller();
    if rpc == Rpc::CreateVolume {
        return calls.create_volume(brief(request(name))).await.map(drop);
    }
    let call = CreateSnapshotRequest {
        source_volume_id: volume_id,
        name: name.to_owned(),
        ..CreateSnapshotRequest::default()
    };
    calls.create_snapshot(brief(call)).await.map(drop)
}

async fn ask(rig: &Rig, rpc: Rpc, volume_id: String) -> Answer {
    let mut calls = rig.controller.controller();
    if rpc == Rpc::ListVolumes {
        let call = brief(ListVolumesRequest::default());
        return calls.list_volumes(call).await.map(drop);
    }
    let call = ValidateVolumeCapabilitiesRequest {
        volume_id,
        volume_capabilities: vec![filesystem("ext4")],
        ..ValidateVolumeCapabilitiesRequest::default()
    };
    calls
        .validate_volume_capabilities(brief(call))
        .await
        .map(drop)
}

async fn change(rig: &Rig, rpc: Rpc, volume_id: String) -> Answer {
    let mut calls = rig.controller.controller();
    if rpc == Rpc::Expand {
        let call = ControllerExpandVolumeRequest {
            volume_id,
            capacity_range: Some(CapacityRange {
                required_bytes: 2 * GIB,
                limit_bytes: 0,
            }),
            ..ControllerExpandVolumeRequest::default()
        };
        return calls.controller_expand_volume(brief(call)).await.map(drop);
    }
    let call = ControllerModifyVolumeRequest {
        volume_id,
        mutable_parameters: parameters(&[("skuName", "Premium_LRS")]),
        ..ControllerModifyVolumeRequest::default()
    };
    calls.controller_modify_volume(brief(call)).await.map(drop)
}

async fn undo(rig: &Rig, rpc: Rpc, volume_id: String) -> Answer {
    let mut calls = rig.controller.controller();
    if rpc == Rpc::DeleteVolume {
        let call = DeleteVolumeRequest {
            volume_id,
            ..DeleteVolumeRequest::default()
        };
        return calls.delete_volume(brief(call)).await.map(drop);
    }
    let call = ControllerUnpublishVolumeRequest {
        volume_id,
        node_id: machine(rig).name.clone(),
        ..ControllerUnpublishVolumeRequest::default()
    };
    calls
        .controller_unpublish_volume(brief(call))
        .await
        .map(drop)
}

/// Calls; the code.
async fn call(rig: &Rig, rpc: Rpc, name: &str, volume: String) -> Code {
    let answer = match rpc {
        Rpc::CreateVolume | Rpc::CreateSnapshot => make(rig, rpc, name, volume).await,
        Rpc::ListVolumes | Rpc::Validate => ask(rig, rpc, volume).await,
        Rpc::Expand | Rpc::Modify => change(rig, rpc, volume).await,
        Rpc::DeleteVolume | Rpc::Unpublish => undo(rig, rpc, volume).await,
        Rpc::Publish => {
            let call = attach(&volume, &machine(rig).name);
            let mut calls = rig.controller.controller();
            calls.controller_publish_volume(brief(call)).await.map(drop)
        }
    };
    answer.err().map_or(Code::Ok, |status| status.code())
}

/// Lets Azure refuse every request like this, and calls each RPC.
async fn sweep(rig: &Rig, what: &str, effect: serde_json::Value, allowed: &[Code]) {
    let mut wrong = Vec::new();
    let mut prepared = Vec::new();
    // All first: a driver that was told to pause keeps to it.
    for rpc in ALL {
        let name = format!("{what}-{rpc:?}").to_ascii_lowercase();
        let volume = prepare(rig, rpc, &name).await;
        prepared.push((rpc, name, volume));
    }
    for (rpc, name, volume) in prepared {
        let fault = json!({"faults": [{"effect": effect}]});
        rig.control.post("/_sim/faults", &fault).await.unwrap();
        let code = call(rig, rpc, &name, volume).await;
        rig.control.delete("/_sim/faults").await.unwrap();
        if !allowed.contains(&code) {
            wrong.push(format!("{rpc:?}: {code:?}"));
        }
    }
    assert_eq!(
        wrong,
        Vec::<String>::new(),
        "Azure: {what}; allowed: {allowed:?}"
    );
}

fn status(status: u16, code: &str) -> serde_json::Value {
    json!({"do": "status", "status": status, "code": code, "message": "refused by the test"})
}

/// The caller knows nothing and asks again.
const UNKNOWN_STATE: &[Code] = &[
    Code::Unavailable,
    Code::Aborted,
    Code::DeadlineExceeded,
    Code::Cancelled,
];

#[tokio::test]
async fn a_refusal_for_lack_of_rights_is_permission_denied() {
    USUAL
        .run(async |rig: &Rig| {
            let effect = status(403, "AuthorizationFailed");
            sweep(rig, "forbidden", effect, &[Code::PermissionDenied]).await;
        })
        .await;
}

#[tokio::test]
async fn a_throttled_call_is_never_final_and_never_says_that_a_volume_is_missing() {
    USUAL
        .run(async |rig: &Rig| {
            let effect = json!({"do": "throttle", "retryAfter": 60});
            sweep(rig, "throttled", effect, UNKNOWN_STATE).await;
        })
        .await;
}

#[tokio::test]
async fn an_azure_that_is_broken_is_never_final_and_never_says_that_a_volume_is_missing() {
    USUAL
        .run(async |rig: &Rig| {
            let effect = status(503, "ServiceUnavailable");
            sweep(rig, "broken", effect, UNKNOWN_STATE).await;
        })
        .await;
}

#[tokio::test]
async fn a_connection_that_breaks_is_never_final() {
    USUAL
        .run(async |rig: &Rig| {
            sweep(rig, "cut", json!({"do": "resetBefore"}), UNKNOWN_STATE).await;
        })
        .await;
}
