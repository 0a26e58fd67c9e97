//! The ports against an API server and an Azure in the process.

use std::convert::Infallible;
use std::sync::Arc;

use azcsi_cloud::{Azure, CloudConfig, Environment, GroupScope, ServiceTransport};
use azcsi_kube::Kube;
use azcsi_rpc::SystemClock;
use azcsi_types::clock::Deadline;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::node::{NodeName, VmRef};
use azcsi_types::op::Op;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};

use super::own_node::OwnNode;
use super::{AzureDirectory, Claims, Directory, NoClaims, Slots};
use crate::controller::ports::{Attachments as _, Claim, NodeDirectory as _, NodeState};
use crate::machines::AzureMachines;
use crate::node::machine::NodeLabels as _;

const DRIVER: &str = "disk.csi.azure.com";
const DISK: &str = "/subscriptions/s/resourceGroups/G/providers/Microsoft.Compute/disks/d";

/// An API server that answers from `decide`; what that leaves out does not exist.
fn kube(decide: impl Fn(&str) -> Option<Value> + Send + Sync + 'static) -> Kube {
    let decide = Arc::new(decide);
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let decide = Arc::clone(&decide);
        async move {
            if request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=1"))
            {
                std::future::pending::<()>().await;
            }
            let (code, body) = match decide(request.uri().path()) {
                Some(body) => (200, body),
                None => (
                    404,
                    json!({"kind": "Status", "code": 404, "reason": "NotFound"}),
                ),
            };
            let body = Full::new(Bytes::from(body.to_string()));
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    Kube::over(
        kube::Client::new(service, "default"),
        Arc::new(SystemClock::new()),
    )
}

/// An Azure without any machine.
fn no_machines() -> AzureMachines {
    let service = tower::service_fn(|request: Request<Bytes>| async move {
        let body = if request.uri().path().contains("/oauth2/") {
            r#"{"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}"#
        } else {
            r#"{"value": []}"#
        };
        Ok::<_, Infallible>(Response::new(Bytes::from_static(body.as_bytes())))
    });
    let text = r#"{"tenantId": "t", "subscriptionId": "s", "resourceGroup": "g",
        "aadClientId": "c", "aadClientSecret": "x"}"#;
    let config = CloudConfig::parse(text, "test", &Default::default()).unwrap();
    let environment = Environment::named("").unwrap();
    let transport = Arc::new(ServiceTransport::new(service));
    let azure = Azure::new(config, environment, transport, Arc::new(SystemClock::new())).unwrap();
    let scope = GroupScope::ResourceGroup {
        subscription: "s".to_owned(),
        resource_group: "g".to_owned(),
    };
    AzureMachines::new(azure, scope)
}

fn op() -> Op {
    Op::start("test", Deadline::NEVER)
}

fn name(text: &str) -> NodeName {
    text.parse().unwrap()
}

fn list(items: &[Value]) -> Option<Value> {
    Some(json!({"metadata": {"resourceVersion": "1"}, "items": items}))
}

fn node(status: &str, taints: &Value) -> Value {
    let machine = VmRef::machine("s", "g", "vm1").unwrap();
    json!({"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "eastus2-1"}},
        "spec": {"providerID": machine.provider_id(), "taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": status}],
            "volumesAttached": [{"name": format!("kubernetes.io/csi/{DRIVER}^{DISK}"), "devicePath": ""}]}})
}

#[tokio::test]
async fn the_node_object_names_the_machine_and_azure_is_asked_for_the_rest() {
    let kube = kube(|path| match path {
        "/api/v1/nodes/n1" => Some(node("True", &json!([]))),
        _ => None,
    });
    let directory = Directory::start(kube, no_machines());
    let machine = VmRef::machine("s", "G", "VM1").unwrap();
    assert_eq!(
        directory.machine(&op(), &name("N1")).await.unwrap(),
        Some(machine)
    );
    assert_eq!(directory.machine(&op(), &name("gone")).await.unwrap(), None);
}

