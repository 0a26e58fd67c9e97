//! Regions, zones, and which disk may be on which machine.

use serde_json::Value;

use crate::compute::skus;
use crate::error::ArmError;
use crate::state::State;
use crate::world::{DataDisk, Disk, Machine, MachineKind, leaf, region};

/// The region that a body names.
pub(crate) fn location(state: &State, wanted: &Value) -> Result<String, ArmError> {
    let Some(named) = wanted.get("location").and_then(Value::as_str) else {
        return Err(ArmError::bad_request(
            "LocationRequired",
            "The location property is required for this definition.",
        ));
    };
    let name = region(named);
    if state.world.locations.contains_key(&name) {
        return Ok(name);
    }
    let message = format!("The provided location '{named}' is not available for resource type.");
    Err(ArmError::bad_request(
        "LocationNotAvailableForResourceType",
        message,
    ))
}

/// The zones that a new disk names.
pub(crate) fn zones(
    state: &State,
    location: &str,
    sku: &str,
    zones: &[String],
) -> Result<(), ArmError> {
    let known = state.world.locations.get(location);
    let known = known.map_or(&[][..], |place| &place.zones);
    if zones.len() > 1 {
        return Err(ArmError::parameter(
            "zones",
            "A disk can be in one zone only.",
        ));
    }
    if let Some(zone) = zones.iter().find(|zone| !known.contains(zone)) {
        let message = format!(
            "The zone(s) '{zone}' for resource 'Microsoft.Compute/disks' is not supported in location '{location}'."
        );
        return Err(ArmError::bad_request("InvalidAvailabilityZone", message));
    }
    if skus::is_zone_redundant(sku) && !zones.is_empty() {
        return Err(ArmError::parameter(
            "zones",
            "Zones must not be given for a zone-redundant disk.",
        ));
    }
    if skus::is_zone_redundant(sku) && known.is_empty() {
        let message = format!("{sku} is not available in location '{location}'.");
        return Err(ArmError::parameter("sku.name", message));
    }
    if skus::is_flexible(sku) && zones.is_empty() && !known.is_empty() {
        let message = format!("A disk of type {sku} must be in a zone in location '{location}'.");
        return Err(ArmError::parameter("zones", message));
    }
    Ok(())
}

/// Whether this machine may have this disk, and with these settings.
pub(crate) fn fits(machine: &Machine, disk: &Disk, entry: &DataDisk) -> Result<(), ArmError> {
    place(machine, disk)?;
    kind(machine, disk)?;
    caching(disk, entry)
}

fn place(machine: &Machine, disk: &Disk) -> Result<(), ArmError> {
    let name = leaf(&disk.id);
    let refuse = |message: String| Err(ArmError::bad_request("BadRequest", message));
    if disk.location != machine.location {
        return refuse(format!(
            "Disk {name} is in location '{}' and cannot be attached to the VM in location '{}'.",
            disk.location, machine.location
        ));
    }
    match (disk.zones.first(), &machine.zone) {
        (Some(zone), _) if matches!(machine.kind, MachineKind::AvailabilitySet(_)) => {
            refuse(format!(
                "Zonal Disk {name} in zone '{zone}' cannot be attached because the VM belongs to an Availability Set."
            ))
        }
        (Some(zone), Some(own)) if zone != own => refuse(format!(
            "Disk {name} cannot be attached to the VM because it is not in the same zone as the VM. VM zone: '{own}'. Disk zone: '{zone}'."
        )),
        (Some(zone), None) => refuse(format!(
            "Disk {name} cannot be attached to the VM because it is not in the same zone as the VM. VM zone: ''. Disk zone: '{zone}'."
        )),
        (None, Some(own)) if !skus::is_zone_redundant(&disk.sku) => refuse(format!(
            "Disk {name} cannot be attached to the VM because it is not in zone '{own}'."
        )),
        _ => Ok(()),
    }
}

fn kind(machine: &Machine, disk: &Disk) -> Result<(), ArmError> {
    let target = "managedDisk.storageAccountType";
    if disk.sku == "UltraSSD_LRS" {
        if matches!(machine.kind, MachineKind::AvailabilitySet(_)) {
            return Err(ArmError::parameter(
                target,
                "StorageAccountType UltraSSD_LRS cannot be used in an availability set.",
            ));
        }
        if !machine.ultra {
            return Err(ArmError::parameter(
                target,
                "StorageAccountType UltraSSD_LRS can be used only when additionalCapabilities.ultraSSDEnabled is set.",
            ));
        }
    }
    let premium = disk.sku.starts_with("Premium") || disk.sku == "UltraSSD_LRS";
    if premium && !skus::vm_size(&machine.size).premium {
        let message = format!(
            "Requested operation cannot be performed because the VM size {} does not support the storage account type {} of disk '{}'.",
            machine.size,
            disk.sku,
            leaf(&disk.id)
        );
        return Err(ArmError::parameter(target, message));
    }
    Ok(())
}

fn caching(disk: &Disk, entry: &DataDisk) -> Result<(), ArmError> {
    let bare = skus::is_flexible(&disk.sku) || disk.max_shares > 1 || disk.gib >= 4096;
    if bare && entry.caching != "None" {
        let message = format!(
            "Host caching '{}' is not supported for disk '{}'.",
            entry.caching,
            leaf(&disk.id)
        );
        return Err(ArmError::parameter("dataDisk.caching", message));
    }
    if entry.write_accelerator && !disk.sku.starts_with("Premium_") {
        return Err(ArmError::parameter(
            "dataDisk.writeAcceleratorEnabled",
            "Write accelerator is supported for Premium disks only.",
        ));
    }
    Ok(())
}

/// The caching of an attach that names none.
pub(crate) fn default_caching(disk: &Disk) -> &'static str {
    let bare = skus::is_flexible(&disk.sku) || disk.max_shares > 1 || disk.gib >= 4096;
    if disk.sku.starts_with("Premium_") && !bare {
        "ReadOnly"
    } else {
        "None"
    }
}
