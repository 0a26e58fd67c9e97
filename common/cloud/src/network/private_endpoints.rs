//! Private endpoints and the DNS zone groups that belong to them (REST reference,
//! `Microsoft.Network/privateEndpoints`).

use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use serde::{Deserialize, Serialize};

use super::child_id;
use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::compute::types::{ProvisioningState, SubResource, Tags};
use crate::environment::ApiFamily;
use crate::storage::account_body::ConnectionState;
use crate::wire;

/// A private endpoint as Azure answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PrivateEndpoint {
    /// Its id.
    #[serde(deserialize_with = "wire::parsed")]
    pub id: ResourceId,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its region, as Azure spells it.
    #[serde(default)]
    pub location: String,
    /// Its tags.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub tags: Tags,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: PrivateEndpointProperties,
}

/// `properties` of a private endpoint.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrivateEndpointProperties {
    /// State of the last write.
    pub provisioning_state: Option<ProvisioningState>,
    /// The subnet that it takes its address from.
    pub subnet: Option<SubResource>,
    /// What it leads to.
    #[serde(deserialize_with = "wire::or_default")]
    pub private_link_service_connections: Vec<LinkConnection>,
    /// What it leads to once somebody approves.
    #[serde(deserialize_with = "wire::or_default")]
    pub manual_private_link_service_connections: Vec<LinkConnection>,
    /// Names that should lead to it.
    #[serde(deserialize_with = "wire::or_default")]
    pub custom_dns_configs: Vec<DnsConfig>,
}

impl PrivateEndpoint {
    /// Whether it leads to this service and traffic passes.
    #[must_use]
    pub fn leads_to(&self, service: &ResourceId) -> bool {
        let automatic = &self.properties.private_link_service_connections;
        let manual = &self.properties.manual_private_link_service_connections;
        automatic.iter().chain(manual).any(|connection| {
            let properties = &connection.properties;
            properties.private_link_service_id.as_ref() == Some(service)
                && properties
                    .private_link_service_connection_state
                    .as_ref()
                    .is_some_and(ConnectionState::is_approved)
        })
    }
}

/// One connection of a private endpoint.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LinkConnection {
    /// Its name.
    pub name: String,
    /// The rest.
    #[serde(deserialize_with = "wire::or_default")]
    pub properties: LinkConnectionProperties,
}

/// `properties` of a [`LinkConnection`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LinkConnectionProperties {
    /// The service, such as a storage account.
    #[serde(deserialize_with = "wire::parsed_option")]
    pub private_link_service_id: Option<ResourceId>,
    /// Which part of the service, such as `file`.
    #[serde(deserialize_with = "wire::or_default")]
    pub group_ids: Vec<String>,
    /// Whether it was accepted.
    pub private_link_service_connection_state: Option<ConnectionState>,
}

/// A name and the addresses that it should have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DnsConfig {
    /// The name.
    pub fqdn: String,
    /// The addresses.
    #[serde(deserialize_with = "wire::or_default")]
    pub ip_addresses: Vec<String>,
}

/// A new private endpoint to one part of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateEndpointCreate {
    /// The region, that of the subnet.
    pub location: String,
    /// Tags.
    pub tags: Tags,
    /// The subnet to take an address from.
    pub subnet: ResourceId,
    /// Name of the connection.
    pub connection: String,
    /// The service, such as a storage account.
    pub service: ResourceId,
    /// Which part of the service, such as `file`.
    pub group: String,
}

#[derive(Serialize)]
struct CreateBody<'a> {
    location: &'a str,
    #[serde(skip_serializing_if = "Tags::is_empty")]
    tags: &'a Tags,
    properties: CreateProperties<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CreateProperties<'a> {
    subnet: SubResource,
    private_link_service_connections: [CreateConnection<'a>; 1],
}

