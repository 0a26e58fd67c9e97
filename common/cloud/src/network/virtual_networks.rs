//! Virtual networks (REST reference, `Microsoft.Network/virtualNetworks`).

use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use serde::Deserialize;

use super::client::Networks;
use super::subnets::Subnet;
use crate::arm::error::ArmError;
use crate::environment::ApiFamily;
use crate::wire;

/// A virtual network as Azure answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct VirtualNetwork {
    /// Its id.
    #[serde(deserialize_with = "wire::parsed")]
    pub id: ResourceId,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its region, as Azure spells it.
    #[serde(default)]
    pub location: String,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: VirtualNetworkProperties,
}

/// `properties` of a virtual network.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct VirtualNetworkProperties {
    /// Its subnets.
    #[serde(deserialize_with = "wire::or_default")]
    pub subnets: Vec<Subnet>,
}

impl Networks {
    /// Reads a virtual network with its subnets.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn get(&self, op: &Op, network: &ResourceId) -> Result<VirtualNetwork, ArmError> {
        self.arm.get(op, ApiFamily::Networks, network).await
    }
}
