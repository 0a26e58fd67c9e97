//! How machines look in answers.

use serde_json::{Map, Value, json};

use crate::stamp::stamp;
use crate::state::State;
use crate::world::{DataDisk, Machine, MachineKind, Power, Provisioning, key, leaf};

/// How much of a machine is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// The model.
    Model,
    /// With what runs.
    WithInstanceView,
}

pub(crate) fn show(state: &State, machine: &Machine, view: View) -> Value {
    let mut shown = Map::new();
    shown.insert("name".into(), json!(machine.name()));
    shown.insert("id".into(), json!(machine.id));
    shown.insert("location".into(), json!(machine.location));
    shown.insert("etag".into(), json!(machine.etag()));
    shown.insert("tags".into(), json!(machine.tags));
    if let Some(zone) = &machine.zone {
        shown.insert("zones".into(), json!([zone]));
    }
    let mut properties = properties(state, machine);
    match &machine.kind {
        MachineKind::Instance { instance_id, .. } => {
            let kind = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines";
            shown.insert("type".into(), json!(kind));
            shown.insert("instanceId".into(), json!(instance_id));
            shown.insert(
                "sku".into(),
                json!({"name": machine.size, "tier": "Standard"}),
            );
            let own = !machine.data_disks.is_empty();
            let model = if own {
                "VirtualMachine"
            } else {
                "VirtualMachineScaleSet"
            };
            properties.insert("latestModelApplied".into(), json!(true));
            properties.insert("modelDefinitionApplied".into(), json!(model));
        }
        kind => {
            shown.insert("type".into(), json!("Microsoft.Compute/virtualMachines"));
            match kind {
                MachineKind::AvailabilitySet(id) => {
                    properties.insert("availabilitySet".into(), json!({"id": id}));
                }
                MachineKind::Flex(id) => {
                    properties.insert("virtualMachineScaleSet".into(), json!({"id": id}));
                    let domain = json!(machine.fault_domain);
                    properties.insert("platformFaultDomain".into(), domain);
                }
                _ => {}
            }
        }
    }
    if view == View::WithInstanceView {
        properties.insert("instanceView".into(), instance_view(machine));
    }
    shown.insert("properties".into(), Value::Object(properties));
    Value::Object(shown)
}

fn properties(state: &State, machine: &Machine) -> Map<String, Value> {
    let interface = format!("{}/networkInterfaces/nic", machine.id);
    let fields = json!({
        "vmId": machine.vm_id,
        "provisioningState": machine.provisioning.text(),
        "hardwareProfile": {"vmSize": machine.size},
        "additionalCapabilities": {"ultraSSDEnabled": machine.ultra},
        "storageProfile": storage_profile(state, machine),
        "osProfile": {"computerName": machine.computer_name, "adminUsername": "azureuser"},
        "networkProfile": {"networkInterfaces": [{"id": interface}]},
        "timeCreated": stamp(machine.created_ms),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

pub(crate) fn storage_profile(state: &State, machine: &Machine) -> Value {
    let disks: Vec<Value> = machine
        .data_disks
        .iter()
        .map(|entry| data_disk(state, entry))
        .collect();
    let name = format!("{}_OsDisk", machine.name());
    let id = group_of(&machine.id);
    json!({
        "diskControllerType": "SCSI",
        "osDisk": {
            "osType": "Linux", "name": name, "createOption": "FromImage", "caching": "ReadOnly",
            "managedDisk": {
                "storageAccountType": "Premium_LRS",
                "id": format!("{id}/providers/Microsoft.Compute/disks/{name}"),
            },
            "deleteOption": "Delete", "diskSizeGB": 128,
        },
        "dataDisks": disks,
    })
}

/// The part of an id up to its group.
fn group_of(id: &str) -> String {
    let parts: Vec<&str> = id.split('/').take(5).collect();
    parts.join("/")
}

fn data_disk(state: &State, entry: &DataDisk) -> Value {
    let disk = state.world.disks.get(&key(&entry.disk_id));
    let mut managed = Map::new();
    managed.insert("id".into(), json!(entry.disk_id));
    if let Some(set) = &entry.encryption_set {
        managed.insert("diskEncryptionSet".into(), json!({"id": set}));
    }
    let mut shown = Map::new();
    if let Some(disk) = disk {
        managed.insert("storageAccountType".into(), json!(disk.sku));
        shown.insert("diskSizeGB".into(), json!(disk.gib));
        if crate::compute::skus::is_flexible(&disk.sku) {
            shown.insert("diskIOPSReadWrite".into(), json!(disk.iops));
            shown.insert("diskMBpsReadWrite".into(), json!(disk.mbps));
        }
    }
    shown.insert("lun".into(), json!(entry.lun));
    shown.insert("name".into(), json!(entry.name));
    shown.insert("createOption".into(), json!(entry.create_option));
    shown.insert("caching".into(), json!(entry.caching));
    shown.insert(
        "writeAcceleratorEnabled".into(),
        json!(entry.write_accelerator),
    );
    shown.insert("managedDisk".into(), Value::Object(managed));
    shown.insert("deleteOption".into(), json!(entry.delete_option));
    shown.insert("toBeDetached".into(), json!(entry.to_be_detached));
    Value::Object(shown)
}

fn status(code: &str, text: &str) -> Value {
    json!({"code": code, "level": "Info", "displayStatus": text})
}

pub(crate) fn instance_view(machine: &Machine) -> Value {
    let (power, text) = match machine.power {
        Power::Running => ("PowerState/running", "VM running"),
        Power::Stopped => ("PowerState/stopped", "VM stopped"),
        Power::Deallocated => ("PowerState/deallocated", "VM deallocated"),
    };
    let provisioning = match machine.provisioning {
        Provisioning::Succeeded => "ProvisioningState/succeeded",
        Provisioning::Failed => "ProvisioningState/failed/InternalOperationError",
        _ => "ProvisioningState/updating",
    };
    let attached = machine.data_disks.iter().filter(|entry| entry.attached);
    let disks: Vec<Value> = attached
        .map(|entry| {
            let succeeded = status("ProvisioningState/succeeded", "Provisioning succeeded");
            json!({"name": leaf(&entry.disk_id), "statuses": [succeeded]})
        })
        .collect();
    json!({
        "platformFaultDomain": machine.fault_domain,
        "platformUpdateDomain": machine.fault_domain,
        "computerName": machine.computer_name,
        "osName": "ubuntu",
        "osVersion": "22.04",
        "hyperVGeneration": "V2",
        "disks": disks,
        "statuses": [status(provisioning, "Provisioning"), status(power, text)],
    })
}
