//! What a user of a running simulator needs to know, and the files that tell it to programs.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::tls::write_private;
use crate::worldfile::PoolKind;

/// The one JSON object that `serve` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoints {
    /// ARM over HTTPS.
    pub arm: String,
    /// ARM over plain HTTP.
    pub arm_http: String,
    /// The authority that gives tokens.
    pub authority: String,
    /// The control API.
    pub control: String,
    /// The Kubernetes stub.
    pub kubernetes: String,
    /// The data plane of Azure Files: `<files>/<account>/<share>`; it also answers to
    /// `<account>.file.core.windows.net`. Its callers are on the internet.
    pub files: String,
    /// The suffix of the storage services' hosts.
    pub storage_suffix: String,
    /// The folder with a directory for each share.
    pub shares: PathBuf,
    /// A kubeconfig for it.
    pub kubeconfig: PathBuf,
    /// The certificate to trust.
    pub ca_file: PathBuf,
    /// Cloud configuration of the controller.
    pub controller_config: PathBuf,
    /// Cloud configuration of the nodes.
    pub node_config: PathBuf,
    /// Cloud configuration of the File driver's controller.
    pub file_controller_config: PathBuf,
    /// Cloud configuration of the File driver's nodes.
    pub file_node_config: PathBuf,
    /// A projected token for workload identity, when the world has such a credential.
    pub federated_token_file: Option<PathBuf>,
    /// Directory tenant.
    pub tenant: String,
    /// Subscription.
    pub subscription: String,
    /// Resource group of the nodes.
    pub resource_group: String,
    /// Region.
    pub location: String,
    /// An application that may ask for tokens.
    pub client_id: String,
    /// Its password.
    pub client_secret: String,
    /// The nodes.
    pub nodes: Vec<NodeEndpoints>,
    /// The simulator's process.
    pub pid: u32,
}

/// What one node needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeEndpoints {
    /// Its name, in Kubernetes and as a host.
    pub name: String,
    /// `spec.providerID`.
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// Base URL of its metadata service.
    pub imds: String,
    /// The data plane of Azure Files for callers on this node; none in a world of many nodes.
    pub files: Option<String>,
    /// Its `/dev`; empty without host link.
    pub device_root: Option<PathBuf>,
}

/// How `azure.json` names the kind of the nodes.
#[must_use]
pub const fn vm_type(kind: PoolKind) -> &'static str {
    match kind {
        PoolKind::Uniform => "vmss",
        PoolKind::Flex => "vmssflex",
        PoolKind::Standalone | PoolKind::Avset => "standard",
    }
}

impl Endpoints {
    /// The data plane that accounts show. Who follows it runs on a node, as a driver's controller does.
    pub(super) fn files_of_accounts(&self) -> &str {
        let first = self.nodes.first();
        let inside = first.and_then(|node| node.files.as_deref());
        inside.unwrap_or(&self.files)
    }

    /// The cloud configuration of the controller: an application with a password.
    #[must_use]
    pub fn controller(&self, kind: PoolKind) -> Value {
        let mut config = self.common(kind);
        if let Some(fields) = config.as_object_mut() {
            fields.insert("aadClientId".to_owned(), json!(self.client_id));
            fields.insert("aadClientSecret".to_owned(), json!(self.client_secret));
        }
        config
    }

    /// The cloud configuration of the nodes: no secret, the machine's own identity.
    #[must_use]
    pub fn node(&self, kind: PoolKind) -> Value {
        let mut config = self.common(kind);
        if let Some(fields) = config.as_object_mut() {
            fields.insert("useManagedIdentityExtension".to_owned(), json!(true));
            fields.insert("userAssignedIdentityID".to_owned(), json!(""));
        }
        config
    }

    fn common(&self, kind: PoolKind) -> Value {
        json!({
            "cloud": "AzureCloud",
            "resourceManagerEndpoint": self.arm,
            "caFile": self.ca_file,
            "tenantId": self.tenant,
            "subscriptionId": self.subscription,
            "resourceGroup": self.resource_group,
            "location": self.location,
            "vmType": vm_type(kind),
            "vnetName": crate::network::seed::NETWORK,
            "vnetResourceGroup": self.resource_group,
            "subnetName": crate::network::seed::SUBNET,
            "useInstanceMetadata": true,
        })
    }

    /// Writes the files that this object names, and itself as `endpoints.json` for the commands
    /// that talk to this simulator.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn write_files(&self, dir: &Path, kind: PoolKind) -> io::Result<()> {
        let pretty = |value: &Value| format!("{value:#}\n").into_bytes();
        let (controller, node) = (pretty(&self.controller(kind)), pretty(&self.node(kind)));
        for (path, config) in [
            (&self.controller_config, &controller),
            (&self.node_config, &node),
            (&self.file_controller_config, &controller),
            (&self.file_node_config, &node),
        ] {
            fs::create_dir_all(path.parent().unwrap_or(dir))?;
            write_private(path, config)?;
        }
        let kubeconfig = crate::kubeapi::seed::kubeconfig(&self.kubernetes);
        write_private(&self.kubeconfig, kubeconfig.as_bytes())?;
        write_private(
            &dir.join(crate::cli::client::ENDPOINTS_FILE),
            self.text()?.as_bytes(),
        )
    }

    /// Prints the object where the user asked for it. A file appears under its name only when it
    /// is complete, so that a script can wait for it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn print(&self, target: &str) -> io::Result<()> {
        let text = self.text()?;
        if target == "-" {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            return out.flush();
        }
        let path = Path::new(target);
        let unfinished = path.with_extension("part");
        write_private(&unfinished, text.as_bytes())?;
        fs::rename(unfinished, path)
    }

    fn text(&self) -> io::Result<String> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        Ok(format!("{text}\n"))
    }
}
