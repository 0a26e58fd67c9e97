//! Plays a life: does its steps, looks after each, and brings everything to its end.

use std::time::Duration;

use azcsi_proto::csi::v1;
use azcsi_sim::faults::Script;
use futures_util::future::join_all;
use tokio::sync::Mutex;
use tonic::Request;
use v1::controller_server::Controller as Rpcs;

use super::oracle::{Begun, Oracle, Outcome, disk_name, exists, slot, snapshot_name};
use super::step::{Call, Step, Timed, VOLUMES};
use crate::world::{GIB, GROUP, NODES, SUBSCRIPTION, World, create_request, filesystem};

/// Tries of a client at the end, when nothing goes wrong any more, and the pause between them.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_secs(15);
/// Longer than anything that was slow.
const SETTLED: Duration = Duration::from_secs(120);

fn id(kind: &str, name: &str) -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Compute/{kind}/{name}"
    )
}

pub(super) fn volume_id(volume: usize) -> String {
    id("disks", &disk_name(volume))
}

fn patient<T>(message: T, patience: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(patience);
    request
}

/// The request of a publish; of a volume that was never answered, as an administrator writes it.
fn publish(oracle: &Oracle, volume: usize, node: usize) -> v1::ControllerPublishVolumeRequest {
    let context = oracle
        .volume(volume)
        .map(|made| made.volume_context.clone());
    v1::ControllerPublishVolumeRequest {
        volume_id: volume_id(volume),
        node_id: NODES[node].to_owned(),
        volume_capability: Some(filesystem()),
        volume_context: context.unwrap_or_default(),
        ..Default::default()
    }
}

async fn create(
    world: &World,
    volume: usize,
    patience: Duration,
) -> Result<Outcome, tonic::Status> {
    let request = patient(create_request(&disk_name(volume), 2), patience);
    let reply = world.controller.create_volume(request).await?.into_inner();
    Ok(Outcome::Volume(Box::new(reply.volume.unwrap())))
}

async fn expand(
    world: &World,
    (volume, gib): (usize, u64),
    patience: Duration,
) -> Result<Outcome, tonic::Status> {
    let request = v1::ControllerExpandVolumeRequest {
        volume_id: volume_id(volume),
        capacity_range: Some(v1::CapacityRange {
            required_bytes: i64::try_from(gib).unwrap() * GIB,
            limit_bytes: 0,
        }),
        ..Default::default()
    };
    let reply = world
        .controller
        .controller_expand_volume(patient(request, patience))
        .await?;
    Ok(Outcome::Size(reply.into_inner().capacity_bytes))
}

async fn snapshots(
    world: &World,
    call: Call,
    patience: Duration,
) -> Result<Outcome, tonic::Status> {
    let controller = &world.controller;
    if let Call::Snapshot(volume) = call {
        let request = v1::CreateSnapshotRequest {
            name: snapshot_name(volume),
            source_volume_id: volume_id(volume),
            ..Default::default()
        };
        controller
            .create_snapshot(patient(request, patience))
            .await?;
    } else if let Call::DeleteSnapshot(volume) = call {
        let request = v1::DeleteSnapshotRequest {
            snapshot_id: id("snapshots", &snapshot_name(volume)),
            ..Default::default()
        };
        controller
            .delete_snapshot(patient(request, patience))
            .await?;
    }
    Ok(Outcome::Done)
}

async fn send(
    world: &World,
    call: Call,
    (publish, patience): (Option<v1::ControllerPublishVolumeRequest>, Duration),
) -> Result<Outcome, tonic::Status> {
    let controller = &world.controller;
    match call {
        Call::Create(volume) => create(world, volume, patience).await,
        Call::Delete(volume) => {
            let request = v1::DeleteVolumeRequest {
                volume_id: volume_id(volume),
                ..Default::default()
            };
            controller.delete_volume(patient(request, patience)).await?;
            Ok(Outcome::Done)
        }
        Call::Publish(..) => {
            let request = patient(publish.unwrap(), patience);
            let reply = controller.controller_publish_volume(request).await?;
            let context = reply.into_inner().publish_context;
            Ok(Outcome::Slot(context["LUN"].parse().unwrap()))
        }
        Call::Unpublish(volume, node) => {
            let request = v1::ControllerUnpublishVolumeRequest {
                volume_id: volume_id(volume),
                node_id: NODES[node].to_owned(),
                ..Default::default()
            };
            let request = patient(request, patience);
            controller.controller_unpublish_volume(request).await?;
            Ok(Outcome::Done)
        }
        Call::Expand(volume, gib) => expand(world, (volume, gib), patience).await,
        Call::Snapshot(_) | Call::DeleteSnapshot(_) => snapshots(world, call, patience).await,
    }
}

/// A life under way.
struct Life {
    world: World,
    oracle: Oracle,
}

/// Whether one of the two can undo or outdate what the other one is answered.
fn meet(one: Call, other: Call) -> bool {
    use Call::{Create, Delete, DeleteSnapshot, Expand, Publish, Snapshot, Unpublish};
    match (one, other) {
        (Publish(v, n) | Unpublish(v, n), Publish(w, m) | Unpublish(w, m)) => (v, n) == (w, m),
        (Create(v) | Delete(v) | Expand(v, _), Create(w) | Delete(w) | Expand(w, _)) => v == w,
        (Snapshot(v) | DeleteSnapshot(v), Snapshot(w) | DeleteSnapshot(w)) => v == w,
        _ => false,
    }
}