#[derive(Serialize)]
struct CreateConnection<'a> {
    name: &'a str,
    properties: CreateConnectionProperties<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CreateConnectionProperties<'a> {
    private_link_service_id: &'a str,
    group_ids: [&'a str; 1],
}

impl PrivateEndpointCreate {
    fn body(&self) -> CreateBody<'_> {
        CreateBody {
            location: &self.location,
            tags: &self.tags,
            properties: CreateProperties {
                subnet: self.subnet.clone().into(),
                private_link_service_connections: [CreateConnection {
                    name: &self.connection,
                    properties: CreateConnectionProperties {
                        private_link_service_id: self.service.as_str(),
                        group_ids: [&self.group],
                    },
                }],
            },
        }
    }
}

/// The private DNS zones in which a private endpoint keeps its names.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ZoneGroup {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: ZoneGroupProperties,
}

/// `properties` of a zone group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ZoneGroupProperties {
    /// The zones.
    #[serde(deserialize_with = "wire::or_default")]
    pub private_dns_zone_configs: Vec<ZoneConfig>,
}

/// One zone of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZoneConfig {
    /// Its name inside the group.
    #[serde(default)]
    pub name: String,
    /// The rest.
    pub properties: ZoneConfigProperties,
}

/// `properties` of a [`ZoneConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneConfigProperties {
    /// The zone.
    #[serde(deserialize_with = "wire::parsed", serialize_with = "wire::shown")]
    pub private_dns_zone_id: ResourceId,
}

#[derive(Serialize)]
struct ZoneGroupBody {
    properties: ZoneGroupProperties,
}

/// Calls on private endpoints.
#[derive(Clone, Debug)]
pub struct PrivateEndpoints {
    arm: ArmClient,
}

const FAMILY: ApiFamily = ApiFamily::Networks;

impl PrivateEndpoints {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Reads a private endpoint.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn get(&self, op: &Op, endpoint: &ResourceId) -> Result<PrivateEndpoint, ArmError> {
        self.arm.get(op, FAMILY, endpoint).await
    }

    /// Creates a private endpoint and waits until it exists. The same again is a success.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn create(
        &self,
        op: &Op,
        endpoint: &ResourceId,
        body: &PrivateEndpointCreate,
    ) -> Result<PrivateEndpoint, ArmError> {
        self.arm.put(op, FAMILY, endpoint, &body.body()).await
    }

    /// Deletes a private endpoint and waits until it is gone. One that is absent, or whose group
    /// is, counts as deleted.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete(&self, op: &Op, endpoint: &ResourceId) -> Result<(), ArmError> {
        self.arm.delete(op, FAMILY, endpoint).await
    }

    /// Reads a DNS zone group of a private endpoint.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn zone_group(
        &self,
        op: &Op,
        endpoint: &ResourceId,
        group: &str,
    ) -> Result<ZoneGroup, ArmError> {
        self.arm.get(op, FAMILY, &group_id(endpoint, group)?).await
    }

    /// Has the names of a private endpoint kept in a zone, and waits until they are there. The
    /// entry of the group is called as the zone.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn set_zone_group(
        &self,
        op: &Op,
        endpoint: &ResourceId,
        (group, zone): (&str, &ResourceId),
    ) -> Result<ZoneGroup, ArmError> {
        let config = ZoneConfig {
            name: zone.name().to_owned(),
            properties: ZoneConfigProperties {
                private_dns_zone_id: zone.clone(),
            },
        };
        let body = ZoneGroupBody {
            properties: ZoneGroupProperties {
                private_dns_zone_configs: vec![config],
            },
        };
        let id = group_id(endpoint, group)?;
        self.arm.put(op, FAMILY, &id, &body).await
    }
}

fn group_id(endpoint: &ResourceId, group: &str) -> Result<ResourceId, ArmError> {
    child_id(endpoint, "privateDnsZoneGroups", group)
        .map_err(|error| ArmError::invalid("the name of a DNS zone group").because(error))
}

#[cfg(test)]
mod tests;
