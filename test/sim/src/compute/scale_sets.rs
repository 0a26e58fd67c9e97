//! Writes of scale sets: made, scaled, emptied and deleted. Instances come and go at once; the
//! operation that the client polls takes its time.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::Value;

use crate::call::{Answer, Call, Links, Reply};
use crate::compute::{body, placement, skus, vms, vmss};
use crate::error::ArmError;
use crate::lro::{Start, Work, begin};
use crate::state::State;
use crate::world::{Machine, MachineKind, ScaleSet, key, leaf};

/// Instances of one set at most (Azure's limit of a single set).
const MOST: u64 = 1000;

/// A set as asked; one that is there is changed like by PATCH.
pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    if state.world.scale_sets.contains_key(&key(&call.id)) {
        return patch(state, call);
    }
    let location = placement::location(state, &call.body)?;
    let size = call.body.pointer("/sku/name").and_then(Value::as_str);
    let size = size.ok_or_else(|| missing("sku.name"))?;
    if !skus::vm_sizes().contains_key(&size.to_ascii_lowercase()) {
        let message = format!("The value {size} of parameter sku.name is not a VM size.");
        return Err(ArmError::parameter("sku.name", message));
    }
    let mode = call
        .body
        .pointer("/properties/orchestrationMode")
        .and_then(Value::as_str)
        .unwrap_or("Uniform");
    let prefix = call
        .body
        .pointer("/properties/virtualMachineProfile/osProfile/computerNamePrefix")
        .and_then(Value::as_str)
        .unwrap_or_else(|| leaf(&call.id));
    let set = ScaleSet {
        id: call.id.clone(),
        location,
        zones: body::zones(&call.body)?,
        size: size.to_owned(),
        flexible: mode.eq_ignore_ascii_case("Flexible"),
        prefix: prefix.to_owned(),
        unique_id: state.guid(),
    };
    let wanted = capacity(&call.body)?;
    state.world.add_scale_set(set.clone());
    if let Some(wanted) = wanted {
        scale(state, &set, wanted);
    }
    answer(state, call, &set, StatusCode::CREATED)
}

/// Another number of instances; nothing else of a set can be changed here.
pub(crate) fn patch(state: &mut State, call: &Call) -> Answer {
    let set = state.world.scale_sets.get(&key(&call.id)).cloned();
    let set = set.ok_or_else(|| call.absent("virtualMachineScaleSets"))?;
    if let Some(wanted) = capacity(&call.body)? {
        scale(state, &set, wanted);
    }
    answer(state, call, &set, StatusCode::OK)
}

/// The set with all its instances.
pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    let Some(set) = state.world.scale_sets.remove(&key(&call.id)) else {
        return Ok(Reply::new(StatusCode::NO_CONTENT, None));
    };
    for machine in members(state, &set) {
        vms::remove(state, &machine);
    }
    Ok(Reply::accepted(
        operation(state, &set, "machine.delete"),
        None,
    ))
}

/// Some of its instances, by their numbers; `*` for all.
pub(crate) fn delete_instances(state: &mut State, call: &Call) -> Answer {
    let set = state.world.scale_sets.get(&key(&call.id)).cloned();
    let set = set.ok_or_else(|| call.absent("virtualMachineScaleSets"))?;
    let ids = call.body.get("instanceIds").and_then(Value::as_array);
    let ids = ids.ok_or_else(|| missing("instanceIds"))?;
    let ids: BTreeSet<&str> = ids.iter().filter_map(Value::as_str).collect();
    for machine in members(state, &set) {
        if ids.contains("*") || ids.contains(leaf(&machine)) {
            vms::remove(state, &machine);
        }
    }
    Ok(Reply::accepted(
        operation(state, &set, "machine.delete"),
        None,
    ))
}

fn missing(name: &str) -> ArmError {
    let message = format!("Required parameter '{name}' is missing (null).");
    ArmError::parameter(name, message)
}

fn capacity(wanted: &Value) -> Result<Option<u64>, ArmError> {
    match wanted.pointer("/sku/capacity") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) if number <= MOST => Ok(Some(number)),
            _ => {
                let message =
                    format!("The value {value} of parameter sku.capacity is out of range.");
                Err(ArmError::parameter("sku.capacity", message))
            }
        },
    }
}

/// Keys of the instances, in order.
fn members(state: &State, set: &ScaleSet) -> Vec<String> {
    let own = key(&set.id);
    let is_member = |machine: &&Machine| match &machine.kind {
        MachineKind::Flex(id) => key(id) == own,
        MachineKind::Instance { scale_set, .. } => key(scale_set) == own,
        _ => false,
    };
    let found = state.world.machines.values().filter(is_member);
    found.map(|machine| key(&machine.id)).collect()
}

/// New instances get the next numbers; the newest go first.
fn scale(state: &mut State, set: &ScaleSet, wanted: u64) {
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let mut there = members(state, set);
    there.sort_by_key(|id| number(id));
    while there.len() > wanted {
        if let Some(last) = there.pop() {
            vms::remove(state, &last);
        }
    }
    let next = there
        .iter()
        .filter_map(|id| number(id))
        .max()
        .map_or(0, |last| last + 1);
    for (number, index) in (next..).zip(there.len()..wanted) {
        let zone = match set.zones.as_slice() {
            [] => None,
            zones => Some(zones[index % zones.len()].as_str()),
        };
        let mut machine = instance(set, number).zoned(zone);
        machine.vm_id = state.guid();
        machine.created_ms = state.wall_ms;
        state.world.add_machine(machine);
    }
}

/// The number at the end of the id of an instance.
fn number(id: &str) -> Option<u64> {
    leaf(id).rsplit('_').next()?.parse().ok()
}

fn instance(set: &ScaleSet, number: u64) -> Machine {
    if set.flexible {
        let (scope, _) = set
            .id
            .split_once("/virtualMachineScaleSets/")
            .unwrap_or((&set.id, ""));
        let name = format!("{}_{number}", leaf(&set.id));
        let id = format!("{scope}/virtualMachines/{name}");
        return Machine::new(
            &id,
            MachineKind::Flex(set.id.clone()),
            &set.location,
            &set.size,
        );
    }
    let kind = MachineKind::Instance {
        scale_set: set.id.clone(),
        instance_id: number.to_string(),
    };
    let id = format!("{}/virtualMachines/{number}", set.id);
    let name = format!("{}{}", set.prefix, base_36(number));
    Machine::new(&id, kind, &set.location, &set.size).named(&name)
}

/// Six digits of base 36: how host names of instances end.
fn base_36(mut number: u64) -> String {
    const DIGITS: [char; 36] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h',
        'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z',
    ];
    let mut text = ['0'; 6];
    for place in text.iter_mut().rev() {
        *place = usize::try_from(number % 36).map_or('0', |digit| DIGITS[digit]);
        number /= 36;
    }
    text.iter().collect()
}

fn operation(state: &mut State, set: &ScaleSet, draws: &str) -> String {
    let takes = state.takes(draws);
    let start = Start {
        family: "operations",
        target: &set.id,
        location: &set.location,
        work: Work::Nothing,
        takes,
    };
    begin(state, start)
}

fn answer(state: &mut State, call: &Call, set: &ScaleSet, status: StatusCode) -> Answer {
    let mut reply = vmss::get(state, call)?;
    reply.status = status;
    let operation = operation(state, set, "machine.power");
    Ok(reply.with(operation, Links::Async))
}
