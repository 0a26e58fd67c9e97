//! What kubelet is answered.

use azcsi_proto::pluginregistration as wire;
use tonic::{Request, Response, Status};
use wire::registration_server::Registration;

use super::{Counts, Outcome, Registrar};

/// The kind of plugin.
const KIND: &str = "CSIPlugin";

/// The version of the registration, which is not that of CSI.
const VERSION: &str = "1.0.0";

/// Answers from memory.
#[derive(Clone, Debug)]
pub(super) struct Service {
    registrar: Registrar,
    counts: Counts,
}

impl Service {
    pub(super) fn new(registrar: Registrar, counts: Counts) -> Self {
        Self { registrar, counts }
    }
}

#[tonic::async_trait]
impl Registration for Service {
    async fn get_info(
        &self,
        _request: Request<wire::InfoRequest>,
    ) -> Result<Response<wire::PluginInfo>, Status> {
        Ok(Response::new(wire::PluginInfo {
            r#type: KIND.to_owned(),
            name: self.registrar.driver.clone(),
            endpoint: self.registrar.endpoint.display().to_string(),
            supported_versions: vec![VERSION.to_owned()],
        }))
    }

    async fn notify_registration_status(
        &self,
        request: Request<wire::RegistrationStatus>,
    ) -> Result<Response<wire::RegistrationStatusResponse>, Status> {
        let said = request.into_inner();
        let success = if said.plugin_registered {
            tracing::info!(driver = %self.registrar.driver, "registered with kubelet");
            "true"
        } else {
            // Kubelet tries again by itself, so there is no reason to end.
            tracing::error!(
                driver = %self.registrar.driver,
                "kubelet does not register the driver: {}", said.error
            );
            "false"
        };
        let counts = &self.counts;
        counts.registered.set(said.plugin_registered.into());
        counts.notices.get_or_create(&Outcome { success }).inc();
        Ok(Response::new(wire::RegistrationStatusResponse {}))
    }
}
