//! Long-running operations: started, running whoever listens, ended by the clock.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::compute::{attach, disks, snapshots, vms};
use crate::error::ArmError;
use crate::stamp::stamp;
use crate::state::State;
use crate::world::{Power, Provisioning, World, key};

/// Operations that ended are known for this long: every client has stopped to poll by then.
const KEPT: Duration = Duration::from_secs(3600);
/// No more of them are known than this, however little time has passed; the oldest go first. At the
/// documented limits a subscription ends fewer in an hour.
const KEPT_AT_MOST: usize = 100_000;

/// What an operation does when it ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Work {
    /// A disk was made or changed by PUT or PATCH with this body.
    Disk(Value),
    /// A disk goes.
    DiskDelete,
    /// A snapshot was made or changed.
    Snapshot(Value),
    /// A snapshot goes.
    SnapshotDelete,
    /// A SAS for so many seconds.
    Grant(u64),
    /// The SAS ends.
    Revoke,
    /// The host takes over the data disks of the model.
    DataDisks,
    /// The power state changes; `None` for restart and reapply.
    Power(Option<Power>),
    /// The machine goes.
    MachineDelete,
    /// A storage account was made.
    Account,
    /// A network resource was made or changed.
    Linked,
    /// A network resource goes.
    LinkedDelete,
    /// Nothing more than time.
    Nothing,
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It has not.
    Running,
    /// Well.
    Succeeded,
    /// With an error.
    Failed(Failure),
    /// A newer one took its place.
    Canceled(Failure),
}

/// The error of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// ARM code.
    pub code: String,
    /// Text.
    pub message: String,
}

impl Failure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
        }
    }

    fn preempted() -> Self {
        Self::new(
            "OperationPreempted",
            "Operation execution has been preempted by a more recent operation.",
        )
    }
}

/// A long-running operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// GUID.
    pub id: String,
    /// `DiskOperations` or `operations`.
    pub family: String,
    /// Subscription.
    pub subscription: String,
    /// Region.
    pub location: String,
    /// Key of the resource.
    pub target: String,
    /// What it does.
    pub work: Work,
    /// Milliseconds since 1970.
    pub started_ms: u64,
    /// Milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// On the axis of the clock.
    pub ready_at: Duration,
    /// How it ended.
    pub outcome: Outcome,
    /// What it gives.
    pub output: Option<Value>,
    /// It is to fail although all is well.
    pub planned: Option<Failure>,
}

impl Operation {
    pub(crate) fn runs(&self) -> bool {
        self.outcome == Outcome::Running
    }

    /// The status document.
    pub(crate) fn document(&self) -> Value {
        let mut document = Map::new();
        document.insert("startTime".into(), json!(stamp(self.started_ms)));
        if let Some(ended) = self.ended_ms {
            document.insert("endTime".into(), json!(stamp(ended)));
        }
        let (status, failure) = match &self.outcome {
            Outcome::Running => ("InProgress", None),
            Outcome::Succeeded => ("Succeeded", None),
            Outcome::Failed(failure) => ("Failed", Some(failure)),
            Outcome::Canceled(failure) => ("Canceled", Some(failure)),
        };
        document.insert("status".into(), json!(status));
        if let Some(output) = &self.output {
            document.insert("properties".into(), json!({"output": output}));
        }
        if let Some(failure) = failure {
            let error = json!({"code": failure.code, "message": failure.message});
            document.insert("error".into(), error);
        }
        document.insert("name".into(), json!(self.id));
        Value::Object(document)
    }
}

/// What is needed to start one.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) family: &'a str,
    pub(crate) target: &'a str,
    pub(crate) location: &'a str,
    pub(crate) work: Work,
    pub(crate) takes: Duration,
}

/// Starts an operation and gives its id.
pub(crate) fn begin(state: &mut State, start: Start<'_>) -> String {
    let id = state.guid();
    let subscription = start.target.split('/').nth(2).unwrap_or_default();
    let operation = Operation {
        id: id.clone(),
        family: start.family.to_owned(),
        subscription: subscription.to_owned(),
        location: start.location.to_owned(),
        target: key(start.target),
        work: start.work,
        started_ms: state.wall_ms,
        ended_ms: None,
        ready_at: state.now.saturating_add(start.takes),
        outcome: Outcome::Running,
        output: None,
        planned: None,
    };
    state.due.insert((operation.ready_at, id.clone()));
    state.world.operations.insert(id.clone(), operation);
    state.revision += 1;
    id
}

/// Ends an operation that a newer one replaces.
pub(crate) fn preempt(state: &mut State, id: &str) {
    let wall_ms = state.wall_ms;
    if let Some(operation) = state.world.operations.get_mut(id)
        && operation.runs()
    {
        state.due.remove(&(operation.ready_at, id.to_owned()));
        operation.outcome = Outcome::Canceled(Failure::preempted());
        operation.ended_ms = Some(wall_ms);
        operation.work = Work::Nothing;
        operation.ready_at = state.now;
        state.ended.push_back((state.now, id.to_owned()));
        state.revision += 1;
    }
}

