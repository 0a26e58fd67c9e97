//! Private DNS zones, their links to virtual networks, and their address records (REST reference,
//! `Microsoft.Network/privateDnsZones`).

use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use http::{Method, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::child_id;
use crate::arm::calls::Put;
use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::compute::types::{ProvisioningState, SubResource, Tags};
use crate::environment::ApiFamily;
use crate::wire;

/// A private DNS zone as Azure answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Zone {
    /// Its id; Azure answers it in lower case.
    #[serde(deserialize_with = "wire::parsed")]
    pub id: ResourceId,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its tags.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub tags: Tags,
}

/// A link of a zone to a virtual network, in which its names are then known.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Link {
    /// Its id.
    #[serde(deserialize_with = "wire::parsed")]
    pub id: ResourceId,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: LinkProperties,
}

/// `properties` of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LinkProperties {
    /// The virtual network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_network: Option<SubResource>,
    /// Whether machines of the network enter themselves into the zone.
    pub registration_enabled: bool,
    /// `Completed` or `InProgress`.
    #[serde(skip_serializing)]
    pub virtual_network_link_state: Option<String>,
    /// State of the last write.
    #[serde(skip_serializing)]
    pub provisioning_state: Option<ProvisioningState>,
}

/// The address records of one name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RecordSet {
    /// The name, relative to the zone.
    #[serde(default)]
    pub name: String,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: RecordSetProperties,
}

/// `properties` of a record set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RecordSetProperties {
    /// For how many seconds an answer may be kept.
    pub ttl: u64,
    /// IPv4 addresses.
    #[serde(deserialize_with = "wire::or_default")]
    pub a_records: Vec<ARecord>,
    /// The full name.
    #[serde(skip_serializing)]
    pub fqdn: Option<String>,
}

/// One IPv4 address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ARecord {
    /// The address.
    pub ipv4_address: String,
}

#[derive(Serialize)]
struct Global<P> {
    location: &'static str,
    #[serde(skip_serializing_if = "Tags::is_empty")]
    tags: Tags,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<P>,
}

impl<P> Global<P> {
    fn new(tags: &Tags, properties: Option<P>) -> Self {
        Self {
            location: "global",
            tags: tags.clone(),
            properties,
        }
    }
}

#[derive(Serialize)]
struct RecordBody<'a> {
    properties: &'a RecordSetProperties,
}

/// Calls on private DNS.
#[derive(Clone, Debug)]
pub struct PrivateDns {
    arm: ArmClient,
}

const FAMILY: ApiFamily = ApiFamily::PrivateDns;

impl PrivateDns {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Reads a zone.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn zone(&self, op: &Op, zone: &ResourceId) -> Result<Zone, ArmError> {
        self.arm.get(op, FAMILY, zone).await
    }

    /// Creates a zone and waits until it exists. One that exists is left as it is.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn create_zone(
        &self,
        op: &Op,
        zone: &ResourceId,
        tags: &Tags,
    ) -> Result<Put<Zone>, ArmError> {
        self.create(op, zone, &Global::<()>::new(tags, None)).await
    }

    /// Reads a link of a zone.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn link(&self, op: &Op, zone: &ResourceId, link: &str) -> Result<Link, ArmError> {
        self.arm.get(op, FAMILY, &link_id(zone, link)?).await
    }

    /// The links of a zone.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn links(&self, op: &Op, zone: &ResourceId) -> Result<Vec<Link>, ArmError> {
        let path = format!("{zone}/virtualNetworkLinks");
        self.arm.list_path(op, FAMILY, &path, &[]).await
    }

    /// Links a zone to a virtual network and waits until it is done. Machines do not register
    /// themselves. A link that exists is left as it is.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn create_link(
        &self,
        op: &Op,
        (zone, link): (&ResourceId, &str),
        network: &ResourceId,
    ) -> Result<Put<Link>, ArmError> {
        let properties = LinkProperties {
            virtual_network: Some(network.clone().into()),
            ..LinkProperties::default()
        };
        let body = Global::new(&Tags::new(), Some(properties));
        self.create(op, &link_id(zone, link)?, &body).await
    }

    /// Reads the IPv4 addresses of a name.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn a_record(
        &self,
        op: &Op,
        zone: &ResourceId,
        name: &str,
    ) -> Result<RecordSet, ArmError> {
        self.arm.get(op, FAMILY, &record_id(zone, name)?).await
    }

    /// Sets the IPv4 addresses of a name.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn set_a_record(
        &self,
        op: &Op,
        (zone, name): (&ResourceId, &str),
        properties: &RecordSetProperties,
    ) -> Result<RecordSet, ArmError> {
        let body = RecordBody { properties };
        let id = record_id(zone, name)?;
        self.arm.put(op, FAMILY, &id, &body).await
    }

    /// Deletes the IPv4 addresses of a name. Absent is deleted.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete_a_record(
        &self,
        op: &Op,
        zone: &ResourceId,
        name: &str,
    ) -> Result<(), ArmError> {
        self.arm.delete(op, FAMILY, &record_id(zone, name)?).await
    }

    /// Creates only what is not there: a PUT over something that exists would drop its tags.
    async fn create<T: DeserializeOwned>(
        &self,
        op: &Op,
        id: &ResourceId,
        body: &impl Serialize,
    ) -> Result<Put<T>, ArmError> {
        let request = self.arm.prepare(Method::PUT, FAMILY, id.as_str(), &[]);
        let request = request
            .with_header(header::IF_NONE_MATCH.as_str(), "*")
            .with_body(body)?;
        match self.arm.write_request(op, &request, id).await {
            Ok(made) => Ok(Put::New(made)),
            Err(error) if error.is_precondition_failed() => {
                self.arm.get(op, FAMILY, id).await.map(Put::Existing)
            }
            Err(error) => Err(error),
        }
    }
}

fn link_id(zone: &ResourceId, link: &str) -> Result<ResourceId, ArmError> {
    child_id(zone, "virtualNetworkLinks", link)
        .map_err(|error| ArmError::invalid("the name of a network link").because(error))
}

fn record_id(zone: &ResourceId, name: &str) -> Result<ResourceId, ArmError> {
    child_id(zone, "A", name)
        .map_err(|error| ArmError::invalid("the name of a DNS record").because(error))
}

#[cfg(test)]
mod tests;
