//! Scale sets, and the lists of their instances.

use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::compute::machine_view::{View, show};
use crate::error::ArmError;
use crate::state::State;
use crate::world::{MachineKind, ScaleSet, key, leaf};

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let set = state.world.scale_sets.get(&key(&call.id));
    let set = set.ok_or_else(|| call.absent("virtualMachineScaleSets"))?;
    Ok(Reply::ok(look(state, set)).tagged("\"1\"".to_owned()))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    let found = state
        .world
        .scale_sets
        .iter()
        .filter(|(key, _)| key.starts_with(&scope));
    Ok(call.page(state, found, |set| look(state, set)))
}

/// Instances of a uniform scale set, in the order of their numbers.
pub(crate) fn instances(state: &mut State, call: &Call) -> Answer {
    let set = parent(&call.id);
    if !state.world.scale_sets.contains_key(&set) {
        return Err(no_parent(call));
    }
    let expand = call
        .query
        .get("$expand")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let view = if expand.contains("instanceview") {
        View::WithInstanceView
    } else {
        View::Model
    };
    let prefix = format!("{set}/virtualmachines/");
    let found = state.world.machines.range(prefix.clone()..);
    let found = found.take_while(|(key, _)| key.starts_with(&prefix));
    Ok(call.page(state, found, |machine| show(state, machine, view)))
}

/// The scale set above an instance, or a list of instances.
fn parent(id: &str) -> String {
    let id = key(id);
    let parts: Vec<&str> = id.split('/').take(9).collect();
    parts.join("/")
}

fn no_parent(call: &Call) -> ArmError {
    let group = call.group.as_deref().unwrap_or_default();
    let message = format!(
        "Failed to perform 'read' on resource(s) of type 'virtualMachineScaleSets/virtualMachines', because the parent resource '/subscriptions/{}/resourceGroups/{group}/providers/Microsoft.Compute/virtualMachineScaleSets/{}' could not be found.",
        call.subscription,
        call.name(0)
    );
    ArmError::new(
        http::StatusCode::NOT_FOUND,
        "ParentResourceNotFound",
        message,
    )
    .gateway()
}

/// Why the machine of a URL is not there.
pub(crate) fn absent_machine(state: &State, call: &Call) -> ArmError {
    if call.names.len() < 2 {
        return call.absent("virtualMachines");
    }
    if !state.world.scale_sets.contains_key(&parent(&call.id)) {
        return no_parent(call);
    }
    if call.name(1).parse::<u64>().is_err() {
        return ArmError::parameter(
            "instanceId",
            "Virtual Machine Scale Set VM instanceId must be a number.",
        );
    }
    let kind = format!("virtualMachineScaleSets/{}/virtualMachines", call.name(0));
    ArmError::absent(
        &kind,
        call.name(1),
        call.group.as_deref().unwrap_or_default(),
    )
}

fn look(state: &State, set: &ScaleSet) -> Value {
    let own = key(&set.id);
    let members = state
        .world
        .machines
        .values()
        .filter(|machine| match &machine.kind {
            MachineKind::Flex(id) => key(id) == own,
            MachineKind::Instance { scale_set, .. } => key(scale_set) == own,
            _ => false,
        });
    let capacity = members.count();
    let mode = if set.flexible { "Flexible" } else { "Uniform" };
    json!({
        "name": leaf(&set.id),
        "id": set.id,
        "type": "Microsoft.Compute/virtualMachineScaleSets",
        "location": set.location,
        "zones": set.zones,
        "etag": "\"1\"",
        "tags": {},
        "sku": {"name": set.size, "tier": "Standard", "capacity": capacity},
        "properties": {
            "orchestrationMode": mode,
            "singlePlacementGroup": !set.flexible,
            "upgradePolicy": {"mode": "Manual"},
            "virtualMachineProfile": {
                "osProfile": {"computerNamePrefix": set.prefix},
                "storageProfile": {},
                "networkProfile": {},
            },
            "provisioningState": "Succeeded",
            "overprovision": false,
            "platformFaultDomainCount": 5,
            "uniqueId": set.unique_id,
        },
    })
}
