//! Subnets and their service endpoints (REST reference, `virtualNetworks/subnets`).
//!
//! A subnet can only be replaced as a whole: what is not sent back is lost, route table and
//! security group included. So everything that was read is kept and written again, guarded by the
//! version that was read.

use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use http::Method;
use serde::{Deserialize, Serialize};

use super::client::Networks;
use crate::arm::error::ArmError;
use crate::compute::types::Extra;
use crate::environment::ApiFamily;
use crate::wire;

/// A subnet as Azure answers it, with every member that it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subnet {
    /// Its id.
    #[serde(deserialize_with = "wire::parsed", serialize_with = "wire::shown")]
    pub id: ResourceId,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its version, as Azure wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: SubnetProperties,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// `properties` of a subnet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubnetProperties {
    /// Services that traffic from here reaches with the subnet's identity.
    #[serde(
        default,
        deserialize_with = "wire::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub service_endpoints: Vec<ServiceEndpoint>,
    /// `Enabled` or `Disabled`: whether network policies apply to private endpoints here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_endpoint_network_policies: Option<String>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A service endpoint of a subnet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceEndpoint {
    /// Such as `Microsoft.Storage` or `Microsoft.Storage.Global`.
    #[serde(default)]
    pub service: String,
    /// Regions.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub locations: Vec<String>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

const STORAGE_SERVICE: &str = "Microsoft.Storage";

impl Subnet {
    /// Whether traffic from here reaches storage accounts with the subnet's identity.
    #[must_use]
    pub fn has_storage_endpoint(&self) -> bool {
        self.properties.service_endpoints.iter().any(|endpoint| {
            let service = endpoint.service.to_ascii_lowercase();
            let rest = service.strip_prefix("microsoft.storage");
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Adds the service endpoint of storage accounts for a region. `false` if there is one.
    pub fn add_storage_endpoint(&mut self, location: &str) -> bool {
        if self.has_storage_endpoint() {
            return false;
        }
        self.properties.service_endpoints.push(ServiceEndpoint {
            service: STORAGE_SERVICE.to_owned(),
            locations: vec![location.to_owned()],
            extra: Extra::new(),
        });
        true
    }
}

impl Networks {
    /// Reads a subnet.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn subnet(&self, op: &Op, subnet: &ResourceId) -> Result<Subnet, ArmError> {
        self.arm.get(op, ApiFamily::Networks, subnet).await
    }

    /// The subnets of a virtual network.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn subnets(&self, op: &Op, network: &ResourceId) -> Result<Vec<Subnet>, ArmError> {
        let path = format!("{network}/subnets");
        self.arm
            .list_path(op, ApiFamily::Networks, &path, &[])
            .await
    }

    /// Writes back a subnet that was read and changed, and waits for the result. Refused by Azure
    /// ([`ArmError::is_precondition_failed`]) if somebody else wrote it meanwhile: read it again.
    ///
    /// # Errors
    /// See [`ArmError`]; a subnet without version is not sent, because the write could undo that
    /// of somebody else.
    pub async fn replace_subnet(&self, op: &Op, subnet: &Subnet) -> Result<Subnet, ArmError> {
        let Some(version) = subnet.etag.as_deref().filter(|etag| !etag.is_empty()) else {
            let text = "the subnet was read without its version, so it cannot be replaced safely";
            return Err(ArmError::protocol(text).on(&subnet.id));
        };
        let target = (ApiFamily::Networks, &subnet.id);
        self.arm
            .write(op, target, Method::PUT, (subnet, Some(version)))
            .await
    }
}

#[cfg(test)]
mod tests;
