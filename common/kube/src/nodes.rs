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
mod tests {
    use azcsi_types::node::NodeName;
    use serde_json::json;

    use super::Machines;
    use crate::testing::{Server, answer};
    use crate::watch::Collection as _;

    fn node(name: &str) -> serde_json::Value {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": "u1", "resourceVersion": "7", "labels": {
                "topology.kubernetes.io/zone": "eastus2-1",
                "topology.kubernetes.io/region": "eastus2",
                "beta.kubernetes.io/instance-type": "Standard_D4s_v5"}},
            "spec": {"providerID": "azure:///subscriptions/s", "podCIDR": "10.0.0.0/24",
                "taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {"capacity": {"cpu": "4"}}
        })
    }

    #[tokio::test]
    async fn a_node_is_read_by_its_lower_case_name() {
        let server = Server::new(|request| match request.uri().path() {
            "/api/v1/nodes/aks-1" => answer(200, &node("aks-1")),
            _ => answer(404, &json!({"kind": "Status", "code": 404})),
        });
        let kube = server.kube();
        let found = kube.node(&"AKS-1".parse().unwrap()).await.unwrap();
        assert_eq!(found.provider_id(), Some("azure:///subscriptions/s"));
        assert_eq!(
            (found.zone(), found.region(), found.instance_type()),
            (Some("eastus2-1"), Some("eastus2"), Some("Standard_D4s_v5"))
        );
        assert_eq!(found.taints().len(), 1);
        let gone: NodeName = "gone".parse().unwrap();
        assert!(kube.node(&gone).await.unwrap_err().is_not_found());
    }

    #[test]
    fn state_and_attached_volumes_are_read() {
        let status = |ready: &str| {
            let volumes = json!([
                {"name": "kubernetes.io/csi/disk.csi.azure.com^/subscriptions/s", "devicePath": ""},
                {"name": "kubernetes.io/csi/file.csi.azure.com^x", "devicePath": ""},
            ]);
            json!({"conditions": [{"type": "MemoryPressure", "status": "False"},
                {"type": "Ready", "status": ready}], "volumesAttached": volumes})
        };
        for (word, ready) in [
            ("True", Some(true)),
            ("False", Some(false)),
            ("Unknown", None),
        ] {
            let mut node = node("n");
            node["status"] = status(word);
            node["spec"]["taints"][0]["key"] = json!("node.kubernetes.io/out-of-service");
            let node: super::Node = serde_json::from_value(node).unwrap();
            assert_eq!(node.ready(), ready);
            assert!(node.out_of_service());
            let handles: Vec<_> = node.attached_handles("disk.csi.azure.com").collect();
            assert_eq!(handles, ["/subscriptions/s"]);
        }
    }

    #[test]
    fn machines_are_found_both_ways() {
        let vm = |name: &str| azcsi_types::node::VmRef::machine("s", "g", name).unwrap();
        let object = |name: &str, machine: &str| {
            let mut node = node(name);
            node["spec"]["providerID"] = json!(vm(machine).provider_id());
            serde_json::from_value::<super::Node>(node).unwrap()
        };
        let mut machines = Machines::default();
        machines.put(object("a", "vm1"));
        machines.put(object("b", "VM1"));
        machines.remove(&object("a", "vm1"));
        assert_eq!(machines.node(&vm("vm1")), Some("b"));
        assert_eq!(machines.machine(&"B".parse().unwrap()), Some(&vm("vm1")));
        assert_eq!(machines.machine(&"a".parse().unwrap()), None);
    }

    #[tokio::test]
    async fn lists_are_read_to_the_last_page() {
        let server = Server::new(|request| {
            let query = request.uri().query().unwrap_or_default();
            if query.contains("continue=t%2B1") {
                answer(
                    200,
                    &json!({"metadata": {"resourceVersion": "9"}, "items": [node("b")]}),
                )
            } else {
                let metadata = json!({"resourceVersion": "9", "continue": "t+1"});
                answer(200, &json!({"metadata": metadata, "items": [node("a")]}))
            }
        });
        let names = server.kube().nodes().await.unwrap();
        let names: Vec<&str> = names.iter().map(super::Node::name).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
