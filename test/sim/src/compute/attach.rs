//! Data disks of machines: the model that requests change, and the host that follows it.

use std::collections::BTreeSet;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value};

use crate::compute::{body, disks, machine_view, placement, skus};
use crate::error::ArmError;
use crate::lro::{Failure, Start, Work, begin, preempt};
use crate::state::State;
use crate::world::{DataDisk, Disk, Machine, Provisioning, key, leaf};

/// Disks as a request wants them.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The list after the request.
    pub(crate) list: Vec<DataDisk>,
    /// How many at its end were left out by the request, and so are detached.
    pub(crate) left_out: usize,
}

/// The list of a PUT or PATCH: complete, so what it leaves out is detached.
pub(crate) fn whole_list(
    state: &State,
    machine: &Machine,
    entries: &[Value],
) -> Result<Wanted, ArmError> {
    let mut list = Vec::new();
    for entry in entries {
        let fields = entry.as_object().ok_or_else(|| {
            ArmError::bad_request("InvalidRequestContent", "dataDisks is a list of objects.")
        })?;
        list.push(entry_of(state, machine, fields)?);
    }
    let named = list.len();
    let mut ids: BTreeSet<String> = list.iter().map(|entry| key(&entry.disk_id)).collect();
    for current in &machine.data_disks {
        // A failed entry that is left out has nothing on the host, so it is gone at once.
        if current.attached && ids.insert(key(&current.disk_id)) {
            let mut leaving = current.clone();
            leaving.to_be_detached = true;
            list.push(leaving);
        }
    }
    let left_out = list.len() - named;
    Ok(Wanted { list, left_out })
}

fn entry_of(
    state: &State,
    machine: &Machine,
    fields: &Map<String, Value>,
) -> Result<DataDisk, ArmError> {
    let lun = body::number(fields, "lun")?;
    let lun = lun.ok_or_else(|| {
        ArmError::parameter(
            "dataDisk.lun",
            "Required parameter 'dataDisk.lun' is missing (null).",
        )
    })?;
    let id = id_of(machine, fields, lun)?;
    let option = body::text(fields, "createOption")?.unwrap_or("Attach");
    let current = machine
        .data_disks
        .iter()
        .find(|disk| key(&disk.disk_id) == key(&id));
    if current.is_none() && option != "Attach" {
        let message = format!(
            "Parameters 'dataDisk.createOption' with value '{option}' and 'dataDisk.managedDisk.id' conflict with each other."
        );
        return Err(ArmError::bad_request(
            "InvalidParameterConflictingProperties",
            message,
        ));
    }
    let mut entry = blank(state, current, &id);
    entry.lun = u32::try_from(lun).unwrap_or(u32::MAX);
    if let Some(name) = body::text(fields, "name")? {
        name.clone_into(&mut entry.name);
    }
    settings(&mut entry, fields)?;
    if let Some(Value::Object(managed)) = fields.get("managedDisk")
        && let Some(Value::Object(set)) = managed.get("diskEncryptionSet")
    {
        entry.encryption_set = body::text(set, "id")?.map(str::to_owned);
    }
    entry.to_be_detached =
        body::flag(fields, "toBeDetached")?.unwrap_or(entry.to_be_detached && entry.attached);
    Ok(entry)
}

/// The disk of an entry; one that names none keeps the disk of its slot.
fn id_of(machine: &Machine, fields: &Map<String, Value>, lun: u64) -> Result<String, ArmError> {
    let managed = match fields.get("managedDisk") {
        Some(Value::Object(managed)) => body::text(managed, "id")?,
        _ => None,
    };
    let same_lun = machine
        .data_disks
        .iter()
        .find(|disk| u64::from(disk.lun) == lun);
    match (managed, same_lun) {
        (Some(id), _) => Ok(id.to_owned()),
        (None, Some(current)) => Ok(current.disk_id.clone()),
        (None, None) => Err(ArmError::parameter(
            "dataDisk.managedDisk.id",
            "Required parameter 'dataDisk.managedDisk.id' is missing (null).",
        )),
    }
}

