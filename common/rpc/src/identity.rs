//! The Identity service: who the plugin is, what it offers, whether it is ready.
//!
//! Every answer comes from memory. Sidecars ask within one second at start, and a failing Probe
//! restarts the pod, so nothing here may depend on Azure.

use std::collections::HashMap;
use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_types::fault::{Fault, Faulty};
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use v1::identity_server::Identity;

use crate::capability::PluginCapabilities;
use crate::method::Method;
use crate::status::status;

/// How far the plugin is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It is still starting.
    Starting,
    /// It can work.
    Ready,
    /// It cannot work, because of this.
    Unhealthy(String),
}

/// What is missing.
#[derive(Debug, thiserror::Error)]
#[error("the plugin cannot work: {0}")]
struct Unhealthy(String);

impl Faulty for Unhealthy {
    fn fault(&self) -> Fault {
        Fault::Precondition
    }
}

/// The plugin's health, set by the process that starts it and read by Probe and `/healthz`.
#[derive(Clone, Debug)]
pub struct Readiness(Arc<watch::Sender<Health>>);

impl Default for Readiness {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Health::Starting)))
    }
}

impl Readiness {
    /// Records the present health.
    pub fn set(&self, health: Health) {
        self.0.send_replace(health);
    }

    /// The present health.
    #[must_use]
    pub fn get(&self) -> Health {
        self.0.borrow().clone()
    }
}

/// The Identity service. The same on every socket of the plugin.
#[derive(Clone, Debug)]
pub struct Plugin {
    name: Arc<str>,
    version: Arc<str>,
    capabilities: PluginCapabilities,
    readiness: Readiness,
}

impl Plugin {
    /// A plugin of this name and version.
    #[must_use]
    pub fn new(
        name: &str,
        version: &str,
        capabilities: PluginCapabilities,
        readiness: Readiness,
    ) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            capabilities,
            readiness,
        }
    }
}

#[tonic::async_trait]
impl Identity for Plugin {
    async fn get_plugin_info(
        &self,
        _request: Request<v1::GetPluginInfoRequest>,
    ) -> Result<Response<v1::GetPluginInfoResponse>, Status> {
        Ok(Response::new(v1::GetPluginInfoResponse {
            name: self.name.to_string(),
            vendor_version: self.version.to_string(),
            manifest: HashMap::new(),
        }))
    }

    async fn get_plugin_capabilities(
        &self,
        _request: Request<v1::GetPluginCapabilitiesRequest>,
    ) -> Result<Response<v1::GetPluginCapabilitiesResponse>, Status> {
        Ok(Response::new(self.capabilities.to_wire()))
    }

    async fn probe(
        &self,
        _request: Request<v1::ProbeRequest>,
    ) -> Result<Response<v1::ProbeResponse>, Status> {
        match self.readiness.get() {
            Health::Starting => Ok(Response::new(v1::ProbeResponse { ready: Some(false) })),
            Health::Ready => Ok(Response::new(v1::ProbeResponse { ready: Some(true) })),
            Health::Unhealthy(what) => Err(status(Method::Probe, &Unhealthy(what))),
        }
    }
}

#[cfg(test)]
mod tests {
    use azcsi_proto::csi::v1;
    use tonic::{Code, Request};
    use v1::identity_server::Identity as _;

    use super::{Health, Plugin, Readiness};
    use crate::capability::PluginCapability;

    fn ask<T: Default>() -> Request<T> {
        Request::new(T::default())
    }

    #[tokio::test]
    async fn the_plugin_says_who_it_is() {
        let capabilities = [PluginCapability::ControllerService].into_iter().collect();
        let plugin = Plugin::new(
            "disk.csi.azure.com",
            "1.2.3",
            capabilities,
            Readiness::default(),
        );
        let info = plugin.get_plugin_info(ask()).await.unwrap().into_inner();
        assert_eq!(
            (&*info.name, &*info.vendor_version),
            ("disk.csi.azure.com", "1.2.3")
        );
        let offered = plugin.get_plugin_capabilities(ask()).await.unwrap();
        assert_eq!(offered.into_inner().capabilities.len(), 1);
    }

    #[tokio::test]
    async fn probe_follows_the_readiness() {
        let readiness = Readiness::default();
        let plugin = Plugin::new("x", "1", Default::default(), readiness.clone());
        let probe = async || plugin.probe(ask()).await;
        assert_eq!(probe().await.unwrap().into_inner().ready, Some(false));
        readiness.set(Health::Ready);
        assert_eq!(probe().await.unwrap().into_inner().ready, Some(true));
        readiness.set(Health::Unhealthy("mkfs.ext4 is missing".to_owned()));
        let status = probe().await.unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(status.message().contains("mkfs.ext4"));
    }
}
