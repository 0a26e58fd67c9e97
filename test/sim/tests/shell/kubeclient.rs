//! The stub as a real client sees it: the `kube` crate over a socket, as the drivers use it.

use std::net::SocketAddr;
use std::sync::Arc;

use azcsi_sim::kubeapi::seed::{self, NodeFacts};
use azcsi_sim::kubeapi::{Store, answer};
use azcsi_sim::serve::site::{Answer, Listener, Site};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::Request;
use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt as _};
use serde_json::json;
use tokio::sync::watch;

use crate::support::HandClock;

#[derive(Debug)]
struct Stub(Arc<Store>);

impl Site for Stub {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Answer> {
        let answer = answer(Arc::clone(&self.0), request);
        Box::pin(async move { Ok(answer.await) })
    }
}

/// A client made from the kubeconfig that users get, and what keeps the server up.
async fn client() -> (Client, watch::Sender<bool>) {
    let store = Arc::new(Store::new(Arc::new(HandClock::default())));
    let node = NodeFacts {
        name: "pool000000".into(),
        provider_id: "azure:///subscriptions/s".into(),
        location: "eastus2".into(),
        zone: Some("1".into()),
        fault_domain: 0,
        size: "Standard_D4s_v5".into(),
    };
    seed::nodes(&store, &[node]).expect("seed");
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .expect("bind");
    let server = format!("http://{}", listener.address());
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(listener.serve(None, Arc::new(Stub(store)), stopped));
    let kubeconfig = Kubeconfig::from_yaml(&seed::kubeconfig(&server)).expect("kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .expect("config");
    (Client::try_from(config).expect("client"), stop)
}

fn attachment(name: &str) -> VolumeAttachment {
    let value = json!({
        "metadata": {"name": name},
        "spec": {"attacher": "disk.csi.azure.com", "nodeName": "pool000000",
            "source": {"persistentVolumeName": "pv1"}},
    });
    serde_json::from_value(value).expect("a VolumeAttachment")
}

#[tokio::test]
async fn nodes_are_read_with_their_provider_ids() {
    let (client, _up) = client().await;
    let nodes = Api::<Node>::all(client)
        .list(&ListParams::default())
        .await
        .expect("list");
    let node = nodes.items.first().expect("a node");
    let spec = node.spec.as_ref().expect("spec");
    assert_eq!(
        spec.provider_id.as_deref(),
        Some("azure:///subscriptions/s")
    );
    assert_eq!(
        node.labels()
            .get("topology.kubernetes.io/zone")
            .map(String::as_str),
        Some("eastus2-1")
    );
}

#[tokio::test]
async fn an_attachment_lives_through_its_whole_life() {
    let (client, _up) = client().await;
    let api = Api::<VolumeAttachment>::all(client);
    let made = api
        .create(&PostParams::default(), &attachment("a"))
        .await
        .expect("create");
    let status = json!({"status": {"attached": true}});
    let patched = api
        .patch_status("a", &PatchParams::default(), &Patch::Merge(&status))
        .await
        .expect("patch");
    assert!(patched.status.expect("status").attached);
    let stale = api
        .replace("a", &PostParams::default(), &made)
        .await
        .expect_err("stale");
    assert!(matches!(stale, kube::Error::Api(status) if status.code == 409));
    api.delete("a", &DeleteParams::default())
        .await
        .expect("delete");
    assert!(api.get_opt("a").await.expect("get").is_none());
}

#[tokio::test]
async fn a_watch_follows_from_a_list_on() {
    let (client, _up) = client().await;
    let api = Api::<VolumeAttachment>::all(client);
    let list = api.list(&ListParams::default()).await.expect("list");
    let version = list.metadata.resource_version.expect("version");
    let mut events = api
        .watch(&WatchParams::default(), &version)
        .await
        .expect("watch")
        .boxed();
    api.create(&PostParams::default(), &attachment("a"))
        .await
        .expect("create");
    api.delete("a", &DeleteParams::default())
        .await
        .expect("delete");
    let mut seen = Vec::new();
    while seen.len() < 2 {
        match events.try_next().await.expect("stream").expect("an event") {
            WatchEvent::Added(object) => seen.push(format!("added {}", object.name_any())),
            WatchEvent::Deleted(object) => seen.push(format!("deleted {}", object.name_any())),
            _ => {}
        }
    }
    assert_eq!(seen, ["added a", "deleted a"]);
}

#[tokio::test]
async fn secrets_are_found_by_namespace() {
    let (client, _up) = client().await;
    let api = Api::<Secret>::namespaced(client.clone(), "kube-system");
    let value = json!({"metadata": {"name": "s"}, "stringData": {"k": "v"}});
    let secret: Secret = serde_json::from_value(value).expect("a Secret");
    api.create(&PostParams::default(), &secret)
        .await
        .expect("create");
    let read = api.get("s").await.expect("get");
    let data = read.data.expect("data");
    assert_eq!(
        data.get("k").map(|bytes| bytes.0.as_slice()),
        Some(b"v".as_slice())
    );
    let other = Api::<Secret>::namespaced(client, "default");
    assert!(other.get_opt("s").await.expect("get").is_none());
}
