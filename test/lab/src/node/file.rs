//! The File driver's node plugin in a node's machine: started when a case needs it.

use anyhow::{Context as _, Result};
use azcsi_proto::csi::v1::ProbeRequest;
use azcsi_proto::csi::v1::identity_client::IdentityClient;
use azcsi_proto::csi::v1::node_client::NodeClient;
use serde_json::Value;
use tonic::transport::{Channel, Endpoint};

use super::{CALL, KUBECONFIG, Node};
use crate::machine::Machine;
use crate::wait::until;
use crate::wire::{FILE_PORT, Request};

/// Its name among the programs of the agent.
pub(super) const DRIVER: &str = "file-driver";
const CONFIG: &str = "/run/lab/file.json";
/// What the simulator's authority signed is trusted, as Azure's certificates are.
const ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// What it is started with.
#[derive(Debug)]
pub(super) struct Plugin {
    pub(super) is_running: bool,
    channel: Channel,
    config: String,
    roots: String,
}

impl Plugin {
    pub(super) fn new(machine: &Machine, config: &str, roots: String) -> Result<Self> {
        let mut config: Value = serde_json::from_str(config).context("the cloud configuration")?;
        if let Some(fields) = config.as_object_mut() {
            // That file is the host's.
            fields.remove("caFile");
        }
        let url = format!("http://127.0.0.1:{}", machine.file_port);
        Ok(Self {
            is_running: false,
            channel: Endpoint::from_shared(url)?.timeout(CALL).connect_lazy(),
            config: config.to_string(),
            roots,
        })
    }
}

impl Node {
    /// Starts it, unless it runs.
    ///
    /// # Errors
    /// When it does not become ready.
    pub async fn start_file_driver(&mut self) -> Result<()> {
        if self.file.is_running {
            return Ok(());
        }
        let agent = &self.machine.agent;
        for (path, text) in [(CONFIG, &self.file.config), (ROOTS, &self.file.roots)] {
            let (path, text) = (path.to_owned(), text.clone());
            agent.ask(&Request::Put { path, text }).await?;
        }
        let argv = [
            "/opt/lab/azurefile-csi".to_owned(),
            "node".to_owned(),
            format!("--endpoint=tcp://0.0.0.0:{FILE_PORT}"),
            format!("--nodeid={}", self.machine.spec.name),
            format!("--kubeconfig={KUBECONFIG}"),
            format!("--cloud-config={CONFIG}"),
            "-v=5".to_owned(),
        ];
        let name = DRIVER.to_owned();
        let start = Request::Start {
            name: name.clone(),
            argv: argv.to_vec(),
        };
        agent.ask(&start).await?;
        let what = format!("the File driver on {}", self.machine.spec.name);
        let running = Request::Running { name };
        until(&what, || async {
            agent.ask(&running).await?;
            let probe = IdentityClient::new(self.file.channel.clone())
                .probe(ProbeRequest {})
                .await;
            let ready = probe.is_ok_and(|reply| reply.into_inner().ready != Some(false));
            Ok(ready.then_some(()))
        })
        .await?;
        self.file.is_running = true;
        Ok(())
    }

    /// Its Node service.
    #[must_use]
    pub fn file_csi(&self) -> NodeClient<Channel> {
        NodeClient::new(self.file.channel.clone())
    }
}