fn blank(state: &State, current: Option<&DataDisk>, id: &str) -> DataDisk {
    if let Some(current) = current {
        return current.clone();
    }
    let disk = state.world.disks.get(&key(id));
    let caching = disk.map_or("None", placement::default_caching);
    DataDisk {
        lun: 0,
        name: leaf(id).to_owned(),
        disk_id: id.to_owned(),
        create_option: "Attach".to_owned(),
        caching: caching.to_owned(),
        delete_option: "Detach".to_owned(),
        write_accelerator: false,
        to_be_detached: false,
        force: false,
        attached: false,
        encryption_set: None,
    }
}

/// What an entry of either form may set.
fn settings(entry: &mut DataDisk, fields: &Map<String, Value>) -> Result<(), ArmError> {
    if let Some(caching) = body::text(fields, "caching")? {
        if !matches!(caching, "None" | "ReadOnly" | "ReadWrite") {
            let message = format!("The value '{caching}' of parameter caching is invalid.");
            return Err(ArmError::parameter("dataDisk.caching", message));
        }
        caching.clone_into(&mut entry.caching);
    }
    if let Some(option) = body::text(fields, "deleteOption")? {
        option.clone_into(&mut entry.delete_option);
    }
    if let Some(on) = body::flag(fields, "writeAcceleratorEnabled")? {
        entry.write_accelerator = on;
    }
    if let Some(option) = body::text(fields, "detachOption")? {
        entry.force = option == "ForceDetach";
    }
    Ok(())
}

/// The list after attachDetachDataDisks: a delta on what is wanted so far.
pub(crate) fn delta(state: &State, machine: &Machine, wanted: &Value) -> Result<Wanted, ArmError> {
    let mut list = machine.data_disks.clone();
    for fields in objects(wanted, "dataDisksToDetach")? {
        let id = disk_id(fields)?;
        // A disk that is not there needs no detach.
        for entry in list
            .iter_mut()
            .filter(|entry| key(&entry.disk_id) == key(id))
        {
            entry.to_be_detached = true;
            settings(entry, fields)?;
        }
    }
    list.retain(|entry| entry.attached || !entry.to_be_detached);
    for fields in objects(wanted, "dataDisksToAttach")? {
        let id = disk_id(fields)?;
        let lun = body::number(fields, "lun")?;
        let known = list.iter_mut().find(|entry| key(&entry.disk_id) == key(id));
        if let Some(entry) = known {
            if entry.to_be_detached {
                return Err(detaching(id, &machine.id));
            }
            continue;
        }
        let mut entry = blank(state, None, id);
        entry.lun = match lun {
            Some(lun) => u32::try_from(lun).unwrap_or(u32::MAX),
            None => free_lun(&list),
        };
        settings(&mut entry, fields)?;
        if let Some(Value::Object(set)) = fields.get("diskEncryptionSet") {
            entry.encryption_set = body::text(set, "id")?.map(str::to_owned);
        }
        list.push(entry);
    }
    Ok(Wanted { list, left_out: 0 })
}

fn objects<'a>(wanted: &'a Value, name: &str) -> Result<Vec<&'a Map<String, Value>>, ArmError> {
    let list = match wanted.get(name) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(ArmError::parameter(name, format!("{name} is a list."))),
    };
    let objects = list.iter().map(|entry| entry.as_object());
    objects
        .collect::<Option<_>>()
        .ok_or_else(|| ArmError::parameter(name, format!("{name} is a list of objects.")))
}

fn disk_id(fields: &Map<String, Value>) -> Result<&str, ArmError> {
    body::text(fields, "diskId")?.ok_or_else(|| {
        ArmError::parameter("diskId", "Required parameter 'diskId' is missing (null).")
    })
}

fn free_lun(list: &[DataDisk]) -> u32 {
    let taken: BTreeSet<u32> = list.iter().map(|entry| entry.lun).collect();
    (0..64).find(|lun| !taken.contains(lun)).unwrap_or(64)
}

