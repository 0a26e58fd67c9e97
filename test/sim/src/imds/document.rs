//! The instance document: everything a virtual machine can read about itself.
//!
//! Every scalar is text, and what is unknown is empty text, never absent.

use serde_json::{Value, json};

/// What the metadata service knows about one virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// `{vmss}_{id}` for a scale set instance, else the VM's name.
    pub name: String,
    /// Host name.
    pub computer_name: String,
    /// Region.
    pub location: String,
    /// Resource group.
    pub resource_group: String,
    /// Subscription.
    pub subscription: String,
    /// ARM id.
    pub resource_id: String,
    /// GUID of this incarnation.
    pub vm_id: String,
    /// VM size.
    pub size: String,
    /// Logical zone, empty for a regional machine.
    pub zone: String,
    /// Fault domain.
    pub fault_domain: String,
    /// Name of the scale set, empty without one.
    pub scale_set: String,
    /// ARM id of a flexible scale set, empty otherwise.
    pub flexible_scale_set_id: String,
    /// Tags in order.
    pub tags: Vec<(String, String)>,
    /// Disks that the service already knows of.
    pub data_disks: Vec<DataDisk>,
    /// Number of the node, for addresses.
    pub ordinal: u32,
}

/// One data disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataDisk {
    /// Slot.
    pub lun: u32,
    /// Resource name.
    pub name: String,
    /// ARM id.
    pub id: String,
    /// `Premium_LRS` and the like.
    pub sku: String,
    /// Host caching.
    pub caching: String,
    /// `Attach` or `Empty`.
    pub create_option: String,
    /// Size in GiB.
    pub size_gib: u64,
    /// Whether several machines may have it.
    pub shared: bool,
    /// IOPS limit.
    pub iops: u64,
    /// Throughput limit in MBps.
    pub mbps: u64,
}

impl Instance {
    /// The whole document.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({"compute": self.compute(), "network": self.network()})
    }

    fn compute(&self) -> Value {
        let tags: Vec<String> = self.tags.iter().map(|(k, v)| format!("{k}:{v}")).collect();
        let tag_list: Vec<Value> = self
            .tags
            .iter()
            .map(|(k, v)| json!({"name": k, "value": v}))
            .collect();
        json!({
            "azEnvironment": "AzurePublicCloud",
            "customData": "",
            "evictionPolicy": "",
            "extendedLocation": {"name": "", "type": ""},
            "host": {"id": ""},
            "isHostCompatibilityLayerVm": "false",
            "licenseType": "",
            "location": self.location,
            "name": self.name,
            "offer": "",
            "osProfile": {
                "adminUsername": "azureuser", "computerName": self.computer_name,
                "disablePasswordAuthentication": "true",
            },
            "osType": "Linux",
            "physicalZone": self.physical_zone(),
            "placementGroupId": "",
            "plan": {"name": "", "product": "", "publisher": ""},
            "platformFaultDomain": self.fault_domain,
            "platformSubFaultDomain": "",
            "platformUpdateDomain": self.fault_domain,
            "priority": "",
            "provider": "Microsoft.Compute",
            "publicKeys": [],
            "publisher": "",
            "resourceGroupName": self.resource_group,
            "resourceId": self.resource_id,
            "securityProfile": {"secureBootEnabled": "false", "virtualTpmEnabled": "false"},
            "sku": "",
            "storageProfile": self.storage_profile(),
            "subscriptionId": self.subscription,
            "tags": tags.join(";"),
            "tagsList": tag_list,
            "userData": "",
            "version": "",
            "virtualMachineScaleSet": {"id": self.flexible_scale_set_id},
            "vmId": self.vm_id,
            "vmScaleSetName": self.scale_set,
            "vmSize": self.size,
            "zone": self.zone,
        })
    }

    fn physical_zone(&self) -> String {
        match self.zone.as_str() {
            "" => String::new(),
            zone => format!("{}-az{zone}", self.location),
        }
    }

    fn storage_profile(&self) -> Value {
        let disks: Vec<Value> = self.data_disks.iter().map(DataDisk::entry).collect();
        json!({
            "dataDisks": disks,
            "imageReference": {"id": "", "offer": "", "publisher": "", "sku": "", "version": ""},
            "osDisk": {
                "caching": "ReadWrite", "createOption": "FromImage",
                "diffDiskSettings": {"option": ""}, "diskSizeGB": "128",
                "encryptionSettings": {
                    "enabled": "false",
                    "diskEncryptionKey": {"secretUrl": "", "sourceVault": {"id": ""}},
                    "keyEncryptionKey": {"keyUrl": "", "sourceVault": {"id": ""}},
                },
                "image": {"uri": ""},
                "managedDisk": {"id": "", "storageAccountType": "Premium_LRS"},
                "name": format!("{}_OsDisk", self.name), "osType": "Linux", "vhd": {"uri": ""},
                "writeAcceleratorEnabled": "false",
            },
            "resourceDisk": {"size": "34816"},
        })
    }

    fn network(&self) -> Value {
        let [_, high, middle, low] = self.ordinal.to_be_bytes();
        let mac = format!("000D3A{high:02X}{middle:02X}{low:02X}");
        // .0 to .3 of a subnet belong to Azure.
        let host = self.ordinal.saturating_add(4);
        let [_, _, net, host] = host.to_be_bytes();
        json!({"interface": [{
            "ipv4": {
                "ipAddress": [{
                    "privateIpAddress": format!("10.224.{net}.{host}"), "publicIpAddress": "",
                }],
                "subnet": [{"address": "10.224.0.0", "prefix": "16"}],
            },
            "ipv6": {"ipAddress": []},
            "macAddress": mac,
        }]})
    }
}

impl DataDisk {
    fn entry(&self) -> Value {
        json!({
            "bytesPerSecondThrottle": (self.mbps << 20).to_string(),
            "caching": self.caching,
            "createOption": self.create_option,
            "diskCapacityBytes": (self.size_gib << 30).to_string(),
            "diskSizeGB": self.size_gib.to_string(),
            "image": {"uri": ""},
            "isSharedDisk": self.shared.to_string(),
            "isUltraDisk": (self.sku == "UltraSSD_LRS").to_string(),
            "lun": self.lun.to_string(),
            "managedDisk": {"id": self.id, "storageAccountType": self.sku},
            "name": self.name,
            "opsPerSecondThrottle": self.iops.to_string(),
            "vhd": {"uri": ""},
            "writeAcceleratorEnabled": "false",
        })
    }
}

/// The part of a document at a path such as `compute/zone` or `network/interface/0`.
#[must_use]
pub fn at<'a>(document: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(document, |value, step| match value {
        Value::Object(fields) => fields
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(step))
            .map(|(_, found)| found),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// A part as text: a leaf as it is, anything else as the list of what is below it.
#[must_use]
pub fn text(value: &Value) -> String {
    let below = |key: &str, value: &Value| {
        let slash = if value.is_object() || value.is_array() {
            "/"
        } else {
            ""
        };
        format!("{key}{slash}")
    };
    match value {
        Value::String(leaf) => leaf.clone(),
        Value::Object(fields) => {
            let lines: Vec<_> = fields
                .iter()
                .map(|(key, value)| below(key, value))
                .collect();
            lines.join("\n")
        }
        Value::Array(items) => {
            let lines: Vec<_> = items
                .iter()
                .enumerate()
                .map(|(n, value)| below(&n.to_string(), value))
                .collect();
            lines.join("\n")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
