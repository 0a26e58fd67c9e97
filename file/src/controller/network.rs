//! The way from the nodes to an account: subnets that its firewall lets in, or a private endpoint.

use std::sync::Arc;

use azcsi_cloud::network::{child_id, network_id, private_endpoints::PrivateEndpointCreate};
use azcsi_cloud::{Account, ArmError, Subnet};
use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;

use super::Controller;
use super::account::matching;
use super::account::want::Exposure;
use super::error::ControllerError;
use crate::model::params::{DnsMode, FileParams, NetworkParams, Reach};
use crate::model::protocol::Protocol;
use crate::model::tags::{self, Tags};

/// How often a subnet is read again that somebody else changed meanwhile.
const TRIES: usize = 4;
/// Subnets that Azure keeps for itself, in which there are no nodes.
const RESERVED: [&str; 4] = [
    "GatewaySubnet",
    "AzureBastionSubnet",
    "AzureFirewallSubnet",
    "RouteServerSubnet",
];

impl Controller {
    /// Who has to reach the account of a volume. Subnets get their service endpoint here.
    pub(super) async fn exposure(
        &self,
        op: &Op,
        params: &FileParams,
    ) -> Result<Exposure, ControllerError> {
        let nfs = params.share.protocol == Protocol::Nfs;
        match (params.network.reach, nfs) {
            (Some(Reach::PrivateEndpoint), _) => {
                let network = self.network(&params.network)?;
                Ok(Exposure::Private {
                    subscription: network.subscription().to_owned(),
                    group: network.resource_group().to_owned(),
                })
            }
            (Some(Reach::ServiceEndpoint), _) | (None, true) => {
                let subnets = self.subnets(op, &params.network).await?;
                Ok(Exposure::Subnets(Vec::clone(&subnets)))
            }
            (Some(Reach::Public) | None, _) => Ok(Exposure::Public),
        }
    }

    /// The virtual network: the class's, else the cluster's. Its subscription need not be that of the
    /// accounts.
    fn network(&self, params: &NetworkParams) -> Result<ResourceId, ControllerError> {
        let home = &self.settings.network;
        let filled = |said: &Option<String>, texts: [&str; 2]| {
            let rest = texts.into_iter().find(|text| !text.is_empty());
            said.clone()
                .or_else(|| rest.map(str::to_owned))
                .unwrap_or_default()
        };
        let name = filled(&params.network, [&home.name, ""]);
        if name.is_empty() {
            return Err(ControllerError::State(
                "NFS, service endpoints and private endpoints need a virtual network: set vnetName in the class or in the cloud configuration".to_owned(),
            ));
        }
        let subscription = filled(&None, [&home.subscription, &self.settings.subscription]);
        let group = filled(
            &params.group,
            [&home.resource_group, &self.settings.resource_group],
        );
        network_id(&subscription, &group, "virtualNetworks", &name)
            .map_err(|error| ControllerError::Refused(format!("vnetName '{name}': {error}")))
    }

    /// The ids of the subnets that are let in, each with its service endpoint.
    async fn subnets(
        &self,
        op: &Op,
        params: &NetworkParams,
    ) -> Result<Arc<Vec<ResourceId>>, ControllerError> {
        let network = self.network(params)?;
        let key = format!("{} {:?}", network.folded(), params.subnets);
        let fetch = self.open_subnets(op, &network, &params.subnets);
        self.subnets.get_or_fetch(&key, fetch).await
    }

    async fn open_subnets(
        &self,
        op: &Op,
        network: &ResourceId,
        names: &[String],
    ) -> Result<Arc<Vec<ResourceId>>, ControllerError> {
        let networks = self.azure.networks();
        let failed = |error| network_error(format!("reading the subnets of {network}"), error);
        let mut found = Vec::new();
        if names.is_empty() {
            let all = networks.subnets(op, network).await.map_err(failed)?;
            found.extend(all.into_iter().filter(is_for_nodes));
        }
        for name in names {
            let id = child_id(network, "subnets", name)
                .map_err(|error| ControllerError::Refused(format!("subnetName: {error}")))?;
            found.push(networks.subnet(op, &id).await.map_err(failed)?);
        }
        if found.is_empty() {
            let text = format!("virtual network {network} has no subnet for nodes: set subnetName");
            return Err(ControllerError::State(text));
        }
        let mut ids = Vec::new();
        for subnet in found {
            ids.push(subnet.id.clone());
            self.open_subnet(op, subnet).await?;
        }
        Ok(Arc::new(ids))
    }

