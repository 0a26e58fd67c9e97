//! Virtual machines and the instances of uniform scale sets: one file, because all that can be done
//! with one can be done with the other.

use http::StatusCode;
use serde_json::Value;

use crate::call::{Answer, Call, Links, Reply};
use crate::compute::machine_view::{View, instance_view, show};
use crate::compute::{attach, body};
use crate::error::ArmError;
use crate::lro::{Work, begin};
use crate::state::State;
use crate::world::{Machine, MachineKind, Power, Provisioning, key};

/// The machine that the URL names.
fn find(state: &State, call: &Call) -> Result<Machine, ArmError> {
    let found = state.world.machines.get(&key(&call.id)).cloned();
    found.ok_or_else(|| crate::compute::vmss::absent_machine(state, call))
}

fn view(call: &Call) -> View {
    let wanted = call.query.get("$expand").unwrap_or_default();
    if wanted.to_ascii_lowercase().contains("instanceview") {
        View::WithInstanceView
    } else {
        View::Model
    }
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let machine = find(state, call)?;
    Ok(Reply::ok(show(state, &machine, view(call))).tagged(machine.etag()))
}

pub(crate) fn get_view(state: &mut State, call: &Call) -> Answer {
    let machine = find(state, call)?;
    Ok(Reply::ok(instance_view(&machine)))
}

/// Virtual machines of a group, a subscription or a region.
pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    let place = (!call.names.is_empty()).then(|| crate::world::region(call.name(0)));
    let filter = call.query.get("$filter").map(str::to_owned);
    let set = match filter.as_deref() {
        None => None,
        Some(text) => Some(scale_set(text)?),
    };
    let view = view(call);
    let found = state.world.machines.iter().filter(|(id, machine)| {
        let of_set = match &machine.kind {
            MachineKind::Instance { .. } => return false,
            MachineKind::Flex(id) => Some(key(id)),
            _ => None,
        };
        id.starts_with(&scope)
            && place
                .as_ref()
                .is_none_or(|place| *place == machine.location)
            && set.as_ref().is_none_or(|set| of_set.as_ref() == Some(set))
    });
    Ok(call.page(state, found, |machine| show(state, machine, view)))
}

/// `'virtualMachineScaleSet/id' eq '…'`: the one filter there is.
fn scale_set(filter: &str) -> Result<String, ArmError> {
    let parts: Vec<&str> = filter.split('\'').collect();
    let known = |text: &&str| text.eq_ignore_ascii_case("virtualMachineScaleSet/id");
    match parts.as_slice() {
        [_, name, middle, id, _] if known(name) && middle.trim() == "eq" => Ok(key(id)),
        _ => {
            let message = format!("The filter '{filter}' is not supported.");
            Err(ArmError::parameter("$filter", message))
        }
    }
}

/// PUT of a machine that exists, or PATCH: merges.
pub(crate) fn update(state: &mut State, call: &Call) -> Answer {
    let machine = find(state, call)?;
    busy(&machine)?;
    matched(call, &machine)?;
    let properties = body::properties(&call.body)?;
    let entries = match properties
        .get("storageProfile")
        .and_then(|profile| profile.get("dataDisks"))
    {
        None | Some(Value::Null) => None,
        Some(Value::Array(entries)) => Some(entries.clone()),
        Some(_) => return Err(ArmError::parameter("dataDisks", "dataDisks is a list.")),
    };
    let target = key(&machine.id);
    let tags = body::tags(&call.body)?;
    let operation = if let Some(entries) = entries {
        let wanted = attach::whole_list(state, &machine, &entries)?;
        attach::check(state, &machine, &wanted)?;
        attach::accept(state, &target, wanted)
    } else {
        // Even an empty update runs the whole goal state once more.
        let wanted = attach::Wanted {
            list: machine.data_disks.clone(),
            left_out: 0,
        };
        attach::accept(state, &target, wanted)
    };
    if let Some(machine) = state.world.machines.get_mut(&target)
        && let Some(tags) = tags
    {
        machine.tags = tags;
    }
    let machine = find(state, call)?;
    let reply = Reply::ok(show(state, &machine, View::Model)).tagged(machine.etag());
    Ok(reply.with(operation, Links::Async))
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    if state.world.machines.contains_key(&key(&call.id)) {
        return update(state, call);
    }
    let location = crate::compute::placement::location(state, &call.body)?;
    let size = call
        .body
        .pointer("/properties/hardwareProfile/vmSize")
        .and_then(Value::as_str);
    let size = size.ok_or_else(|| {
        ArmError::parameter("vmSize", "Required parameter 'vmSize' is missing (null).")
    })?;
    let mut machine = Machine::new(&call.id, kind(&call.body), &location, size);
    machine.zone = body::zones(&call.body)?.into_iter().next();
    machine.tags = body::tags(&call.body)?.unwrap_or_default();
    machine.vm_id = state.guid();
    machine.created_ms = state.wall_ms;
    machine.provisioning = Provisioning::Creating;
    let named = call
        .body
        .pointer("/properties/osProfile/computerName")
        .and_then(Value::as_str);
    if let Some(named) = named {
        named.clone_into(&mut machine.computer_name);
    }
    state.world.add_machine(machine);
    let takes = state.takes("machine.power");
    let work = (Work::Power(Some(Power::Running)), takes);
    let operation = attach::start(state, &key(&call.id), None, work);
    let machine = find(state, call)?;
    let mut shown = show(state, &machine, View::Model);
    if let Some(state) = shown.pointer_mut("/properties/provisioningState") {
        *state = Value::from("Creating");
    }
    let reply = Reply::new(StatusCode::CREATED, Some(shown)).tagged(machine.etag());
    Ok(reply.with(operation, Links::Async))
}

