//! Node objects: the machine behind a node, its zone and size, its taints.

use std::collections::HashMap;

use azcsi_types::node::{NodeName, VmRef};
use serde::{Deserialize, Serialize};

use crate::client::{Kube, escaped};
use crate::error::KubeError;
use crate::watch::{Collection, Meta, PAGE, Page};

const NODES: &str = "/api/v1/nodes";

/// Keys of the machine size, the present one first.
const INSTANCE_TYPE: [&str; 2] = [
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
];
/// Keys of the zone, the present one first.
const ZONE: [&str; 2] = [
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
];
/// Keys of the region, the present one first.
const REGION: [&str; 2] = [
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
];

/// What is used of a Node object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Node {
    #[serde(default)]
    pub(crate) metadata: Meta,
    #[serde(default)]
    spec: NodeSpec,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeStatus {
    conditions: Vec<Condition>,
    volumes_attached: Vec<AttachedVolume>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Condition {
    r#type: Box<str>,
    status: Box<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct AttachedVolume {
    name: Box<str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeSpec {
    #[serde(rename = "providerID")]
    provider_id: Option<Box<str>>,
    taints: Vec<Taint>,
    unschedulable: bool,
}

/// One taint.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What it does.
    pub effect: String,
    /// When it was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<String>,
}

impl Node {
    /// The name of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The unique id of the object.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.metadata.uid
    }

    /// `spec.providerID`: the resource id of the machine behind `azure://`.
    #[must_use]
    pub fn provider_id(&self) -> Option<&str> {
        self.spec.provider_id.as_deref().filter(|id| !id.is_empty())
    }

    /// The zone label.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.first(&ZONE)
    }

    /// The region label.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.first(&REGION)
    }

    /// The machine size, as the label says.
    #[must_use]
    pub fn instance_type(&self) -> Option<&str> {
        self.first(&INSTANCE_TYPE)
    }

    /// Any label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.get(key).map(String::as_str)
    }

    /// The taints.
    #[must_use]
    pub fn taints(&self) -> &[Taint] {
        &self.spec.taints
    }

    /// Whether it is cordoned.
    #[must_use]
    pub const fn unschedulable(&self) -> bool {
        self.spec.unschedulable
    }

    /// The condition `Ready`; `None` if it is not there or not known.
    #[must_use]
    pub fn ready(&self) -> Option<bool> {
        let mut all = self.status.conditions.iter();
        match &*all.find(|condition| &*condition.r#type == "Ready")?.status {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }
    }

    /// Whether an operator has fenced it with the taint `node.kubernetes.io/out-of-service`.
    #[must_use]
    pub fn out_of_service(&self) -> bool {
        let fenced = |taint: &Taint| taint.key == "node.kubernetes.io/out-of-service";
        self.taints().iter().any(fenced)
    }

    /// The handles of `driver`'s volumes that the attach-detach controller has attached here
    /// (`status.volumesAttached`, whose names are `kubernetes.io/csi/<driver>^<handle>`).
    pub fn attached_handles<'a>(&'a self, driver: &'a str) -> impl Iterator<Item = &'a str> {
        self.status.volumes_attached.iter().filter_map(move |one| {
            let rest = one.name.strip_prefix("kubernetes.io/csi/")?;
            rest.strip_prefix(driver)?.strip_prefix('^')
        })
    }

    fn first(&self, keys: &[&str]) -> Option<&str> {
        let mut values = keys.iter().filter_map(|key| self.label(key));
        values.find(|value| !value.is_empty())
    }
}

/// Which machine is behind which node, of every node: the provider ids, and nothing else.
#[derive(Debug, Default)]
pub struct Machines {
    by_node: HashMap<Box<str>, VmRef>,
    by_machine: HashMap<String, Box<str>>,
}

impl Machines {
    /// The machine of a node, if the node is known and has a provider id of Azure.
    #[must_use]
    pub fn machine(&self, node: &NodeName) -> Option<&VmRef> {
        self.by_node.get(node.folded().as_str())
    }

    /// The node that runs on a machine.
    #[must_use]
    pub fn node(&self, machine: &VmRef) -> Option<&str> {
        self.by_machine.get(&machine.folded()).map(|name| &**name)
    }

    fn forget(&mut self, node: &str) {
        if let Some(machine) = self.by_node.remove(node) {
            let machine = machine.folded();
            // A machine that was re-imaged under another name belongs to that one now.
            if self
                .by_machine
                .get(&machine)
                .is_some_and(|name| &**name == node)
            {
                self.by_machine.remove(&machine);
            }
        }
    }
}

impl Collection for Machines {
    type Object = Node;
    const PATH: &'static str = NODES;
    const NOUN: &'static str = "Nodes";

    fn version(object: &Node) -> &str {
        &object.metadata.resource_version
    }

    fn put(&mut self, object: Node) {
        self.forget(object.name());
        let provider_id = object.provider_id().unwrap_or_default();
        if let Ok(machine) = VmRef::from_provider_id(provider_id) {
            self.by_machine
                .insert(machine.folded(), object.name().into());
            self.by_node.insert(object.name().into(), machine);
        }
    }

    fn remove(&mut self, object: &Node) {
        self.forget(object.name());
    }
}

impl Kube {
    /// Reads one Node. Names of Node objects are lower case.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] if there is none of that name.
    pub async fn node(&self, name: &NodeName) -> Result<Node, KubeError> {
        let path = format!("{NODES}/{}", escaped(&name.folded()));
        self.get(&format!("get node {name}"), &path).await
    }

    /// Reads every Node, page by page.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub async fn nodes(&self) -> Result<Vec<Node>, KubeError> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("{NODES}?limit={PAGE}{next}");
            let page: Page<Node> = self.get("list nodes", &path).await?;
            next = page.next();
            all.extend(page.items);
            if next.is_empty() {
                return Ok(all);
            }
        }
    }
}

#[cfg(test)]
mod tests;