/// Moves the end of an operation; `Duration::MAX` means never.
pub(crate) fn postpone(state: &mut State, id: &str, ready_at: Duration) {
    if let Some(operation) = state.world.operations.get_mut(id) {
        state.due.remove(&(operation.ready_at, id.to_owned()));
        operation.ready_at = ready_at;
        state.due.insert((ready_at, id.to_owned()));
    }
}

/// Lets every operation end whose time has come.
pub(crate) fn settle(state: &mut State) {
    while let Some((at, id)) = state.due.first().cloned()
        && at <= state.now
    {
        state.due.remove(&(at, id.clone()));
        finish(state, &id);
        state.revision += 1;
    }
    crate::files::copies::settle(state);
    if !state.world.deleted_shares.is_empty() {
        crate::storage::share_life::expire(state);
    }
    forget(state);
}

fn finish(state: &mut State, id: &str) {
    let Some(operation) = state.world.operations.get_mut(id) else {
        return;
    };
    // What it did is not asked for again.
    let work_done = std::mem::replace(&mut operation.work, Work::Nothing);
    let operation = Operation {
        work: work_done,
        ..operation.clone()
    };
    let done = match &operation.planned {
        Some(failure) => {
            planned(state, &operation);
            Err(failure.clone())
        }
        None => work(state, &operation),
    };
    let wall_ms = state.wall_ms;
    if let Some(operation) = state.world.operations.get_mut(id) {
        operation.ended_ms = Some(wall_ms);
        match done {
            Ok(output) => {
                operation.outcome = Outcome::Succeeded;
                operation.output = output;
            }
            Err(failure) => operation.outcome = Outcome::Failed(failure),
        }
        state.ended.push_back((state.now, id.to_owned()));
    }
}

/// A planned failure leaves the resource as `Failed`; nothing of the work is done.
fn planned(state: &mut State, operation: &Operation) {
    let target = &operation.target;
    if let Some(disk) = state.world.disks.get_mut(target) {
        disk.provisioning = Provisioning::Failed;
    }
    if let Some(snapshot) = state.world.snapshots.get_mut(target) {
        snapshot.provisioning = Provisioning::Failed;
    }
    if let Some(account) = state.world.accounts.get_mut(target) {
        account.provisioning = Provisioning::Failed;
    }
    if let Some(linked) = state.world.network.get_mut(target) {
        linked.provisioning = Provisioning::Failed;
    }
    if let Some(machine) = state.world.machines.get_mut(target) {
        machine.provisioning = Provisioning::Failed;
        machine.running = None;
    }
}

fn work(state: &mut State, operation: &Operation) -> Result<Option<Value>, Failure> {
    let target = operation.target.as_str();
    match &operation.work {
        Work::Disk(body) => Ok(disks::finish(state, target, body)),
        Work::DiskDelete => {
            disks::remove(state, target);
            Ok(None)
        }
        Work::Snapshot(body) => Ok(snapshots::finish(state, target, body)),
        Work::SnapshotDelete => {
            state.world.snapshots.remove(target);
            Ok(None)
        }
        Work::Grant(seconds) => Ok(crate::compute::access::granted(state, target, *seconds)),
        Work::Revoke => {
            crate::compute::access::revoked(state, target);
            Ok(None)
        }
        Work::DataDisks => attach::finish(state, target),
        Work::Power(power) => Ok(vms::powered(state, target, *power)),
        Work::MachineDelete => {
            vms::remove(state, target);
            Ok(None)
        }
        Work::Account => Ok(crate::storage::accounts::finish(state, target)),
        Work::Linked => {
            crate::network::life::finish(state, target);
            Ok(None)
        }
        Work::LinkedDelete => {
            crate::network::life::remove(state, target);
            Ok(None)
        }
        Work::Nothing => Ok(None),
    }
}

/// Ended operations, the oldest first.
pub(crate) fn ended(world: &World) -> VecDeque<(Duration, String)> {
    let ended = world.operations.values().filter(|one| !one.runs());
    let mut ended: Vec<_> = ended.map(|one| (one.ready_at, one.id.clone())).collect();
    ended.sort();
    ended.into()
}

fn forget(state: &mut State) {
    let long_ago = state.now.checked_sub(KEPT);
    while let Some((at, id)) = state.ended.front()
        && (state.ended.len() > KEPT_AT_MOST || long_ago.is_some_and(|long_ago| *at < long_ago))
    {
        state.world.operations.remove(id);
        state.ended.pop_front();
        state.revision += 1;
    }
}

/// The operation with this id, for a poll.
pub(crate) fn find<'a>(state: &'a State, id: &str) -> Result<&'a Operation, ArmError> {
    state
        .world
        .operations
        .get(&id.to_ascii_lowercase())
        .ok_or_else(|| {
            let message = format!("The operation '{id}' could not be found.");
            ArmError::new(http::StatusCode::NOT_FOUND, "NotFound", message)
        })
}

#[cfg(test)]
mod tests;