fn kind(wanted: &Value) -> MachineKind {
    let id = |pointer: &str| {
        wanted
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    if let Some(set) = id("/properties/virtualMachineScaleSet/id") {
        return MachineKind::Flex(set);
    }
    id("/properties/availabilitySet/id")
        .map_or(MachineKind::Standalone, MachineKind::AvailabilitySet)
}

pub(crate) fn attach_detach(state: &mut State, call: &Call) -> Answer {
    let machine = find(state, call)?;
    busy(&machine)?;
    matched(call, &machine)?;
    let wanted = attach::delta(state, &machine, &call.body)?;
    attach::check(state, &machine, &wanted)?;
    let operation = attach::accept(state, &key(&machine.id), wanted);
    Ok(Reply::accepted(operation, None))
}

/// A machine on its way out takes no changes.
fn busy(machine: &Machine) -> Result<(), ArmError> {
    if machine.provisioning != Provisioning::Deleting {
        return Ok(());
    }
    let what = if matches!(machine.kind, MachineKind::Instance { .. }) {
        "Put on Virtual Machine Scale Set VM Instance"
    } else {
        "Update VM"
    };
    let message = format!(
        "Operation '{what}' is not allowed on {} since it is marked for deletion. You can only retry the Delete operation (or wait for an ongoing one to complete).",
        machine.name()
    );
    Err(ArmError::conflict("OperationNotAllowed", message))
}

fn matched(call: &Call, machine: &Machine) -> Result<(), ArmError> {
    let Some(given) = call.if_match.as_deref().filter(|given| *given != "*") else {
        return Ok(());
    };
    let etag = machine.etag();
    if given == etag {
        return Ok(());
    }
    let message =
        format!("Etag provided in if-match header {given} does not match etag {etag} of resource.");
    Err(ArmError::new(
        StatusCode::PRECONDITION_FAILED,
        "PreconditionFailed",
        message,
    ))
}

pub(crate) fn start(state: &mut State, call: &Call) -> Answer {
    power(state, call, Some(Power::Running))
}

pub(crate) fn power_off(state: &mut State, call: &Call) -> Answer {
    power(state, call, Some(Power::Stopped))
}

pub(crate) fn deallocate(state: &mut State, call: &Call) -> Answer {
    power(state, call, Some(Power::Deallocated))
}

pub(crate) fn restart(state: &mut State, call: &Call) -> Answer {
    power(state, call, None)
}

fn power(state: &mut State, call: &Call, wanted: Option<Power>) -> Answer {
    let machine = find(state, call)?;
    busy(&machine)?;
    let takes = state.takes("machine.power");
    let work = (Work::Power(wanted), takes);
    let operation = attach::start(state, &key(&machine.id), None, work);
    Ok(Reply::accepted(operation, None))
}

/// The power state is reached; disks that were on their way go along.
pub(crate) fn powered(state: &mut State, target: &str, power: Option<Power>) -> Option<Value> {
    if let Some(machine) = state.world.machines.get_mut(target) {
        machine.power = power.unwrap_or(machine.power);
    }
    if let Err(failure) = attach::finish(state, target) {
        tracing::debug!(code = failure.code, "a disk did not come along");
    }
    None
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    let Ok(machine) = find(state, call) else {
        return Ok(Reply::new(StatusCode::NO_CONTENT, None));
    };
    let target = key(&machine.id);
    let takes = state.takes("machine.delete");
    let operation = attach::start(state, &target, None, (Work::MachineDelete, takes));
    if let Some(machine) = state.world.machines.get_mut(&target) {
        machine.provisioning = Provisioning::Deleting;
    }
    Ok(Reply::accepted(operation, None))
}

/// The machine is gone: its data disks are free, or gone with it when they were to be.
pub(crate) fn remove(state: &mut State, target: &str) {
    let Some(machine) = state.world.machines.remove(target) else {
        return;
    };
    for entry in machine.data_disks.iter().filter(|entry| entry.attached) {
        attach::release(state, &machine.id, entry);
        if entry.delete_option == "Delete" {
            let disk = state.world.disks.get(&key(&entry.disk_id)).cloned();
            if let Some(disk) = disk.filter(|disk| disk.owners.is_empty()) {
                let start = crate::lro::Start {
                    family: "DiskOperations",
                    target: &disk.id,
                    location: &disk.location,
                    work: Work::DiskDelete,
                    takes: std::time::Duration::ZERO,
                };
                begin(state, start);
            }
        }
    }
}
