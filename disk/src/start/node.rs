//! The Node service: built without Azure credentials and without watches, to stay small.

use std::path::Path;
use std::sync::Arc;

use azcsi_host::Roots;
use azcsi_host::fsck::DIRECTORIES_IN_MEMORY;
use azcsi_host::mkfs::Slots;
use azcsi_host::state::StateStore;
use azcsi_kube::taints::{Limit, Removal, Repeat};
use azcsi_proto::csi::v1::node_server::NodeServer;
use azcsi_rpc::Dispatcher;
use azcsi_rpc::capability::NodeCapabilities;

use super::Base;
use super::error::StartError;
use crate::config::{self, Config};
use crate::kubernetes::notices::KubernetesNotices;
use crate::kubernetes::own_node::OwnNode;
use crate::metadata::Metadata;
use crate::node::machine::{NoLabels, NodeLabels};
use crate::node::metrics::NodeMetrics;
use crate::node::service::NodeService;
use crate::node::{Node, NodeConfig, Powers, get_capabilities};
use crate::notices::{Notices, Silent};

/// Builds the node.
///
/// # Errors
/// Without root, without the folders, or with a state that cannot be read.
pub fn build(config: &Config, base: &Base) -> Result<Arc<Node>, StartError> {
    let settings = &config.node;
    if !is_root() {
        return Err(StartError::NotRoot);
    }
    for (flag, path) in [
        ("device-root", &settings.device_root),
        ("sys-root", &settings.sys_root),
    ] {
        if !path.is_dir() {
            let path = path.clone();
            return Err(StartError::NoFolder { flag, path });
        }
    }
    let roots = Roots {
        sys: settings.sys_root.clone(),
        dev: settings.device_root.clone(),
        ..Roots::default()
    };
    let node_config = node_config(settings);
    let mut powers = Powers::new(&roots, Arc::clone(&base.clock), node_config.formats);
    let state = StateStore::open(&settings.state_dir)?;
    // On the machine's own disk, outside of the memory that this container may use.
    let scratch = settings.state_dir.with_extension("fsck");
    powers.fsck = powers.fsck.with_scratch(&scratch, DIRECTORIES_IN_MEMORY)?;
    let machine = Metadata::new(&config.cloud.metadata_endpoint, Arc::clone(&base.clock));
    let labels: Arc<dyn NodeLabels> = match (&base.kube, settings.id.parse()) {
        (Some(kube), Ok(name)) => OwnNode::new(kube.clone(), name, &config.driver),
        _ => Arc::new(NoLabels),
    };
    let ports = (Arc::new(machine) as _, labels);
    let node = Node::new(node_config, Arc::clone(&base.clock), ports, powers, state)?;
    let notices: Arc<dyn Notices> = match &base.kube {
        Some(kube) => Arc::new(KubernetesNotices::start(kube.clone(), &config.driver, None)),
        None => Arc::new(Silent),
    };
    let metrics = NodeMetrics::shown(&base.metrics, super::METRICS);
    Ok(Arc::new(node.observed(notices, metrics)))
}

/// Whether this process is root, as the kernel shows it.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    Path::new("/proc/self")
        .metadata()
        .is_ok_and(|own| own.uid() == 0)
}

fn node_config(settings: &config::Node) -> NodeConfig {
    NodeConfig {
        node_id: settings.id.clone(),
        id_from_metadata: settings.id_from_metadata,
        info_from_labels: settings.info_from_labels,
        zones: settings.zones,
        attach_limit: settings.attach_limit,
        unknown_size: settings.unknown_size_limit,
        reserved: settings.reserved_slots,
        identity: settings.identity,
        tune: settings.perf_optimization,
        formats: Slots {
            at_once: usize::try_from(settings.formats).unwrap_or(2),
            patience: settings.format_patience,
        },
        ..NodeConfig::default()
    }
}

/// What the node offers.
#[must_use]
pub fn offered() -> NodeCapabilities {
    get_capabilities::offered()
}

/// The service over a node.
#[must_use]
pub fn service(node: &Arc<Node>, dispatcher: &Dispatcher) -> NodeServer<NodeService> {
    NodeServer::new(NodeService::new(Arc::clone(node), dispatcher.clone()))
}

/// Removes the not-ready taint in the background, if that is wanted and possible.
pub fn start_taint_removal(config: &Config, base: &Base) {
    let (Some(taint), Some(kube)) = (config.node.taint, &base.kube) else {
        return;
    };
    let Ok(node) = config.node.id.parse() else {
        tracing::warn!("without --nodeid the not-ready taint stays: its node is not known");
        return;
    };
    let removal = Removal {
        driver: config.driver.clone(),
        node,
        limit: match config.node.attach_limit {
            Some(0) => Limit::None,
            _ => Limit::Reported,
        },
        repeat: if taint.forever {
            Repeat::Forever
        } else {
            Repeat::UntilFree
        },
        delay: taint.delay,
    };
    tokio::spawn(removal.run(kube.clone()));
}
