//! Tests of `nodes`.

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
