//! What a cluster of simulated nodes looks like at its start.

use serde_json::{Value, json};

use super::error::ApiError;
use super::resources::{Part, RESOURCES, Target};
use super::store::Store;

/// The facts of one node that Kubernetes shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// Name, equal to the host name.
    pub name: String,
    /// `azure:///subscriptions/…`.
    pub provider_id: String,
    /// Region.
    pub location: String,
    /// Logical zone digit; `None` for a regional machine.
    pub zone: Option<String>,
    /// Fault domain, which stands in for the zone of a regional machine.
    pub fault_domain: u32,
    /// Size of the virtual machine.
    pub size: String,
}

impl NodeFacts {
    /// `eastus2-1`, or the fault domain for a regional machine, as the cloud provider labels it.
    #[must_use]
    pub fn zone_label(&self) -> String {
        match &self.zone {
            Some(zone) => format!("{}-{zone}", self.location.to_lowercase()),
            None => self.fault_domain.to_string(),
        }
    }

    fn object(&self) -> Value {
        let zone = self.zone_label();
        json!({
            "metadata": {"name": self.name, "labels": {
                "kubernetes.io/hostname": self.name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": self.size,
                "beta.kubernetes.io/instance-type": self.size,
                "topology.kubernetes.io/region": self.location,
                "topology.kubernetes.io/zone": zone,
                "failure-domain.beta.kubernetes.io/region": self.location,
                "failure-domain.beta.kubernetes.io/zone": zone,
            }},
            "spec": {"providerID": self.provider_id},
            "status": {
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                "nodeInfo": {"operatingSystem": "linux", "architecture": "amd64"},
            },
        })
    }
}

/// Makes or refreshes the Node objects.
///
/// # Errors
/// When a name is not one that Kubernetes takes.
pub fn nodes(store: &Store, nodes: &[NodeFacts]) -> Result<(), ApiError> {
    let [resource, ..] = &RESOURCES;
    let target = Target {
        resource,
        namespace: None,
        name: None,
        part: Part::Whole,
    };
    for node in nodes {
        store.put(&target, node.object())?;
    }
    Ok(())
}

/// A kubeconfig for the stub at `server`.
#[must_use]
pub fn kubeconfig(server: &str) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "azcsi-sim",
        "clusters": [{"name": "azcsi-sim", "cluster": {"server": server}}],
        "users": [{"name": "azcsi-sim", "user": {}}],
        "contexts": [{"name": "azcsi-sim", "context": {
            "cluster": "azcsi-sim", "user": "azcsi-sim", "namespace": "default",
        }}],
    });
    format!("{config:#}\n")
}
