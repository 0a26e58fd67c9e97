//! The Controller service: Azure behind it, the cluster beside it.

use std::sync::Arc;

use azcsi_proto::csi::v1::controller_server::ControllerServer;
use azcsi_rpc::Dispatcher;
use azcsi_rpc::capability::{ControllerCapabilities, ControllerCapability};
use azcsi_types::topology::Region;

use super::cloud::Cloud;
use super::error::StartError;
use super::{Base, cloud};
use crate::config::{self, Config, Mode};
use crate::controller::ports::NoCluster;
use crate::controller::service::ControllerService;
use crate::controller::{Controller, HomeNetwork, Ports, Settings};
use crate::kubernetes::{ClusterSecrets, ClusterVolumes};

/// A controller that is ready to serve.
#[derive(Debug)]
pub struct Part {
    controller: Arc<Controller>,
    offered: ControllerCapabilities,
}

impl Part {
    /// What it offers.
    #[must_use]
    pub fn offered(&self) -> ControllerCapabilities {
        self.offered.clone()
    }

    /// The service.
    #[must_use]
    pub fn service(self, dispatcher: &Dispatcher) -> ControllerServer<ControllerService> {
        ControllerServer::new(ControllerService::new(self.controller, dispatcher.clone()))
    }
}

/// Builds the controller. `None` if there is no cloud configuration, none is needed
/// (`--allow-empty-cloud-config`), and the process has a node to serve.
///
/// # Errors
/// Without a usable cloud configuration.
pub fn build(config: &Config, base: &Base, cloud: &Cloud) -> Result<Option<Part>, StartError> {
    let Some(azure) = cloud.azure(&base.clock)? else {
        let looked = cloud::places(&config.cloud);
        if config.mode == Mode::All && config.cloud.allow_empty {
            tracing::warn!("the controller service is not served: {looked}");
            return Ok(None);
        }
        return Err(StartError::NoCloud { looked });
    };
    let settings = settings(config, azure.config())?;
    let offered = settings.capabilities.clone();
    let ports = match &base.kube {
        None => Ports {
            secrets: Arc::new(NoCluster),
            volumes: Arc::new(NoCluster),
        },
        Some(kube) => Ports {
            secrets: Arc::new(ClusterSecrets::new(kube.clone(), &config.driver)),
            volumes: Arc::new(ClusterVolumes::start(kube, &config.driver)),
        },
    };
    let controller = Controller::new(azure, ports, settings, &base.clock);
    Ok(Some(Part {
        controller: Arc::new(controller),
        offered,
    }))
}

fn settings(config: &Config, cloud: &azcsi_cloud::CloudConfig) -> Result<Settings, StartError> {
    let needed = |key, value: &str| {
        if value.is_empty() {
            Err(StartError::CloudKey { key })
        } else {
            Ok(value.to_owned())
        }
    };
    let location = needed("location", &cloud.location)?;
    let wanted = &config.controller;
    Ok(Settings {
        driver: config.driver.clone(),
        subscription: needed("subscriptionId", &cloud.subscription_id)?,
        resource_group: needed("resourceGroup", &cloud.resource_group)?,
        location: location.parse::<Region>()?,
        network: network(cloud),
        full_retry: wanted.full_retry,
        delete_snapshots: wanted.delete_snapshots,
        capabilities: capabilities(wanted),
    })
}

/// The network of the cluster, as far as the configuration tells it.
fn network(cloud: &azcsi_cloud::CloudConfig) -> HomeNetwork {
    HomeNetwork {
        subscription: cloud.network_resource_subscription_id.clone(),
        resource_group: cloud.vnet_resource_group.clone(),
        name: cloud.vnet_name.clone(),
        subnet: cloud.subnet_name.clone(),
    }
}

fn capabilities(wanted: &config::Controller) -> ControllerCapabilities {
    use ControllerCapability as C;
    let mut all = vec![
        C::CreateDeleteVolume,
        C::CreateDeleteSnapshot,
        C::CloneVolume,
        C::ExpandVolume,
        C::SingleNodeMultiWriter,
        C::ModifyVolume,
        C::GetCapacity,
        C::GetVolume,
        C::GetSnapshot,
        C::GetVolumeHealth,
    ];
    if wanted.list_snapshots {
        all.push(C::ListSnapshots);
    }
    all.into_iter().collect()
}
