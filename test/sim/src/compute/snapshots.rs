//! Snapshots.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Reply};
use crate::compute::{body, disk_rules, placement, skus};
use crate::error::ArmError;
use crate::lro::{Start, Work, begin};
use crate::stamp::stamp;
use crate::state::State;
use crate::world::{Copying, Origin, Provisioning, Snapshot, guid_of, key, leaf};

/// Properties that are kept as they were given.
const PASSED: [&str; 5] = [
    "encryption",
    "networkAccessPolicy",
    "publicNetworkAccess",
    "diskAccessId",
    "dataAccessAuthMode",
];
/// Incremental snapshots of one disk.
const MOST: usize = 500;

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let snapshot = state.world.snapshots.get(&key(&call.id));
    let snapshot = snapshot.ok_or_else(|| call.absent("snapshots"))?;
    Ok(Reply::ok(show(state, snapshot)))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    let found = state
        .world
        .snapshots
        .iter()
        .filter(|(key, _)| key.starts_with(&scope));
    Ok(call.page(state, found, |snapshot| show(state, snapshot)))
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    let target = key(&call.id);
    let snapshot = if let Some(existing) = state.world.snapshots.get(&target).cloned() {
        same(&existing, &call.body)?;
        existing
    } else {
        disk_rules::name(call.name(0))?;
        let made = made(state, call)?;
        crate::quotas::snapshot(state, &made)?;
        if let Some(source) = &made.origin.source_unique_id {
            state.marks.came_from(&made.unique_id, source);
        }
        state.world.snapshots.insert(target.clone(), made.clone());
        made
    };
    accept(state, &snapshot, call, "snapshot.create")
}

pub(crate) fn patch(state: &mut State, call: &Call) -> Answer {
    let snapshot = state.world.snapshots.get(&key(&call.id)).cloned();
    let snapshot = snapshot.ok_or_else(|| call.absent("snapshots"))?;
    accept(state, &snapshot, call, "snapshot.update")
}

fn accept(state: &mut State, snapshot: &Snapshot, call: &Call, what: &str) -> Answer {
    body::tags(&call.body)?;
    let takes = state.takes(what);
    if let Some(snapshot) = state.world.snapshots.get_mut(&key(&snapshot.id)) {
        snapshot.provisioning = Provisioning::Updating;
    }
    let start = Start {
        family: "DiskOperations",
        target: &snapshot.id,
        location: &snapshot.location,
        work: Work::Snapshot(call.body.clone()),
        takes,
    };
    let operation = begin(state, start);
    let mut shown = show(state, snapshot);
    if let Some(state) = shown.pointer_mut("/properties/provisioningState") {
        *state = json!("Updating");
    }
    Ok(Reply::accepted(operation, Some(shown)))
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    let Some(snapshot) = state.world.snapshots.get(&key(&call.id)).cloned() else {
        return Ok(Reply::new(StatusCode::NO_CONTENT, None));
    };
    if snapshot.sas_until.is_some_and(|until| until > state.now) {
        let message = format!(
            "There is an active shared access signature outstanding for snapshot {}. Call EndGetAccess before deleting it.",
            leaf(&snapshot.id)
        );
        return Err(ArmError::conflict("OperationNotAllowed", message));
    }
    let takes = state.takes("snapshot.delete");
    let start = Start {
        family: "DiskOperations",
        target: &snapshot.id,
        location: &snapshot.location,
        work: Work::SnapshotDelete,
        takes,
    };
    Ok(Reply::accepted(begin(state, start), None))
}

/// The same name for another source is refused.
fn same(existing: &Snapshot, wanted: &Value) -> Result<(), ArmError> {
    let source = wanted
        .pointer("/properties/creationData/sourceResourceId")
        .and_then(Value::as_str);
    if source.is_some_and(|id| Some(key(id)) != existing.origin.source.as_deref().map(key)) {
        let message = format!(
            "The snapshot {} cannot be changed: it was made from the existing disk '{}'.",
            leaf(&existing.id),
            existing.origin.source.as_deref().unwrap_or_default()
        );
        return Err(ArmError::conflict("OperationNotAllowed", message));
    }
    Ok(())
}