#[tokio::test]
async fn the_state_of_a_node_is_what_its_object_says() {
    let fenced = json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]);
    for (status, taints, state) in [
        ("True", json!([]), NodeState::Ready),
        ("False", json!([]), NodeState::NotReady),
        ("Unknown", json!([]), NodeState::NotReady),
        ("Unknown", fenced, NodeState::OutOfService),
    ] {
        let object = node(status, &taints);
        let kube = kube(move |path| (path == "/api/v1/nodes/n1").then(|| object.clone()));
        let directory = Directory::start(kube, no_machines());
        assert_eq!(
            directory.state(&name("n1")).await,
            state,
            "{status} {taints}"
        );
        assert_eq!(directory.state(&name("n2")).await, NodeState::Absent);
    }
    let alone = AzureDirectory(no_machines());
    assert_eq!(alone.state(&name("n1")).await, NodeState::Unknown);
}

fn attachment(object: &str, node: &str, lun: &str) -> Value {
    json!({"metadata": {"name": object}, "spec": {"attacher": DRIVER, "nodeName": node,
        "source": {"persistentVolumeName": "pv"}},
        "status": {"attached": true, "attachmentMetadata": {"LUN": lun}}})
}

fn volume() -> Value {
    json!({"metadata": {"name": "pv"}, "spec": {"csi": {"driver": DRIVER, "volumeHandle": DISK}}})
}

/// Claims over a cluster with one volume and these attachments in the list; `direct` exists, but
/// is not in the list yet.
async fn claims(listed: Vec<Value>, direct: Option<Value>, slots: Slots) -> Claims {
    let kube = kube(move |path| match path {
        "/apis/storage.k8s.io/v1/volumeattachments" => list(&listed),
        "/api/v1/persistentvolumes" => list(&[volume()]),
        path if path.contains("/volumeattachments/csi-") => direct.clone(),
        _ => None,
    });
    let claims = Claims::start(kube, DRIVER, slots);
    claims.followed.listed().await;
    claims
}

#[tokio::test]
async fn a_claim_counts_from_memory_or_from_the_servers_present_word() {
    let disk: DiskUri = DISK.to_lowercase().parse().unwrap();
    let on = attachment("a", "n1", "3");
    let mut leaving = on.clone();
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for (listed, direct, claim) in [
        (vec![on.clone()], None, Claim::Live),
        (vec![], Some(on.clone()), Claim::Live),
        (vec![leaving.clone()], Some(leaving), Claim::None),
        (vec![attachment("a", "n2", "3")], None, Claim::None),
        (vec![], None, Claim::None),
    ] {
        let claims = claims(listed.clone(), direct, Slots::Kept).await;
        assert_eq!(claims.claim(&disk, &name("n1")).await, claim, "{listed:?}");
    }
    assert_eq!(NoClaims.claim(&disk, &name("n1")).await, Claim::Unknown);
}

#[tokio::test]
async fn a_cluster_that_was_not_heard_yet_says_nothing() {
    let claims = Claims::start(kube(|_| None), DRIVER, Slots::Kept);
    let disk: DiskUri = DISK.parse().unwrap();
    assert_eq!(claims.claim(&disk, &name("n1")).await, Claim::Unknown);
    assert!(claims.slots(&name("n1"), &[]).await.is_empty());
    assert!(claims.groups().await.is_empty());
}

#[tokio::test]
async fn slots_of_other_disks_are_kept_free_if_that_is_wanted() {
    let disk: DiskUri = DISK.parse().unwrap();
    let node = name("n1");
    let kept = claims(vec![attachment("a", "n1", "3")], None, Slots::Kept).await;
    assert_eq!(kept.slots(&node, &[]).await.len(), 1);
    assert!(kept.slots(&node, &[disk]).await.is_empty());
    assert!(kept.slots(&name("n2"), &[]).await.is_empty());
    assert_eq!(kept.groups().await, [("s".to_owned(), "g".to_owned())]);
    let ignored = claims(vec![attachment("a", "n1", "3")], None, Slots::Ignored).await;
    assert!(ignored.slots(&node, &[]).await.is_empty());
}

#[tokio::test]
async fn a_node_reads_its_own_object() {
    let object = node("True", &json!([]));
    let kube = kube(move |path| (path == "/api/v1/nodes/n1").then(|| object.clone()));
    let own = OwnNode::new(kube.clone(), name("n1"), DRIVER);
    assert_eq!(
        own.labels().await.unwrap().zone.as_deref(),
        Some("eastus2-1")
    );
    assert_eq!(
        own.attached().await.unwrap(),
        [DISK.parse::<DiskUri>().unwrap()]
    );
    let absent = OwnNode::new(kube, name("n2"), DRIVER);
    assert!(absent.labels().await.is_err());
    assert!(absent.attached().await.is_none());
}
