//! SAS access to disks and snapshots.

use std::time::Duration;

use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::error::ArmError;
use crate::lro::{Start, Work, begin};
use crate::state::State;
use crate::world::{Power, key, leaf};

/// The id, the region and the access policy of a disk or a snapshot.
fn find(state: &State, call: &Call) -> Result<(String, String, Option<String>), ArmError> {
    let id = key(&call.id);
    let policy = |more: &serde_json::Map<String, Value>| {
        more.get("networkAccessPolicy")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    if let Some(disk) = state.world.disks.get(&id) {
        return Ok((disk.id.clone(), disk.location.clone(), policy(&disk.more)));
    }
    if let Some(snapshot) = state.world.snapshots.get(&id) {
        return Ok((
            snapshot.id.clone(),
            snapshot.location.clone(),
            policy(&snapshot.more),
        ));
    }
    let kind = if id.contains("/snapshots/") {
        "snapshots"
    } else {
        "disks"
    };
    Err(call.absent(kind))
}

pub(crate) fn grant(state: &mut State, call: &Call) -> Answer {
    let (id, location, policy) = find(state, call)?;
    if policy.as_deref() == Some("DenyAll") {
        let message = format!(
            "Access to {} is denied by its network access policy.",
            leaf(&id)
        );
        return Err(ArmError::conflict("OperationNotAllowed", message));
    }
    let seconds = call
        .body
        .get("durationInSeconds")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    let access = call
        .body
        .get("access")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !matches!(access, "Read" | "Write" | "None") {
        return Err(ArmError::parameter(
            "access",
            format!("The value '{access}' of parameter access is invalid."),
        ));
    }
    attached(state, &id)?;
    let takes = state.takes("disk.access");
    let work = Work::Grant(seconds);
    let start = Start {
        family: "DiskOperations",
        target: &id,
        location: &location,
        work,
        takes,
    };
    Ok(Reply::accepted(begin(state, start), None))
}

fn attached(state: &State, id: &str) -> Result<(), ArmError> {
    let owner = state
        .world
        .disks
        .get(&key(id))
        .and_then(|disk| disk.owners.first());
    let runs = owner.and_then(|owner| state.world.machines.get(&key(owner)));
    match runs.filter(|machine| machine.power != Power::Deallocated) {
        None => Ok(()),
        Some(machine) => {
            let message = format!(
                "Access not permitted because disk {} is currently attached to running VM {}.",
                leaf(id),
                machine.id
            );
            Err(ArmError::conflict("Conflict", message))
        }
    }
}

pub(crate) fn revoke(state: &mut State, call: &Call) -> Answer {
    let (id, location, _) = find(state, call)?;
    let takes = state.takes("disk.access");
    let start = Start {
        family: "DiskOperations",
        target: &id,
        location: &location,
        work: Work::Revoke,
        takes,
    };
    Ok(Reply::accepted(begin(state, start), None))
}

fn set(state: &mut State, target: &str, until: Option<Duration>) -> Option<String> {
    if let Some(disk) = state.world.disks.get_mut(target) {
        disk.sas_until = until;
        return Some(disk.unique_id.clone());
    }
    let snapshot = state.world.snapshots.get_mut(target)?;
    snapshot.sas_until = until;
    Some(snapshot.unique_id.clone())
}

/// The SAS is out.
pub(crate) fn granted(state: &mut State, target: &str, seconds: u64) -> Option<Value> {
    let until = state.now.saturating_add(Duration::from_secs(seconds));
    let unique = set(state, target, Some(until))?;
    let signature = crate::world::guid_of(&format!("{unique}{until:?}"));
    let url = format!(
        "https://md-{}.blob.storage.azure.net/{unique}/abcd?sv=2018-03-28&sr=b&si={signature}&sig={signature}",
        unique.get(..12).unwrap_or_default()
    );
    Some(json!({"accessSAS": url}))
}

/// The SAS is void.
pub(crate) fn revoked(state: &mut State, target: &str) {
    set(state, target, None);
}