/// What a snapshot takes over from its source.
struct Source {
    gib: u64,
    odd_bytes: u64,
    sku: String,
    unique_id: String,
    location: String,
    ready: f64,
    incremental: bool,
}

fn source(state: &State, id: &str) -> Result<Source, ArmError> {
    let ready = |copying: Option<Copying>| copying.map_or(100.0, |c| c.percent(state.now));
    if let Some(disk) = state.world.disks.get(&key(id)) {
        return Ok(Source {
            gib: disk.gib,
            odd_bytes: disk.odd_bytes,
            sku: disk.sku.clone(),
            unique_id: disk.unique_id.clone(),
            location: disk.location.clone(),
            ready: ready(disk.copying),
            incremental: false,
        });
    }
    if let Some(snapshot) = state.world.snapshots.get(&key(id)) {
        return Ok(Source {
            gib: snapshot.gib,
            odd_bytes: snapshot.odd_bytes,
            sku: snapshot.source_sku.clone(),
            unique_id: snapshot.unique_id.clone(),
            location: snapshot.location.clone(),
            ready: ready(snapshot.copying),
            incremental: snapshot.incremental,
        });
    }
    let message = format!("Resource {id} is not found.");
    Err(ArmError::new(
        StatusCode::NOT_FOUND,
        "ResourceNotFound",
        message,
    ))
}

fn made(state: &mut State, call: &Call) -> Result<Snapshot, ArmError> {
    let location = placement::location(state, &call.body)?;
    let properties = body::properties(&call.body)?;
    let Some(Value::Object(data)) = properties.get("creationData") else {
        return Err(ArmError::parameter(
            "creationData",
            "Required parameter 'creationData' is missing (null).",
        ));
    };
    let id = body::text(data, "sourceResourceId")?.unwrap_or_default();
    let from = source(state, id)?;
    let incremental = body::flag(&properties, "incremental")?.unwrap_or(false);
    let option = body::text(data, "createOption")?
        .unwrap_or_default()
        .to_owned();
    allowed(&option, &location, &from, (id, incremental))?;
    let family = guid_of(&from.unique_id);
    if incremental && option == "Copy" {
        room(state, &family)?;
    }
    let copying = copying(state, &option, &from.sku);
    let mut origin = Origin {
        source: Some(id.to_owned()),
        source_unique_id: Some(from.unique_id.clone()),
        shown: data.clone(),
    };
    origin
        .shown
        .insert("sourceUniqueId".into(), json!(from.unique_id));
    let named = call.body.pointer("/sku/name").and_then(Value::as_str);
    Ok(Snapshot {
        id: call.id.clone(),
        location,
        tags: body::tags(&call.body)?.unwrap_or_default(),
        sku: named.unwrap_or("Standard_LRS").to_owned(),
        gib: from.gib,
        odd_bytes: from.odd_bytes,
        incremental,
        family: incremental.then_some(family),
        source_sku: from.sku,
        origin,
        more: Map::new(),
        copying: Some(copying),
        sas_until: None,
        unique_id: state.guid(),
        created_ms: state.wall_ms,
        provisioning: Provisioning::Updating,
    })
}