    /// Adds the service endpoint to a subnet, with everything else as it is. A change of somebody else
    /// in between is seen by the subnet's version.
    async fn open_subnet(&self, op: &Op, mut subnet: Subnet) -> Result<(), ControllerError> {
        let networks = self.azure.networks();
        let id = subnet.id.clone();
        let failed = |error| network_error(format!("adding a service endpoint to {id}"), error);
        for _ in 0..TRIES {
            if !subnet.add_storage_endpoint(self.settings.location.as_str()) {
                return Ok(());
            }
            match networks.replace_subnet(op, &subnet).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_precondition_failed() => {
                    subnet = networks.subnet(op, &id).await.map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(ControllerError::Going(format!(
            "subnet {id} is being changed by others all the time"
        )))
    }

    /// Makes the private endpoint of an account, as far as it is not there: zone, link, endpoint and
    /// names, in this order, each left as it is where it exists.
    pub(super) async fn open_privately(
        &self,
        op: &Op,
        params: &NetworkParams,
        account: &Account,
    ) -> Result<(), ControllerError> {
        let network = self.network(params)?;
        let zone = self.zone(params, &network)?;
        if params.dns == DnsMode::Managed {
            self.keep_zone(op, params, (&zone, &network)).await?;
        }
        let endpoint = self.endpoint_id(&network, account)?;
        let subnet = match (
            params.subnets.first(),
            self.settings.network.subnet.as_str(),
        ) {
            (Some(name), _) => name.as_str(),
            (None, "") => {
                let text = "a private endpoint needs a subnet: set subnetName in the class or in the cloud configuration";
                return Err(ControllerError::State(text.to_owned()));
            }
            (None, name) => name,
        };
        let subnet = child_id(&network, "subnets", subnet)
            .map_err(|error| ControllerError::Refused(format!("subnetName: {error}")))?;
        let name = account.id.name().to_ascii_lowercase();
        let (key, value) = tags::CREATED_BY;
        let body = PrivateEndpointCreate {
            location: account.location.clone(),
            tags: Tags::from([(key.to_owned(), value.to_owned())]),
            subnet,
            connection: format!("{name}-pvtsvcconn"),
            service: account.id.id().clone(),
            group: "file".to_owned(),
        };
        let endpoints = self.azure.private_endpoints();
        let made = endpoints.create(op, &endpoint, &body).await;
        made.map_err(|error| network_error(format!("making private endpoint {endpoint}"), error))?;
        if params.dns != DnsMode::None {
            let group = format!("{name}-dnszonegroup");
            let set = endpoints
                .set_zone_group(op, &endpoint, (&group, &zone))
                .await;
            set.map_err(|error| network_error(format!("naming {endpoint} in {zone}"), error))?;
        }
        Ok(())
    }

    fn endpoint_id(
        &self,
        network: &ResourceId,
        account: &Account,
    ) -> Result<ResourceId, ControllerError> {
        let (subscription, group) = (network.subscription(), network.resource_group());
        let name = matching::endpoint_name(account);
        network_id(subscription, group, "privateEndpoints", &name)
            .map_err(|error| ControllerError::Refused(error.to_string()))
    }

    fn zone(
        &self,
        params: &NetworkParams,
        network: &ResourceId,
    ) -> Result<ResourceId, ControllerError> {
        let own = network.resource_group();
        let group = params.zone_group.as_deref().unwrap_or(own);
        let name = format!("privatelink.file.{}", self.suffix(params));
        network_id(network.subscription(), group, "privateDnsZones", &name)
            .map_err(|error| ControllerError::Refused(error.to_string()))
    }

    /// The suffix of hosts of accounts.
    pub(super) fn suffix<'a>(&'a self, params: &'a NetworkParams) -> &'a str {
        let cloud = &self.azure.environment().storage_suffix;
        params.suffix.as_deref().unwrap_or(cloud)
    }

    async fn keep_zone(
        &self,
        op: &Op,
        params: &NetworkParams,
        (zone, network): (&ResourceId, &ResourceId),
    ) -> Result<(), ControllerError> {
        let dns = self.azure.private_dns();
        let made = dns.create_zone(op, zone, &Tags::new()).await;
        made.map_err(|error| network_error(format!("making private zone {zone}"), error))?;
        let link = params.link.clone();
        let link = link.unwrap_or_else(|| format!("{}-vnetlink", network.name()));
        let made = dns.create_link(op, (zone, &link), network).await;
        made.map_err(|error| network_error(format!("linking {zone} to {network}"), error))?;
        Ok(())
    }
}

fn is_for_nodes(subnet: &Subnet) -> bool {
    !RESERVED
        .iter()
        .any(|name| name.eq_ignore_ascii_case(&subnet.name))
}

fn network_error(doing: String, error: ArmError) -> ControllerError {
    if error.absence().is_some() {
        return ControllerError::State(format!("{doing} failed: it does not exist"));
    }
    ControllerError::azure(doing, error)
}
