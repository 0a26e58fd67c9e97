//! The Controller service: Azure behind it, the cluster beside it.

use std::sync::Arc;

use azcsi_cloud::{Azure, CloudConfig, ExtendedLocation, GroupScope};
use azcsi_proto::csi::v1::controller_server::ControllerServer;
use azcsi_rpc::Dispatcher;
use azcsi_rpc::capability::{ControllerCapabilities, ControllerCapability};
use azcsi_types::topology::Region;

use super::error::StartError;
use super::{Base, cloud};
use crate::config::{self, Config, Mode};
use crate::controller::ports::ConversionMarks;
use crate::controller::service::ControllerService;
use crate::controller::sku_migration::SkuMigration;
use crate::controller::{Controller, Ports, Settings};
use crate::kubernetes::conversions::Conversions;
use crate::kubernetes::notices::KubernetesNotices;
use crate::kubernetes::{AzureDirectory, Claims, Directory, NoClaims, Slots};
use crate::machines::AzureMachines;
use crate::notices::{Notices, Silent};

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
pub async fn build(config: &Config, base: &Base) -> Result<Option<Part>, StartError> {
    let Some(azure) = cloud::build(config, base).await? else {
        let looked = cloud::places(&config.cloud);
        if config.mode == Mode::All && config.cloud.allow_empty {
            tracing::warn!("the controller service is not served: {looked}");
            return Ok(None);
        }
        return Err(StartError::NoCloud { looked });
    };
    let settings = settings(&config.controller, &azure)?;
    let offered = settings.capabilities.clone();
    let cluster = cluster(config, base, &azure);
    let migration = migration(config, base, &azure, &cluster);
    let controller = Controller::new(azure, cluster.ports, settings, Arc::clone(&base.clock));
    let mut controller = controller.with_notices(cluster.notices);
    if let Some(migration) = migration {
        tokio::spawn(migration.clone().recover());
        controller = controller.with_migration(migration);
    }
    Ok(Some(Part {
        controller: Arc::new(controller),
        offered,
    }))
}

/// What the controller has of the cluster.
struct Cluster {
    ports: Ports,
    notices: Arc<dyn Notices>,
    /// The marks of conversions; there are none outside of a cluster.
    marks: Option<Arc<dyn ConversionMarks>>,
}

/// The watcher of conversions, if there is a cluster to tell.
fn migration(
    config: &Config,
    base: &Base,
    azure: &Azure,
    cluster: &Cluster,
) -> Option<SkuMigration> {
    let limits = config.controller.migration.clone()?;
    let marks = cluster.marks.clone()?;
    let notices = Arc::clone(&cluster.notices);
    let clock = Arc::clone(&base.clock);
    Some(SkuMigration::new(
        azure.clone(),
        marks,
        notices,
        clock,
        limits,
    ))
}

fn cluster(config: &Config, base: &Base, azure: &Azure) -> Cluster {
    let scope = GroupScope::ResourceGroup {
        subscription: azure.config().subscription_id.clone(),
        resource_group: azure.config().resource_group.clone(),
    };
    let machines = AzureMachines::new(azure.clone(), scope);
    let slots = if config.controller.lun_collision {
        Slots::Kept
    } else {
        Slots::Ignored
    };
    let Some(kube) = &base.kube else {
        return Cluster {
            ports: Ports {
                nodes: Arc::new(AzureDirectory(machines)),
                attachments: Arc::new(NoClaims),
            },
            notices: Arc::new(Silent),
            marks: None,
        };
    };
    let claims = Claims::start(kube.clone(), &config.driver, slots);
    let followed = claims.followed();
    let marks = Conversions::new(kube.clone(), &config.driver, Arc::clone(&followed));
    let notices = KubernetesNotices::start(kube.clone(), &config.driver, Some(followed));
    Cluster {
        ports: Ports {
            nodes: Arc::new(Directory::start(kube.clone(), machines)),
            attachments: Arc::new(claims),
        },
        notices: Arc::new(notices),
        marks: Some(Arc::new(marks)),
    }
}

fn settings(wanted: &config::Controller, azure: &Azure) -> Result<Settings, StartError> {
    let cloud = azure.config();
    let needed = |key, value: &str| {
        if value.is_empty() {
            Err(StartError::CloudKey { key })
        } else {
            Ok(value.to_owned())
        }
    };
    let location = needed("location", &cloud.location)?;
    Ok(Settings {
        subscription: needed("subscriptionId", &cloud.subscription_id)?,
        resource_group: needed("resourceGroup", &cloud.resource_group)?,
        location: location.parse::<Region>()?,
        extended_location: extended_location(cloud),
        online_resize: wanted.online_resize,
        collision_guard: wanted.lun_collision,
        wait_for_snapshot: wanted.wait_for_snapshot,
        convert_read_write: wanted.convert_caching,
        stack: azure.environment().api_versions.is_stack(),
        capabilities: capabilities(wanted),
    })
}

/// The edge zone: both halves, or none.
fn extended_location(cloud: &CloudConfig) -> Option<ExtendedLocation> {
    let (name, kind) = (&cloud.extended_location_name, &cloud.extended_location_type);
    (!name.is_empty() && !kind.is_empty()).then(|| ExtendedLocation {
        name: name.clone(),
        kind: kind.clone(),
    })
}

fn capabilities(wanted: &config::Controller) -> ControllerCapabilities {
    use ControllerCapability as C;
    let mut all = vec![
        C::CreateDeleteVolume,
        C::PublishUnpublishVolume,
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
    if wanted.list_volumes {
        all.extend([
            C::ListVolumes,
            C::ListVolumesPublishedNodes,
            C::ListVolumeHealth,
        ]);
    }
    // The driver that this one replaces looks at the flag for volumes only.
    if wanted.list_volumes || wanted.list_snapshots {
        all.push(C::ListSnapshots);
    }
    all.into_iter().collect()
}
