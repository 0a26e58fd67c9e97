//! Scale sets: only what is needed to find the instance behind a node name.

use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use serde::Deserialize;

use super::types::GroupScope;
use super::vms::{Vm, VmSku};
use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::environment::ApiFamily;
use crate::wire;

/// A scale set.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScaleSet {
    /// Its id.
    #[serde(deserialize_with = "wire::parsed")]
    pub id: ResourceId,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its SKU.
    #[serde(default)]
    pub sku: Option<VmSku>,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: ScaleSetProperties,
}

/// `properties` of a scale set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScaleSetProperties {
    /// `Uniform` or `Flexible`; absent means Uniform.
    pub orchestration_mode: Option<String>,
    /// What its instances are made after.
    pub virtual_machine_profile: Option<MachineProfile>,
}

/// What instances are made after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineProfile {
    /// Names.
    pub os_profile: Option<NamePrefix>,
}

/// Names of instances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NamePrefix {
    /// Host names are this and the instance number in base 36.
    pub computer_name_prefix: Option<String>,
}

impl ScaleSet {
    /// Whether its instances are ordinary machines.
    #[must_use]
    pub fn is_flexible(&self) -> bool {
        let mode = self.properties.orchestration_mode.as_deref();
        mode.is_some_and(|mode| mode.eq_ignore_ascii_case("Flexible"))
    }

    /// Beginning of its instances' host names.
    #[must_use]
    pub fn computer_name_prefix(&self) -> Option<&str> {
        let profile = self.properties.virtual_machine_profile.as_ref()?;
        profile.os_profile.as_ref()?.computer_name_prefix.as_deref()
    }
}

/// Calls on scale sets.
#[derive(Clone, Debug)]
pub struct ScaleSets {
    arm: ArmClient,
}

impl ScaleSets {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Reads a scale set.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn get(&self, op: &Op, set: &ResourceId) -> Result<ScaleSet, ArmError> {
        self.arm.get(op, ApiFamily::ScaleSets, set).await
    }

    /// Every scale set of a scope.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list(&self, op: &Op, scope: &GroupScope) -> Result<Vec<ScaleSet>, ArmError> {
        self.arm
            .list(op, ApiFamily::ScaleSets, scope, "virtualMachineScaleSets")
            .await
    }

    /// Every instance of a Uniform scale set. Expensive: prefer reading single instances.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn instances(&self, op: &Op, set: &ResourceId) -> Result<Vec<Vm>, ArmError> {
        let path = format!("{set}/virtualMachines");
        self.arm
            .list_path(op, ApiFamily::ScaleSetVms, &path, &[])
            .await
    }
}
