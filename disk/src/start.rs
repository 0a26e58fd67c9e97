//! The composition root: builds every part from the configuration, and serves.
//!
//! Everything that can be wrong is found before the first call is served; nothing starts by halves.

pub mod cloud;
pub mod controller;
pub mod error;
pub mod hook;
pub mod node;

use std::future::Future;
use std::sync::Arc;

use azcsi_kube::Kube;
use azcsi_proto::csi::v1::identity_server::IdentityServer;
use azcsi_rpc::capability::{Gate, PluginCapabilities, PluginCapability};
use azcsi_rpc::identity::{Health, Plugin, Readiness};
use azcsi_rpc::listener::Listener;
use azcsi_rpc::metrics::Metrics;
use azcsi_rpc::probe::SocketProbe;
use azcsi_rpc::server::{Serving, terminated};
use azcsi_rpc::web::{self, Pages};
use azcsi_rpc::{Dispatcher, Endpoint, Limits, SystemClock};
use azcsi_types::clock::Clock;
use tonic::service::Routes;

use crate::config::{Config, Kubernetes};
use crate::version::VERSION;
use error::StartError;

/// Prefix of the operations' metrics.
const METRICS: &str = "azuredisk_csi_driver";

/// What every part is built from.
#[derive(Clone, Debug)]
pub struct Base {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// The cluster; `None` outside of one.
    pub kube: Option<Kube>,
}

/// Starts everything, serves until SIGTERM or SIGINT, and drains.
///
/// # Errors
/// The first part that cannot be started.
pub async fn serve(config: Config) -> Result<(), StartError> {
    let stop = terminated().map_err(StartError::Signals)?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    azcsi_cloud::install_crypto_provider();
    let listener = Listener::bind(&config.endpoint).await?;
    let endpoint = listener.endpoint();
    let result = Box::pin(serve_on(listener, &config, stop)).await;
    if let (Err(_), Some(Endpoint::Unix(path))) = (&result, endpoint) {
        // It was bound by this process, and nobody was served on it.
        let _ = std::fs::remove_file(path);
    }
    result
}

async fn serve_on(
    listener: Listener,
    config: &Config,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), StartError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let base = Base {
        kube: connect(&config.kubernetes, &config.driver, &clock).await?,
        metrics: Metrics::new(METRICS),
        clock,
    };
    let readiness = Readiness::default();
    let (routes, dispatcher) = services(config, &base, readiness.clone()).await?;
    serve_pages(config, &base, &listener).await?;
    readiness.set(Health::Ready);
    tracing::info!(version = VERSION, mode = ?config.mode, endpoint = %config.endpoint, "serving");
    // From here on kubelet may call; what comes before the first answer waits in the socket.
    let registrar = config.registrar.clone();
    let registered = registrar.map(|registrar| registrar.start(&base.metrics, METRICS));
    let serving = Serving::new(base.clock, base.metrics);
    let served = azcsi_rpc::server::serve(listener, routes, &dispatcher, serving, stop).await;
    drop(registered);
    served?;
    tracing::info!("stopped");
    Ok(())
}

/// Builds the services of the mode, and the dispatcher that they share.
async fn services(
    config: &Config,
    base: &Base,
    readiness: Readiness,
) -> Result<(Routes, Dispatcher), StartError> {
    let node = match config.mode.has_node() {
        true => Some(node::build(config, base)?),
        false => None,
    };
    let controller = match config.mode.has_controller() {
        true => controller::build(config, base).await?,
        false => None,
    };
    let gate = Gate::new(
        controller.as_ref().map(controller::Part::offered),
        node.as_ref().map(|_| node::offered()),
    );
    let dispatcher = Dispatcher::new(Arc::clone(&base.clock), Limits::default())
        .with_gate(gate)
        .with_metrics(Arc::clone(&base.metrics));
    let plugin = Plugin::new(&config.driver, VERSION, capabilities(config), readiness);
    let mut routes = Routes::new(IdentityServer::new(plugin));
    if let Some(node) = node {
        routes = routes.add_service(node::service(&node, &dispatcher));
        node::start_taint_removal(config, base);
    }
    if let Some(controller) = controller {
        routes = routes.add_service(controller.service(&dispatcher));
    }
    Ok((routes, dispatcher))
}

/// The cluster, if there is one.
async fn connect(
    settings: &Kubernetes,
    driver: &str,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Kube>, StartError> {
    let options = azcsi_kube::Options {
        kubeconfig: settings.kubeconfig.clone(),
        qps: settings.qps,
        burst: settings.burst,
        user_agent: format!("{driver}/{VERSION}"),
    };
    let kube = Kube::connect(&options, Arc::clone(clock)).await?;
    if kube.is_none() {
        tracing::warn!(
            "there is no Kubernetes here (no --kubeconfig, no service account): nodes are looked up \
             in Azure, and nothing that a volume might still need is detached or overwritten"
        );
    }
    Ok(kube)
}

/// What the plugin as a whole offers. The same on every socket, whichever services it has.
fn capabilities(config: &Config) -> PluginCapabilities {
    let mut all = vec![
        PluginCapability::ControllerService,
        PluginCapability::VolumeAccessibilityConstraints,
        PluginCapability::SnapshotAccessibilityConstraints,
        PluginCapability::OfflineExpansion,
    ];
    if config.controller.online_resize {
        all.push(PluginCapability::OnlineExpansion);
    }
    all.into_iter().collect()
}

/// Serves `/metrics` and `/healthz` in the background, on each address that is given.
async fn serve_pages(config: &Config, base: &Base, csi: &Listener) -> Result<(), StartError> {
    let endpoint = csi.endpoint().unwrap_or_else(|| config.endpoint.clone());
    let pages = Pages::new(
        Arc::clone(&base.metrics),
        Arc::new(SocketProbe::new(endpoint)),
    );
    let both = [config.metrics, config.health].into_iter().flatten();
    // The same address twice is one listener.
    for address in std::collections::BTreeSet::from_iter(both) {
        let refused = |source| StartError::Metrics { address, source };
        let listener = tokio::net::TcpListener::bind(address)
            .await
            .map_err(refused)?;
        // Until the process ends: the drain is watched by it as well.
        tokio::spawn(web::serve(listener, pages.clone(), std::future::pending()));
    }
    Ok(())
}
