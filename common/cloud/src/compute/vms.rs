//! Virtual machines and instances of Uniform scale sets: the same calls on two resource types.

use azcsi_types::node::{VmKind, VmRef};
use azcsi_types::op::Op;
use serde::{Deserialize, Serialize};

use super::data_disks::{DataDisk, DataDiskChanges, DataDiskList};
use super::types::{Extra, GroupScope, ProvisioningState, SubResource, Tags};
use crate::arm::client::{ArmClient, decode_value};
use crate::arm::error::ArmError;
use crate::environment::ApiFamily;
use crate::wire;

/// The value of `If-Match`, exactly as Azure gave it, quotes included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ETag(pub String);

/// A machine or scale set instance.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vm {
    /// Its id.
    #[serde(deserialize_with = "wire::parsed")]
    pub id: VmRef,
    /// Its name; `{set}_{instance}` for an instance.
    #[serde(default)]
    pub name: String,
    /// Its region.
    #[serde(default)]
    pub location: String,
    /// Zone digits.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub zones: Vec<String>,
    /// Tags.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub tags: Tags,
    /// Version of the model.
    #[serde(default)]
    pub etag: Option<ETag>,
    /// Instance id within its scale set.
    #[serde(default)]
    pub instance_id: Option<String>,
    /// The SKU of an instance.
    #[serde(default)]
    pub sku: Option<VmSku>,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: VmProperties,
}

/// SKU of a scale set or its instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VmSku {
    /// The machine size.
    pub name: Option<String>,
    /// Number of instances, of a scale set.
    pub capacity: Option<u32>,
}

/// `properties` of a machine.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VmProperties {
    /// State of the last write.
    pub provisioning_state: Option<ProvisioningState>,
    /// Unique id of the machine.
    pub vm_id: Option<String>,
    /// Machine size.
    pub hardware_profile: Option<HardwareProfile>,
    /// Ultra disks and the like.
    pub additional_capabilities: Option<AdditionalCapabilities>,
    /// The Flexible scale set it belongs to.
    pub virtual_machine_scale_set: Option<SubResource>,
    /// The availability set it belongs to.
    pub availability_set: Option<SubResource>,
    /// Its disks.
    #[serde(deserialize_with = "wire::or_default")]
    pub storage_profile: StorageProfile,
    /// Name inside the guest.
    pub os_profile: Option<OsProfile>,
    /// Fault domain.
    pub platform_fault_domain: Option<i64>,
    /// Live state; only when asked for.
    pub instance_view: Option<InstanceView>,
}

/// Machine size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HardwareProfile {
    /// Such as `Standard_D4s_v5`.
    pub vm_size: Option<String>,
}

/// Optional abilities of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdditionalCapabilities {
    /// Whether it may hold Ultra disks.
    #[serde(rename = "ultraSSDEnabled")]
    pub ultra_ssd_enabled: Option<bool>,
}

/// Name inside the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OsProfile {
    /// Host name; the Kubernetes node name is its lower case.
    pub computer_name: Option<String>,
}

/// The disks of a machine; also the answer of the `attachDetachDataDisks` action.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageProfile {
    /// `SCSI` or `NVMe`.
    pub disk_controller_type: Option<String>,
    /// The OS disk.
    pub os_disk: Option<Extra>,
    /// The data disks.
    pub data_disks: DataDiskList,
}

/// Live state of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InstanceView {
    /// Host name reported by the guest agent.
    pub computer_name: Option<String>,
    /// State of each disk.
    #[serde(deserialize_with = "wire::or_default")]
    pub disks: Vec<DiskInstanceView>,
    /// `ProvisioningState/…` and `PowerState/…`.
    #[serde(deserialize_with = "wire::or_default")]
    pub statuses: Vec<InstanceStatus>,
}

/// Live state of a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DiskInstanceView {
    /// Name of the disk.
    pub name: String,
    /// Its states.
    #[serde(deserialize_with = "wire::or_default")]
    pub statuses: Vec<InstanceStatus>,
}

/// One status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InstanceStatus {
    /// Such as `PowerState/running`.
    pub code: String,
    /// Text for people.
    pub display_status: Option<String>,
}

impl Vm {
    /// The machine size, wherever the resource type keeps it.
    #[must_use]
    pub fn size(&self) -> Option<&str> {
        let profile = self.properties.hardware_profile.as_ref();
        profile
            .and_then(|p| p.vm_size.as_deref())
            .or_else(|| self.sku.as_ref()?.name.as_deref())
    }

    /// The host name; the Kubernetes node name is its lower case.
    #[must_use]
    pub fn computer_name(&self) -> Option<&str> {
        let profile = self.properties.os_profile.as_ref();
        profile
            .and_then(|p| p.computer_name.as_deref())
            .or_else(|| {
                self.properties
                    .instance_view
                    .as_ref()?
                    .computer_name
                    .as_deref()
            })
    }

    /// Its data disks.
    #[must_use]
    pub fn data_disks(&self) -> &DataDiskList {
        &self.properties.storage_profile.data_disks
    }

