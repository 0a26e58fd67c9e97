//! What is special about disk encryption sets: their changes, and who uses them.

use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::compute::kept;
use crate::state::State;
use crate::world::{Kept, key};

/// PATCH: tags, identity and properties are merged over what is there.
pub(crate) fn patch(state: &mut State, call: &Call) -> Answer {
    let found = state.world.encryption_sets.get(&key(&call.id)).cloned();
    let Kept { id, mut body } = found.ok_or_else(|| call.absent("diskEncryptionSets"))?;
    for part in ["tags", "identity"] {
        if let Some(value) = call.body.get(part) {
            body.insert(part.to_owned(), value.clone());
        }
    }
    let wanted = call.body.get("properties").and_then(Value::as_object);
    if let (Some(wanted), Some(Value::Object(own))) = (wanted, body.get_mut("properties")) {
        for (name, value) in wanted {
            own.insert(name.clone(), value.clone());
        }
    }
    let kept = Kept { id, body };
    state.world.encryption_sets.insert(key(&call.id), kept);
    kept::get(state, call)
}

/// The ids of the disks and snapshots that are encrypted with it.
pub(crate) fn associated(state: &mut State, call: &Call) -> Answer {
    kept::get(state, call)?;
    let own = key(&call.id);
    let uses = |more: &serde_json::Map<String, Value>| {
        let set = more
            .get("encryption")
            .and_then(|e| e.get("diskEncryptionSetId"));
        set.and_then(Value::as_str).is_some_and(|id| key(id) == own)
    };
    let disks = state.world.disks.values();
    let disks = disks.filter(|disk| uses(&disk.more)).map(|disk| &disk.id);
    let snapshots = state.world.snapshots.values();
    let snapshots = snapshots
        .filter(|s| uses(&s.more))
        .map(|snapshot| &snapshot.id);
    let ids: Vec<&String> = disks.chain(snapshots).collect();
    Ok(Reply::ok(json!({"value": ids})))
}
