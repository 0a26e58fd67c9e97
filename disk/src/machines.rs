//! Machines by the names that nodes have, asked of Azure: for nodes that Kubernetes does not know.

use azcsi_cloud::{ArmError, Azure, GroupScope, ScaleSet};
use azcsi_types::node::{NodeName, VmRef, split_computer_name};
use azcsi_types::op::Op;

use crate::controller::ports::PortError;

/// Looks machines up in the cluster's resource group.
#[derive(Clone, Debug)]
pub struct AzureMachines {
    azure: Azure,
    scope: GroupScope,
}

impl AzureMachines {
    /// Lookups in the resource group `scope`.
    #[must_use]
    pub const fn new(azure: Azure, scope: GroupScope) -> Self {
        Self { azure, scope }
    }

    /// The machine whose host name is the node's; `None` if the group holds none.
    ///
    /// # Errors
    /// If Azure cannot be asked.
    pub async fn machine(&self, op: &Op, node: &NodeName) -> Result<Option<VmRef>, PortError> {
        let found = self.by_host_name(op, node.as_str()).await;
        found.map_err(|error| PortError::because(format!("the machine of node {node}"), error))
    }

    async fn by_host_name(&self, op: &Op, name: &str) -> Result<Option<VmRef>, ArmError> {
        let vms = self.azure.vms();
        if let Some(vm) = vms.find_by_computer_name(op, &self.scope, name).await? {
            return Ok(Some(vm.id));
        }
        let Some((prefix, _)) = split_computer_name(name) else {
            return Ok(None);
        };
        let sets = self.azure.scale_sets();
        for set in sets.list(op, &self.scope).await? {
            if !may_hold(&set, prefix) {
                continue;
            }
            let instances = sets.instances(op, &set.id).await?;
            let is_it = |host: &str| host.eq_ignore_ascii_case(name);
            let found = instances
                .into_iter()
                .find(|vm| vm.computer_name().is_some_and(is_it));
            if let Some(vm) = found {
                return Ok(Some(vm.id));
            }
        }
        Ok(None)
    }

    /// The node that runs on a machine, by its host name; `None` if there is no such machine.
    ///
    /// # Errors
    /// If Azure cannot be asked.
    pub async fn node(&self, op: &Op, machine: &VmRef) -> Result<Option<NodeName>, PortError> {
        match self.azure.vms().get(op, machine).await {
            Ok(vm) => {
                let name = vm.computer_name().unwrap_or(&vm.name);
                Ok(name.parse().ok())
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(PortError::because(format!("the node of {machine}"), error)),
        }
    }
}

/// Whether the host names of a Uniform scale set begin like this.
fn may_hold(set: &ScaleSet, prefix: &str) -> bool {
    let begins = set.computer_name_prefix().unwrap_or(&set.name);
    !set.is_flexible() && begins.eq_ignore_ascii_case(prefix)
}
