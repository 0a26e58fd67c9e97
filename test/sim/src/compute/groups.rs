//! Deletion of a resource group, and what a subscription uses of its quotas.

use http::StatusCode;
use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::compute::{disks, skus, vms};
use crate::lro::{Start, Work, begin};
use crate::state::State;
use crate::world::key;

/// The group with everything in it: machines first, so that their disks are free.
pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    let name = call.group.clone().unwrap_or_default();
    let id = format!("/subscriptions/{}/resourceGroups/{name}", call.subscription);
    let Some(group) = state.world.groups.get(&key(&id)).cloned() else {
        return Err(crate::front_door::no_group(&name));
    };
    let scope = format!("{}/", key(&id));
    let inside = |key: &&String| key.starts_with(&scope);
    let machines: Vec<String> = state
        .world
        .machines
        .keys()
        .filter(inside)
        .cloned()
        .collect();
    machines
        .iter()
        .for_each(|machine| vms::remove(state, machine));
    let own: Vec<String> = state.world.disks.keys().filter(inside).cloned().collect();
    own.iter().for_each(|disk| disks::remove(state, disk));
    let world = &mut state.world;
    world.snapshots.retain(|key, _| !inside(&key));
    world.scale_sets.retain(|key, _| !inside(&key));
    world.encryption_sets.retain(|key, _| !inside(&key));
    world.disk_accesses.retain(|key, _| !inside(&key));
    world.groups.remove(&key(&id));
    state.revision += 1;
    let takes = state.takes("kept.write");
    let start = Start {
        family: "operations",
        target: &id,
        location: &group.location,
        work: Work::Nothing,
        takes,
    };
    Ok(Reply::accepted(begin(state, start), None))
}

/// Limits of a subscription in a region, as they are without a request for more.
const DISKS: u64 = 50_000;
const MACHINES: u64 = 25_000;
const SETS: u64 = 2500;
const CORES: u64 = 100_000;

/// What is counted of the disks: name, the name that people see, and how the SKU begins.
const KINDS: [(&str, &str, &str); 5] = [
    (
        "StandardDiskCount",
        "Standard Storage Managed Disks",
        "Standard_",
    ),
    (
        "StandardSSDDiskCount",
        "StandardSSD Managed Disks",
        "StandardSSD_",
    ),
    (
        "PremiumDiskCount",
        "Premium Storage Managed Disks",
        "Premium_",
    ),
    (
        "PremiumV2DiskCount",
        "PremiumV2 Managed Disks",
        "PremiumV2_",
    ),
    ("UltraSSDDiskCount", "UltraSSD Managed Disks", "UltraSSD_"),
];

/// Compute usages of a region.
pub(crate) fn usages(state: &mut State, call: &Call) -> Answer {
    let region = call.name(0).to_ascii_lowercase();
    if !state.world.locations.contains_key(&region) {
        let message = format!("The location '{region}' was not found.");
        return Err(crate::error::ArmError::new(
            StatusCode::NOT_FOUND,
            "LocationNotFound",
            message,
        ));
    }
    let mut rows = of_machines(state, &region);
    let disks = state.world.disks.values();
    let here: Vec<_> = disks.filter(|disk| disk.location == region).collect();
    let limit = state.knobs.quotas.disks.unwrap_or(DISKS);
    rows.extend(KINDS.iter().map(|(name, shown, start)| {
        let found = here.iter().filter(|disk| disk.sku.starts_with(start));
        row((name, shown), count(found.count()), limit)
    }));
    Ok(Reply::ok(json!({"value": rows})))
}

fn of_machines(state: &State, region: &str) -> Vec<Value> {
    let world = &state.world;
    let machines = world.machines.values().filter(|m| m.location == region);
    let cores = machines
        .clone()
        .filter_map(|machine| skus::vm_size(&machine.size).cpus.parse::<u64>().ok())
        .sum();
    let sets = world.scale_sets.values().filter(|s| s.location == region);
    let sets = count(sets.count());
    vec![
        row(("cores", "Total Regional vCPUs"), cores, CORES),
        row(
            ("virtualMachines", "Virtual Machines"),
            count(machines.count()),
            MACHINES,
        ),
        row(
            ("virtualMachineScaleSets", "Virtual Machine Scale Sets"),
            sets,
            SETS,
        ),
    ]
}

fn row((name, shown): (&str, &str), current: u64, limit: u64) -> Value {
    json!({"name": {"value": name, "localizedValue": shown}, "unit": "Count",
        "currentValue": current, "limit": limit})
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
