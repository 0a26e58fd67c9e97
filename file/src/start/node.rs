//! The Node service.

use std::path::Path;
use std::sync::Arc;

use azcsi_host::Roots;
use azcsi_host::state::StateStore;
use azcsi_proto::csi::v1::node_server::NodeServer;
use azcsi_rpc::Dispatcher;
use azcsi_rpc::capability::NodeCapabilities;

use super::Base;
use super::cloud::Cloud;
use super::error::StartError;
use crate::config::{self, Config};
use crate::node::azure::{CloudParts, Sources};
use crate::node::inline::NodeKeys;
use crate::node::service::NodeService;
use crate::node::tunnel::Tunnels;
use crate::node::{Node, NodeConfig, Powers, get_capabilities};

/// A node that is ready to serve.
#[derive(Debug)]
pub struct Part {
    node: Arc<Node>,
    offered: NodeCapabilities,
}

impl Part {
    /// What it offers.
    #[must_use]
    pub fn offered(&self) -> NodeCapabilities {
        self.offered.clone()
    }

    /// The service.
    #[must_use]
    pub fn service(self, dispatcher: &Dispatcher) -> NodeServer<NodeService> {
        NodeServer::new(NodeService::new(self.node, dispatcher.clone()))
    }
}

/// Builds the node.
///
/// # Errors
/// Without root, or with a state that cannot be read.
pub async fn build(config: &Config, base: &Base, cloud: &Cloud) -> Result<Part, StartError> {
    let settings = &config.node;
    if !is_root() {
        return Err(StartError::NotRoot);
    }
    let roots = Roots::default();
    let node_config = node_config(settings, cloud);
    let mut powers = Powers::new(&roots, Arc::clone(&base.clock));
    if let Some(folder) = &settings.bind_for_tests {
        tracing::warn!(folder = %folder.display(), "shares are folders: for tests only");
        powers = powers.bind_for_tests(folder.clone());
    }
    let parts = CloudParts {
        config: cloud.config.clone(),
        environment: cloud.environment.clone(),
        transport: Arc::clone(&cloud.transport),
        clock: Arc::clone(&base.clock),
        tokens: settings.state_dir.join("tokens"),
    };
    let sources = Arc::new(Sources::new(base.kube.clone(), parts));
    let state = StateStore::open(&settings.state_dir)?;
    let offered = get_capabilities::offered(&node_config);
    let node = Node::new(node_config, Arc::clone(&base.clock), sources, powers, state);
    let tunnels = StateStore::open(&settings.state_dir.join("tunnels"))?;
    let tunnels = Tunnels::new(tunnels).map_err(StartError::Tunnels)?;
    let node = node.with_tunnels(tunnels).await;
    Ok(Part {
        node: Arc::new(node),
        offered,
    })
}

/// Whether this process is root, as the kernel shows it.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    Path::new("/proc/self")
        .metadata()
        .is_ok_and(|own| own.uid() == 0)
}

fn node_config(settings: &config::Node, cloud: &Cloud) -> NodeConfig {
    let identity = cloud.config.as_ref();
    let identity = identity.map(|config| config.user_assigned_identity_id.clone());
    NodeConfig {
        node_id: settings.id.clone(),
        suffix: cloud.environment.storage_suffix.clone(),
        options: settings.options,
        permissions: settings.permissions,
        group_change: settings.group_change,
        mount_group: settings.mount_group,
        stats: settings.stats,
        vhd: settings.vhd,
        inline_keys: match settings.inline_keys {
            true => NodeKeys::Allowed,
            false => NodeKeys::Denied,
        },
        inline_secrets: settings.inline_secrets,
        own_identity: identity.filter(|id| !id.is_empty()),
        ..NodeConfig::default()
    }
}