impl Life {
    /// A client makes a call; Kubernetes has recorded the wish before.
    fn begin(&mut self, call: Call) -> Begun {
        if let Call::Publish(volume, node) = call {
            let claims = &self.world.kubernetes;
            claims.claim(&volume_id(volume), NODES[node]);
        }
        self.oracle.begin(call)
    }

    async fn calls(&mut self, group: &[Timed], killed: Option<u64>) -> Result<(), String> {
        let begun: Vec<Begun> = group.iter().map(|timed| self.begin(timed.call)).collect();
        let outcomes = Mutex::new(vec![Outcome::Killed; group.len()]);
        let (world, oracle, results) = (&self.world, &self.oracle, &outcomes);
        let all = join_all(group.iter().enumerate().map(|(at, timed)| async move {
            tokio::time::sleep(Duration::from_millis(timed.starts_ms)).await;
            let request = match timed.call {
                Call::Publish(volume, node) => Some(publish(oracle, volume, node)),
                _ => None,
            };
            let patience = Duration::from_secs(timed.patience_s);
            let sent = send(world, timed.call, (request, patience)).await;
            results.lock().await[at] = sent.unwrap_or_else(|status| {
                Outcome::Failed(status.code(), status.message().to_owned())
            });
        }));
        match killed {
            None => drop(all.await),
            Some(after) => {
                let _ = tokio::time::timeout(Duration::from_millis(after), all).await;
                self.world.line.cut();
                self.world = self.world.restarted();
            }
        }
        for (at, outcome) in outcomes.into_inner().into_iter().enumerate() {
            let other =
                |(index, timed): (usize, &Timed)| index != at && meet(timed.call, begun[at].call);
            let alone = !group.iter().enumerate().any(other);
            self.oracle.end(&self.world, (begun[at], &outcome, alone))?;
        }
        self.oracle.check(&self.world)
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Calls(group, killed) => return self.calls(group, *killed).await,
            Step::Fault(fault) => self.world.sim.inject(Script {
                faults: vec![fault.clone()],
            }),
            Step::Calm => self.world.sim.clear_faults(),
            Step::Wait(seconds) => tokio::time::sleep(Duration::from_secs(*seconds)).await,
        }
        self.oracle.check(&self.world)
    }

    /// Repeats a call as its sidecar does, until it is done.
    async fn until_done(&mut self, call: Call) -> Result<(), String> {
        let mut last = String::new();
        for _ in 0..TRIES {
            let begun = self.begin(call);
            let request = match call {
                Call::Publish(volume, node) => Some(publish(&self.oracle, volume, node)),
                _ => None,
            };
            let sent = send(&self.world, call, (request, Duration::from_secs(60))).await;
            let outcome = sent.unwrap_or_else(|status| {
                Outcome::Failed(status.code(), status.message().to_owned())
            });
            self.oracle.end(&self.world, (begun, &outcome, true))?;
            self.oracle.check(&self.world)?;
            let Outcome::Failed(code, text) = outcome else {
                return Ok(());
            };
            last = format!("{code:?} {text}");
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("{call:?} never succeeds: {last}"))
    }

    async fn leave(&mut self, volume: usize, but: Option<usize>) -> Result<(), String> {
        for node in self.oracle.holders(volume) {
            if Some(node) != but {
                self.until_done(Call::Unpublish(volume, node)).await?;
            }
        }
        Ok(())
    }

    /// Nothing goes wrong any more: every wish is reached, and then everything goes away.
    async fn end(&mut self) -> Result<(), String> {
        self.world.sim.clear_faults();
        tokio::time::sleep(SETTLED).await;
        self.oracle.check(&self.world)?;
        for volume in 0..VOLUMES {
            self.until_done(Call::Create(volume)).await?;
            let wish = self.oracle.wishes.get(&volume).copied();
            let wish = wish.filter(|node| exists(&self.world.sim.world(), *node));
            self.leave(volume, wish).await?;
            if let Some(node) = wish {
                self.until_done(Call::Publish(volume, node)).await?;
                if slot(&self.world.sim.world(), volume, node).is_none() {
                    return Err(format!("pvc-{volume} is not on {}", NODES[node]));
                }
            }
        }
        for volume in 0..VOLUMES {
            self.leave(volume, None).await?;
            self.until_done(Call::DeleteSnapshot(volume)).await?;
            self.until_done(Call::Delete(volume)).await?;
        }
        let azure = self.world.sim.world();
        if !azure.disks.is_empty() || !azure.snapshots.is_empty() {
            return Err("something is left over".to_owned());
        }
        Ok(())
    }
}

pub(super) async fn play(steps: &[Step]) -> Result<(), String> {
    let mut life = Life {
        world: World::new(),
        oracle: Oracle::default(),
    };
    for (at, step) in steps.iter().enumerate() {
        let done = life.step(step).await;
        done.map_err(|reason| format!("step {at}: {reason}"))?;
    }
    life.end()
        .await
        .map_err(|reason| format!("the end: {reason}"))
}