    /// The power state word, such as `running`; `None` if the instance view was not asked for.
    #[must_use]
    pub fn power_state(&self) -> Option<&str> {
        let view = self.properties.instance_view.as_ref()?;
        view.statuses
            .iter()
            .find_map(|status| status.code.strip_prefix("PowerState/"))
    }

    /// Whether it is being deleted.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.properties.provisioning_state == Some(ProvisioningState::Deleting)
    }
}

#[derive(Serialize)]
struct ModelUpdate<'a> {
    properties: ModelProperties<'a>,
}

#[derive(Serialize)]
struct ModelProperties<'a> {
    #[serde(rename = "storageProfile", skip_serializing_if = "Option::is_none")]
    storage_profile: Option<ModelStorage<'a>>,
}

#[derive(Serialize)]
struct ModelStorage<'a> {
    #[serde(rename = "dataDisks")]
    data_disks: &'a [DataDisk],
}

/// Calls on machines.
#[derive(Clone, Debug)]
pub struct Vms {
    arm: ArmClient,
}

pub(crate) const fn family(vm: &VmRef) -> ApiFamily {
    match vm.kind() {
        VmKind::Machine => ApiFamily::VirtualMachines,
        VmKind::ScaleSetInstance => ApiFamily::ScaleSetVms,
    }
}

impl Vms {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Reads a machine, without its instance view.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn get(&self, op: &Op, vm: &VmRef) -> Result<Vm, ArmError> {
        self.arm.get(op, family(vm), vm.id()).await
    }

    /// Reads a machine with its instance view.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn get_with_instance_view(&self, op: &Op, vm: &VmRef) -> Result<Vm, ArmError> {
        let query = [("$expand", "instanceView")];
        self.arm
            .get_with(op, family(vm), vm.id().as_str(), &query)
            .await
    }

    /// Attaches and detaches disks without touching others. The answer holds the slots.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_action_unavailable`] if the permission or the API version
    /// is missing, then use [`Vms::update_data_disks`].
    pub async fn attach_detach(
        &self,
        op: &Op,
        vm: &VmRef,
        changes: &DataDiskChanges,
    ) -> Result<StorageProfile, ArmError> {
        let action = (vm.id(), "attachDetachDataDisks");
        let answer = self.arm.action(op, family(vm), action, changes).await?;
        match answer.filter(|profile| profile.get("dataDisks").is_some()) {
            Some(profile) => decode_value(profile).map_err(|error| error.on(vm.id())),
            // Azure finished without saying where the disks are.
            None => Ok(self.get(op, vm).await?.properties.storage_profile),
        }
    }

    /// Sends the complete list of data disks, guarded by the version it was read at. PATCH for
    /// machines; instances have no PATCH, their PUT merges.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_precondition_failed`] if the machine changed meanwhile.
    pub async fn update_data_disks(
        &self,
        op: &Op,
        vm: &VmRef,
        disks: &DataDiskList,
        version: Option<&ETag>,
    ) -> Result<Vm, ArmError> {
        let data_disks = disks
            .to_send()
            .map_err(|empty| ArmError::protocol(empty.to_string()).on(vm.id()))?;
        let body = ModelUpdate {
            properties: ModelProperties {
                storage_profile: Some(ModelStorage { data_disks }),
            },
        };
        self.update(op, vm, &body, version).await
    }

    /// Sends an empty update, which makes Azure work on the machine's present model again.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn refresh(&self, op: &Op, vm: &VmRef) -> Result<(), ArmError> {
        let body = ModelUpdate {
            properties: ModelProperties {
                storage_profile: None,
            },
        };
        self.update(op, vm, &body, None).await.map(drop)
    }

    async fn update(
        &self,
        op: &Op,
        vm: &VmRef,
        body: &ModelUpdate<'_>,
        version: Option<&ETag>,
    ) -> Result<Vm, ArmError> {
        let method = match vm.kind() {
            VmKind::Machine => http::Method::PATCH,
            VmKind::ScaleSetInstance => http::Method::PUT,
        };
        let version = version.map(|tag| tag.0.as_str());
        self.arm
            .write(op, (family(vm), vm.id()), method, (body, version))
            .await
    }

    /// Every `virtualMachines` resource of a scope. Instances of Uniform scale sets are not among
    /// them: see [`super::vmss::ScaleSets::instances`].
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list(&self, op: &Op, scope: &GroupScope) -> Result<Vec<Vm>, ArmError> {
        self.arm
            .list(op, ApiFamily::VirtualMachines, scope, "virtualMachines")
            .await
    }

    /// The machine with this host name, whatever the case, among the `virtualMachines` resources of
    /// a scope. Two of them is an error.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn find_by_computer_name(
        &self,
        op: &Op,
        scope: &GroupScope,
        name: &str,
    ) -> Result<Option<Vm>, ArmError> {
        let mut found = self.list(op, scope).await?.into_iter().filter(|vm| {
            let host = vm.computer_name().unwrap_or(&vm.name);
            host.eq_ignore_ascii_case(name)
        });
        match (found.next(), found.next()) {
            (Some(one), Some(other)) => Err(ArmError::protocol(format!(
                "two machines are named '{name}': {} and {}",
                one.id, other.id
            ))),
            (one, _) => Ok(one),
        }
    }
}
