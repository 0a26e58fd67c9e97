//! The health check that asks over the real socket.
//!
//! It does what the livenessprobe sidecar does: a new connection and one Probe. So it also notices a
//! server that no longer accepts, or a socket file that is gone.

use std::time::Duration;

use azcsi_proto::csi::v1;
use futures_util::future::BoxFuture;
use v1::identity_client::IdentityClient;

use crate::endpoint::Endpoint;
use crate::web::HealthCheck;

/// Time for connection and answer; kubelet and the sidecar wait for 3 s.
const PATIENCE: Duration = Duration::from_secs(2);

/// Probes the plugin through its own endpoint.
#[derive(Clone, Debug)]
pub struct SocketProbe {
    endpoint: Endpoint,
}

impl SocketProbe {
    /// Probes what listens on `endpoint`.
    #[must_use]
    pub const fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    async fn ask(&self) -> Result<(), String> {
        let uri = match &self.endpoint {
            Endpoint::Unix(path) => format!("unix://{}", path.display()),
            Endpoint::Tcp(address) => format!("http://{address}"),
        };
        let endpoint = tonic::transport::Endpoint::from_shared(uri);
        let endpoint = endpoint.map_err(|error| error.to_string())?;
        let unreachable = |_| format!("nobody answers on {}", self.endpoint);
        let channel = endpoint.connect().await.map_err(unreachable)?;
        let reply = IdentityClient::new(channel)
            .probe(v1::ProbeRequest {})
            .await;
        match reply.map(|reply| reply.into_inner().ready) {
            Ok(None | Some(true)) => Ok(()),
            Ok(Some(false)) => Err("starting".to_owned()),
            Err(status) => Err(status.message().to_owned()),
        }
    }
}

impl HealthCheck for SocketProbe {
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            match tokio::time::timeout(PATIENCE, self.ask()).await {
                Ok(answer) => answer,
                Err(_) => Err(format!(
                    "no answer on {} within {PATIENCE:?}",
                    self.endpoint
                )),
            }
        })
    }
}