/// The rules that a list must keep, in the order in which Azure checks them.
pub(crate) fn check(state: &State, machine: &Machine, wanted: &Wanted) -> Result<(), ArmError> {
    let mut luns = BTreeSet::new();
    let named = wanted.list.len() - wanted.left_out;
    for entry in wanted.list.iter().take(named) {
        if !luns.insert(entry.lun) {
            let message = format!("A disk at LUN {} already exists.", entry.lun);
            return Err(ArmError::parameter("dataDisk.lun", message));
        }
        if entry.lun > 63 {
            let message = format!(
                "The value {} of parameter dataDisk.lun is out of range. Value must be between '0' and '63'.",
                entry.lun
            );
            return Err(ArmError::parameter("dataDisk.lun", message));
        }
    }
    let most = skus::vm_size(&machine.size).max_data_disks;
    let staying = wanted
        .list
        .iter()
        .filter(|entry| !entry.to_be_detached)
        .count();
    if staying > most {
        let message = format!(
            "The maximum number of data disks allowed to be attached to a VM of this size is {most}."
        );
        return Err(ArmError::conflict("OperationNotAllowed", message).target("dataDisks"));
    }
    pairing(machine, wanted)?;
    for entry in wanted.list.iter().filter(|entry| !entry.to_be_detached) {
        let disk = state.world.disks.get(&key(&entry.disk_id));
        match disk {
            Some(disk) if entry.attached => placement::fits(machine, disk, entry)?,
            Some(disk) => attachable(state, machine, disk, entry)?,
            None => return Err(missing(&entry.disk_id)),
        }
    }
    Ok(())
}

/// A slot keeps its disk, and a disk its slot, until the disk is detached.
fn pairing(machine: &Machine, wanted: &Wanted) -> Result<(), ArmError> {
    let refuse = |property: &str| {
        let message = format!("Changing property '{property}' is not allowed.");
        Err(ArmError::conflict("PropertyChangeNotAllowed", message).target(property))
    };
    for current in machine.data_disks.iter().filter(|disk| disk.attached) {
        for entry in &wanted.list {
            let same = key(&entry.disk_id) == key(&current.disk_id);
            if !same && entry.lun == current.lun {
                return refuse("dataDisk.managedDisk.id");
            }
            if same && entry.lun != current.lun {
                return refuse("dataDisk.lun");
            }
        }
    }
    Ok(())
}

fn missing(id: &str) -> ArmError {
    let message = format!("Disk {id} is not found.");
    ArmError::new(StatusCode::NOT_FOUND, "NotFound", message).target("dataDisk")
}

fn detaching(id: &str, machine: &str) -> ArmError {
    let message = format!(
        "Cannot attach data disk '{}' to VM '{}' because the disk is currently being detached or the last detach operation failed. Please wait until the disk is completely detached and then try again or delete/detach the disk explicitly again.",
        leaf(id),
        leaf(machine)
    );
    ArmError::conflict("AttachDiskWhileBeingDetached", message).target("dataDisk")
}

fn owned_by(disk: &str, owner: &str) -> String {
    format!("Disk '{disk}' cannot be attached as the disk is already owned by VM '{owner}'.")
}

fn attachable(
    state: &State,
    machine: &Machine,
    disk: &Disk,
    entry: &DataDisk,
) -> Result<(), ArmError> {
    if disk.sas_until.is_some_and(|until| until > state.now) {
        let message = format!(
            "Cannot attach the disk {} to VM {} because it has an active shared access signature.",
            leaf(&disk.id),
            leaf(&machine.id)
        );
        return Err(ArmError::conflict("OperationNotAllowed", message));
    }
    let others: Vec<&String> = disk
        .owners
        .iter()
        .filter(|owner| key(owner) != key(&machine.id))
        .collect();
    let leaving = |owner: &&&String| {
        let other = state.world.machines.get(&key(owner));
        other.is_some_and(|other| {
            let of = |entry: &&DataDisk| key(&entry.disk_id) == key(&disk.id);
            other
                .data_disks
                .iter()
                .find(of)
                .is_some_and(|entry| entry.to_be_detached)
        })
    };
    let room = usize::try_from(disk.max_shares).unwrap_or(1);
    if others.len() >= room {
        if let Some(owner) = others.iter().find(leaving) {
            return Err(detaching(&disk.id, owner));
        }
        let owner = others.first().map_or("", |owner| owner.as_str());
        return Err(
            ArmError::conflict("ConflictingUserInput", owned_by(&disk.id, owner))
                .target("dataDisk"),
        );
    }
    placement::fits(machine, disk, entry)
}

/// Takes the list over into the model, and starts the work on the host.
pub(crate) fn accept(state: &mut State, target: &str, wanted: Wanted) -> String {
    let mut takes = state.takes("machine.base");
    for entry in &wanted.list {
        // The host works on several disks at once, so the longest one counts.
        let one = match (entry.attached, entry.to_be_detached) {
            (true, true) if entry.force => Duration::ZERO,
            (true, true) => state.takes("machine.detach"),
            (false, false) => state.takes("machine.attach"),
            _ => Duration::ZERO,
        };
        takes = takes.max(one);
    }
    start(state, target, Some(wanted.list), (Work::DataDisks, takes))
}

