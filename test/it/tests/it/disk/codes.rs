//! Every fault in every write of every RPC: the code is one that CSI allows there, a code that lets
//! a sidecar forget the call comes only when nothing was done, and a retry always gets there.

use azcsi_proto::csi::v1;
use azcsi_sim::faults::{Effect, Fault, Script};
use tonic::{Code, Request, Status};
use v1::controller_server::Controller as _;

use crate::world::{GIB, World, create_request};

/// Refusals that a sidecar would take as final.
fn refusals() -> Vec<Effect> {
    let status = |status: u16, code: &str| Effect::Status {
        status,
        code: code.to_owned(),
        message: "no".to_owned(),
    };
    let failed = |code: &str| Effect::FailAfterAccept {
        code: code.to_owned(),
        message: "it did not work".to_owned(),
    };
    vec![
        status(400, "InvalidParameter"),
        status(403, "AuthorizationFailed"),
        status(409, "OperationNotAllowed"),
        failed("AllocationFailed"),
        failed("ConflictingUserInput"),
        failed("InvalidParameter"),
    ]
}

/// Everything else that can happen to a request.
fn accidents() -> Vec<Effect> {
    vec![
        Effect::Throttle {
            retry_after: Some(2),
        },
        Effect::ResetBefore,
        Effect::ResetAfter,
        Effect::TruncatedBody,
        Effect::HtmlBody { status: 502 },
        Effect::Timeout {
            milliseconds: 30_000,
        },
        Effect::WrongCasing,
        Effect::TokenExpired,
        Effect::Preempted,
        Effect::VmFailed,
        Effect::Slow {
            milliseconds: 30_000,
        },
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rpc {
    Create,
    Delete,
    Publish,
    Unpublish,
    Expand,
    Modify,
    Snapshot,
    DeleteSnapshot,
}

/// Each RPC, the write that it lives by, and the codes that CSI names for it besides the common ones.
const WRITES: [(Rpc, &str, &str, &[Code]); 8] = [
    (
        Rpc::Create,
        "PUT",
        "disks",
        &[Code::NotFound, Code::AlreadyExists, Code::OutOfRange],
    ),
    (Rpc::Delete, "DELETE", "disks", &[Code::FailedPrecondition]),
    (
        Rpc::Publish,
        "POST",
        "virtualMachines/attachDetachDataDisks",
        &[
            Code::NotFound,
            Code::AlreadyExists,
            Code::FailedPrecondition,
        ],
    ),
    (
        Rpc::Unpublish,
        "POST",
        "virtualMachines/attachDetachDataDisks",
        &[Code::NotFound],
    ),
    (
        Rpc::Expand,
        "PATCH",
        "disks",
        &[Code::NotFound, Code::FailedPrecondition, Code::OutOfRange],
    ),
    (Rpc::Modify, "PATCH", "disks", &[Code::NotFound]),
    (Rpc::Snapshot, "PUT", "snapshots", &[Code::AlreadyExists]),
    (
        Rpc::DeleteSnapshot,
        "DELETE",
        "snapshots",
        &[Code::FailedPrecondition],
    ),
];

/// Codes that are allowed everywhere.
const COMMON: [Code; 8] = [
    Code::InvalidArgument,
    Code::PermissionDenied,
    Code::Unauthenticated,
    Code::Aborted,
    Code::Unavailable,
    Code::DeadlineExceeded,
    Code::Cancelled,
    Code::ResourceExhausted,
];

/// Codes after which no sidecar forgets what it asked for.
const RETRYABLE: [Code; 4] = [
    Code::Aborted,
    Code::Unavailable,
    Code::DeadlineExceeded,
    Code::Cancelled,
];

/// A world in which the RPC has something to do.
struct Stage {
    world: World,
    volume: v1::Volume,
    snapshot: String,
}

impl Stage {
    async fn ready(rpc: Rpc) -> Self {
        let world = World::new();
        let mut stage = Self {
            volume: world.volume("old", 4).await,
            snapshot: String::new(),
            world,
        };
        if rpc == Rpc::Unpublish {
            stage.world.publish(&stage.volume, "vm1").await.unwrap();
        }
        if rpc == Rpc::DeleteSnapshot {
            stage.snapshot = stage.take_snapshot().await.unwrap();
        }
        stage
    }

    async fn take_snapshot(&self) -> Result<String, Status> {
        let request = v1::CreateSnapshotRequest {
            name: "snap".to_owned(),
            source_volume_id: self.volume.volume_id.clone(),
            ..Default::default()
        };
        let reply = self
            .world
            .controller
            .create_snapshot(Request::new(request))
            .await?;
        Ok(reply.into_inner().snapshot.unwrap().snapshot_id)
    }

    async fn change(&self, rpc: Rpc) -> Result<(), Status> {
        let controller = &self.world.controller;
        let volume_id = self.volume.volume_id.clone();
        if rpc == Rpc::Expand {
            let request = v1::ControllerExpandVolumeRequest {
                volume_id,
                capacity_range: Some(v1::CapacityRange {
                    required_bytes: 8 * GIB,
                    limit_bytes: 0,
                }),
                ..Default::default()
            };
            let grown = controller
                .controller_expand_volume(Request::new(request))
                .await?;
            assert_eq!(grown.into_inner().capacity_bytes, 8 * GIB);
            return Ok(());
        }
        let request = v1::ControllerModifyVolumeRequest {
            volume_id,
            mutable_parameters: [("skuName".to_owned(), "Premium_LRS".to_owned())].into(),
            ..Default::default()
        };
        controller
            .controller_modify_volume(Request::new(request))
            .await
            .map(drop)
    }

    async fn call(&self, rpc: Rpc) -> Result<(), Status> {
        let world = &self.world;
        let id = &self.volume.volume_id;
        match rpc {
            Rpc::Create => world.create(create_request("new", 4)).await.map(drop),
            Rpc::Delete => world.delete(id).await,
            Rpc::Publish => world.publish(&self.volume, "vm1").await.map(drop),
            Rpc::Unpublish => world.unpublish(id, "vm1").await,
            Rpc::Expand | Rpc::Modify => self.change(rpc).await,
            Rpc::Snapshot => self.take_snapshot().await.map(drop),
            Rpc::DeleteSnapshot => {
                let request = v1::DeleteSnapshotRequest {
                    snapshot_id: self.snapshot.clone(),
                    ..Default::default()
                };
                world
                    .controller
                    .delete_snapshot(Request::new(request))
                    .await
                    .map(drop)
            }
        }
    }

    /// Whether Azure has done, at least in part, what the RPC asks for.
    fn is_begun(&self, rpc: Rpc) -> bool {
        self.world.sim.settle();
        let azure = self.world.sim.world();
        let old = || azure.disks.values().find(|disk| disk.id.ends_with("/old"));
        match rpc {
            Rpc::Create => self.world.has_disk("new"),
            Rpc::Delete => old().is_none(),
            Rpc::Publish => !self.world.disks_on("vm1").is_empty(),
            Rpc::Unpublish => self.world.disks_on("vm1").is_empty(),
            Rpc::Expand => old().is_some_and(|disk| disk.gib == 8),
            Rpc::Modify => old().is_some_and(|disk| disk.sku == "Premium_LRS"),
            Rpc::Snapshot => !azure.snapshots.is_empty(),
            Rpc::DeleteSnapshot => azure.snapshots.is_empty(),
        }
    }

    fn hit(&self, (method, kind): (&str, &str), faults: &[(u32, Effect)]) {
        let fault = |(skip, effect): &(u32, Effect)| Fault {
            method: Some(method.to_owned()),
            kind: Some(kind.to_owned()),
            name: None,
            skip: *skip,
            times: Some(1),
            effect: effect.clone(),
        };
        self.world.sim.inject(Script {
            faults: faults.iter().map(fault).collect(),
        });
    }

    /// The call is allowed to fail now, honestly, and never for ever.
    async fn proves(&self, rpc: Rpc, own: &[Code], what: &str) -> Result<(), String> {
        let first = self.call(rpc).await;
        match &first {
            Ok(()) if !self.is_begun(rpc) => {
                return Err(format!("{what}: OK, and nothing is done"));
            }
            Ok(()) => {}
            Err(status) => {
                let code = status.code();
                // INTERNAL is honest as long as nothing was done; an unpublish may never be given up.
                let internal = code == Code::Internal && rpc != Rpc::Unpublish;
                let known = COMMON.contains(&code) || own.contains(&code);
                if !known && (!internal || self.is_begun(rpc)) {
                    return Err(format!("{what}: CSI does not allow {status:?}"));
                }
                let deletes = matches!(rpc, Rpc::Delete | Rpc::DeleteSnapshot | Rpc::Unpublish);
                if self.is_begun(rpc) && !deletes && !RETRYABLE.contains(&code) {
                    return Err(format!("{what}: it may be done, and yet {status:?}"));
                }
            }
        }
        self.world.sim.clear_faults();
        for _ in 0..30 {
            match self.call(rpc).await {
                Ok(()) if self.is_begun(rpc) => return Ok(()),
                Ok(()) => return Err(format!("{what}: the retry is OK, and nothing is done")),
                Err(_) => tokio::time::sleep(std::time::Duration::from_secs(60)).await,
            }
        }
        Err(format!("{what}: {first:?}, and no retry gets there"))
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_in_every_write_has_an_honest_code() {
    let mut wrong = Vec::new();
    for (rpc, method, kind, own) in WRITES {
        for effect in refusals().into_iter().chain(accidents()) {
            let stage = Stage::ready(rpc).await;
            stage.hit((method, kind), &[(0, effect.clone())]);
            let what = format!("{rpc:?} {effect:?}");
            wrong.extend(stage.proves(rpc, own, &what).await.err());
            stage.world.assert_clean();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_lost_answer_is_no_proof_that_nothing_was_done_pr_01() {
    let mut wrong = Vec::new();
    for (rpc, method, kind, own) in WRITES {
        for effect in refusals() {
            let stage = Stage::ready(rpc).await;
            stage.hit(
                (method, kind),
                &[(0, Effect::ResetAfter), (1, effect.clone())],
            );
            let what = format!("{rpc:?} lost, then {effect:?}");
            wrong.extend(stage.proves(rpc, own, &what).await.err());
            stage.world.assert_clean();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