fn allowed(
    option: &str,
    location: &str,
    from: &Source,
    (id, incremental): (&str, bool),
) -> Result<(), ArmError> {
    if !matches!(option, "Copy" | "CopyStart") {
        let message = format!("The value '{option}' of parameter createOption is not supported.");
        return Err(ArmError::parameter("createOption", message));
    }
    if option == "CopyStart" && !(incremental && from.incremental) {
        return Err(ArmError::parameter(
            "createOption",
            "CopyStart copies incremental snapshots to incremental snapshots only.",
        ));
    }
    if option == "Copy" && location != from.location {
        let message = format!(
            "Snapshot in location {location} cannot be made from '{id}' in location {}.",
            from.location
        );
        return Err(ArmError::parameter(
            "creationData.sourceResourceId",
            message,
        ));
    }
    if skus::is_flexible(&from.sku) && !incremental {
        let message = format!(
            "Only incremental snapshots can be made of a disk of type {}.",
            from.sku
        );
        return Err(ArmError::parameter("incremental", message));
    }
    if from.ready < 100.0 {
        let message = format!(
            "The copy of '{id}' is still in progress: {} percent.",
            from.ready
        );
        return Err(ArmError::conflict("OperationNotAllowed", message));
    }
    Ok(())
}

fn room(state: &State, family: &str) -> Result<(), ArmError> {
    let members = state.world.snapshots.values();
    let members: Vec<&Snapshot> = members
        .filter(|other| other.family.as_deref() == Some(family))
        .collect();
    if members.len() >= MOST {
        let message = format!("The disk has {MOST} incremental snapshots, which is the most.");
        return Err(ArmError::conflict("OperationNotAllowed", message));
    }
    let pending = members.iter().filter_map(|other| other.copying);
    let pending = pending.filter(|copying| copying.until > state.now).count();
    if pending >= 3 {
        return Err(ArmError::conflict(
            "OperationNotAllowed",
            "The disk has three snapshots whose background copy is in progress, which is the most.",
        ));
    }
    Ok(())
}

fn copying(state: &mut State, option: &str, sku: &str) -> Copying {
    let slow = option == "CopyStart" || skus::is_flexible(sku);
    let takes = if slow {
        state.takes("snapshot.copy")
    } else {
        std::time::Duration::ZERO
    };
    Copying {
        from: state.now,
        until: state.now + takes,
    }
}

/// PUT or PATCH ends.
pub(crate) fn finish(state: &mut State, target: &str, wanted: &Value) -> Option<Value> {
    let mut snapshot = state.world.snapshots.get(target)?.clone();
    snapshot.provisioning = Provisioning::Succeeded;
    if let Ok(Some(tags)) = body::tags(wanted) {
        snapshot.tags = tags;
    }
    for name in PASSED {
        if let Some(value) = wanted
            .pointer("/properties")
            .and_then(|fields| fields.get(name))
        {
            snapshot.more.insert(name.to_owned(), value.clone());
        }
    }
    state
        .world
        .snapshots
        .insert(target.to_owned(), snapshot.clone());
    Some(show(state, &snapshot))
}

fn show(state: &State, snapshot: &Snapshot) -> Value {
    let granted = snapshot.sas_until.is_some_and(|until| until > state.now);
    let percent = snapshot
        .copying
        .map_or(100.0, |copying| copying.percent(state.now));
    let access = if percent < 100.0 {
        "Pending"
    } else {
        "Available"
    };
    let mut properties = snapshot.more.clone();
    let fields = json!({
        "creationData": snapshot.origin.shown,
        "diskSizeGB": snapshot.gib,
        "diskSizeBytes": (snapshot.gib << 30) + snapshot.odd_bytes,
        "incremental": snapshot.incremental,
        "completionPercent": percent,
        "snapshotAccessState": access,
        "diskState": if granted { "ActiveSAS" } else { "Unattached" },
        "timeCreated": stamp(snapshot.created_ms),
        "uniqueId": snapshot.unique_id,
        "provisioningState": snapshot.provisioning.text(),
    });
    if let Value::Object(fields) = fields {
        properties.extend(fields);
    }
    if let Some(family) = &snapshot.family {
        properties.insert("incrementalSnapshotFamilyId".into(), json!(family));
    }
    json!({
        "name": leaf(&snapshot.id),
        "id": snapshot.id,
        "type": "Microsoft.Compute/snapshots",
        "location": snapshot.location,
        "tags": snapshot.tags,
        "sku": {"name": snapshot.sku, "tier": snapshot.sku.split('_').next()},
        "properties": properties,
    })
}