/// Starts an operation on a machine; one that runs is replaced by it.
pub(crate) fn start(
    state: &mut State,
    target: &str,
    list: Option<Vec<DataDisk>>,
    (work, takes): (Work, Duration),
) -> String {
    let Some(machine) = state.world.machines.get(target) else {
        return String::new();
    };
    let (id, location, running) = (
        machine.id.clone(),
        machine.location.clone(),
        machine.running.clone(),
    );
    let shown = machine_view::show(state, machine, machine_view::View::Model);
    state.remember(target, shown);
    if let Some(running) = running {
        preempt(state, &running);
    }
    let start = Start {
        family: "operations",
        target: &id,
        location: &location,
        work,
        takes,
    };
    let operation = begin(state, start);
    if let Some(machine) = state.world.machines.get_mut(target) {
        machine.etag += 1;
        machine.provisioning = Provisioning::Updating;
        machine.running = Some(operation.clone());
        if let Some(list) = list {
            machine.data_disks = list;
        }
    }
    operation
}

/// The host has done its work, disk by disk; one that fails does not stop the others.
pub(crate) fn finish(state: &mut State, target: &str) -> Result<Option<Value>, Failure> {
    let Some(mut machine) = state.world.machines.get(target).cloned() else {
        return Err(Failure::new("NotFound", "The virtual machine is gone."));
    };
    let mut failed = None;
    for entry in machine
        .data_disks
        .iter()
        .filter(|entry| entry.to_be_detached && entry.attached)
    {
        release(state, &machine.id, entry);
    }
    machine.data_disks.retain(|entry| !entry.to_be_detached);
    for entry in machine
        .data_disks
        .iter_mut()
        .filter(|entry| !entry.attached)
    {
        match take(state, &machine.id, entry) {
            Ok(()) => entry.attached = true,
            Err(failure) => failed = Some(failure),
        }
    }
    machine.provisioning = if failed.is_some() {
        Provisioning::Failed
    } else {
        Provisioning::Succeeded
    };
    machine.running = None;
    let shown = machine_view::storage_profile(state, &machine);
    state.world.machines.insert(target.to_owned(), machine);
    failed.map_or(Ok(Some(shown)), Err)
}

/// The host lets go of a disk.
pub(crate) fn release(state: &mut State, machine: &str, entry: &DataDisk) {
    if let Some(link) = state.knobs.link.clone() {
        if link.is_mounted(machine, &entry.disk_id) {
            let about = format!(
                "{} was detached from {machine} while it was mounted",
                entry.disk_id
            );
            state
                .violations
                .add("detachedWhileMounted", about, state.now);
        }
        link.detached(machine, &entry.disk_id, entry.lun);
    }
    let disk_key = key(&entry.disk_id);
    if let Some(disk) = state.world.disks.get(&disk_key) {
        let owners = disk
            .owners
            .iter()
            .filter(|owner| key(owner) != key(machine));
        let owners = owners.cloned().collect();
        disks::owned(state, &disk_key, owners);
    }
}

fn take(state: &mut State, machine: &str, entry: &DataDisk) -> Result<(), Failure> {
    let disk_key = key(&entry.disk_id);
    let Some(disk) = state.world.disks.get(&disk_key) else {
        let error = missing(&entry.disk_id);
        return Err(Failure::new(&error.code, error.message));
    };
    let mut owners = disk.owners.clone();
    if !owners.iter().any(|owner| key(owner) == key(machine)) {
        if owners.len() >= usize::try_from(disk.max_shares).unwrap_or(1) {
            let owner = owners.first().map_or("", String::as_str);
            return Err(Failure::new(
                "ConflictingUserInput",
                owned_by(&disk.id, owner),
            ));
        }
        owners.push(machine.to_owned());
    }
    let (id, gib) = (disk.id.clone(), disk.gib);
    disks::owned(state, &disk_key, owners);
    if let Some(link) = &state.knobs.link {
        link.attached(machine, &id, entry.lun, gib);
    }
    Ok(())
}
