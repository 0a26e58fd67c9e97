//! The Kubernetes stub: what the drivers' safety checks rely on, and that a real client gets along
//! with it.

use std::sync::Arc;

use azcsi_sim::kubeapi::seed::{self, NodeFacts};
use azcsi_sim::kubeapi::{Store, answer};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::support::HandClock;

const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";
const MERGE: &str = "application/merge-patch+json";

fn store() -> Arc<Store> {
    Arc::new(Store::new(Arc::new(HandClock::default())))
}

async fn send(
    store: &Arc<Store>,
    method: Method,
    path: &str,
    kind: &str,
    body: Value,
) -> (u16, Value) {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        Bytes::from(body.to_string())
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .body(body);
    let response = answer(Arc::clone(store), request.expect("request")).await;
    let status = response.status().as_u16();
    let bytes = response
        .into_body()
        .collect()
        .await
        .expect("body")
        .to_bytes();
    (status, serde_json::from_slice(&bytes).expect("JSON"))
}

async fn get(store: &Arc<Store>, path: &str) -> (u16, Value) {
    send(store, Method::GET, path, "", Value::Null).await
}

async fn post(store: &Arc<Store>, path: &str, body: Value) -> (u16, Value) {
    send(store, Method::POST, path, "application/json", body).await
}

async fn patch(store: &Arc<Store>, path: &str, kind: &str, body: Value) -> (u16, Value) {
    send(store, Method::PATCH, path, kind, body).await
}

fn attachment(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "attacher": "disk.csi.azure.com", "nodeName": "n1",
        "source": {"persistentVolumeName": "pv1"},
    }})
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[tokio::test]
async fn objects_are_made_once_read_listed_and_removed() {
    let store = store();
    let (status, made) = post(&store, ATTACHMENTS, attachment("a")).await;
    assert_eq!(status, 201);
    assert_eq!(text(&made, "/kind"), "VolumeAttachment");
    assert!(!text(&made, "/metadata/uid").is_empty());
    let (status, again) = post(&store, ATTACHMENTS, attachment("a")).await;
    assert_eq!((status, text(&again, "/reason")), (409, "AlreadyExists"));
    assert_eq!(get(&store, &format!("{ATTACHMENTS}/a")).await, (200, made));
    let (_, list) = get(&store, ATTACHMENTS).await;
    assert_eq!(text(&list, "/items/0/metadata/name"), "a");
    let path = format!("{ATTACHMENTS}/a");
    assert_eq!(
        send(&store, Method::DELETE, &path, "", Value::Null).await.0,
        200
    );
    let (status, gone) = get(&store, &path).await;
    assert_eq!((status, text(&gone, "/reason")), (404, "NotFound"));
}

#[tokio::test]
async fn a_write_over_a_newer_version_is_a_conflict() {
    let store = store();
    let (_, made) = post(&store, ATTACHMENTS, attachment("a")).await;
    let path = format!("{ATTACHMENTS}/a");
    let note = json!({"metadata": {"annotations": {"k": "1"}}});
    let (status, newer) = patch(&store, &path, MERGE, note).await;
    assert_eq!(status, 200);
    assert_ne!(
        text(&newer, "/metadata/resourceVersion"),
        text(&made, "/metadata/resourceVersion")
    );
    let (status, body) = send(&store, Method::PUT, &path, "application/json", made).await;
    assert_eq!((status, text(&body, "/reason")), (409, "Conflict"));
    let (status, _) = send(&store, Method::PUT, &path, "application/json", newer).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_finalizer_holds_an_object_until_it_is_taken_away() {
    let store = store();
    let mut body = attachment("a");
    body["metadata"]["finalizers"] = json!(["external-attacher/disk-csi-azure-com"]);
    post(&store, ATTACHMENTS, body).await;
    let path = format!("{ATTACHMENTS}/a");
    let (status, marked) = send(&store, Method::DELETE, &path, "", Value::Null).await;
    assert_eq!(status, 200);
    assert!(!text(&marked, "/metadata/deletionTimestamp").is_empty());
    assert_eq!(get(&store, &path).await.0, 200);
    let drop = json!([{"op": "remove", "path": "/metadata/finalizers/0"}]);
    assert_eq!(
        patch(&store, &path, "application/json-patch+json", drop)
            .await
            .0,
        200
    );
    assert_eq!(get(&store, &path).await.0, 404);
}

#[tokio::test]
async fn status_and_spec_are_written_apart() {
    let store = store();
    post(&store, ATTACHMENTS, attachment("a")).await;
    let path = format!("{ATTACHMENTS}/a/status");
    let change = json!({"spec": {"nodeName": "other"}, "status": {"attached": true}});
    let (status, body) = patch(&store, &path, MERGE, change).await;
    assert_eq!(status, 200);
    assert_eq!(body.pointer("/status/attached"), Some(&Value::Bool(true)));
    assert_eq!(text(&body, "/spec/nodeName"), "n1");
}

#[tokio::test]
async fn selectors_choose_what_is_listed() {
    let store = store();
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    for (name, tier) in [("a", "x"), ("b", "y")] {
        let body = json!({"metadata": {"name": name, "labels": {"tier": tier}},
            "stringData": {"k": "v"}});
        post(&store, secrets, body).await;
    }
    let (_, list) = get(&store, &format!("{secrets}?labelSelector=tier%3Dy")).await;
    assert_eq!(
        list.pointer("/items")
            .and_then(Value::as_array)
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(text(&list, "/items/0/data/k"), "dg==");
    let (_, list) = get(&store, "/api/v1/secrets?fieldSelector=metadata.name%3Da").await;
    assert_eq!(text(&list, "/items/0/metadata/namespace"), "kube-system");
}

#[tokio::test]
async fn what_is_not_served_and_what_is_not_understood_is_refused() {
    let store = store();
    assert_eq!(get(&store, "/api/v1/services").await.0, 404);
    let (status, _) = patch(
        &store,
        &format!("{ATTACHMENTS}/a"),
        "application/apply-patch+yaml",
        json!({}),
    )
    .await;
    assert_eq!(status, 415);
    let named = json!({"kind": "Pod", "metadata": {"name": "a"}});
    assert_eq!(post(&store, ATTACHMENTS, named).await.0, 400);
    assert_eq!(
        post(&store, ATTACHMENTS, attachment("Not A Name")).await.0,
        422
    );
    assert_eq!(
        send(&store, Method::DELETE, ATTACHMENTS, "", Value::Null)
            .await
            .0,
        405
    );
}

#[tokio::test]
async fn a_watch_tells_every_change_in_order() {
    let store = store();
    post(&store, ATTACHMENTS, attachment("a")).await;
    let request = Request::get(format!("{ATTACHMENTS}?watch=true")).body(Bytes::new());
    let mut body = answer(Arc::clone(&store), request.expect("request"))
        .await
        .into_body();
    let mut seen = Vec::new();
    let mut next = async || {
        let frame = body.frame().await.expect("a frame").expect("no error");
        let bytes = frame.into_data().expect("data");
        for line in bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let event: Value = serde_json::from_slice(line).expect("JSON");
            seen.push(format!(
                "{} {}",
                text(&event, "/type"),
                text(&event, "/object/metadata/name")
            ));
        }
    };
    next().await;
    post(&store, ATTACHMENTS, attachment("b")).await;
    next().await;
    send(
        &store,
        Method::DELETE,
        &format!("{ATTACHMENTS}/a"),
        "",
        Value::Null,
    )
    .await;
    next().await;
    assert_eq!(seen, ["ADDED a", "ADDED b", "DELETED a"]);
}

#[tokio::test]
async fn a_watch_from_the_forgotten_past_has_to_list_again() {
    let store = store();
    post(&store, ATTACHMENTS, attachment("a")).await;
    for n in 0..5000 {
        let note = json!({"metadata": {"annotations": {"n": n.to_string()}}});
        patch(&store, &format!("{ATTACHMENTS}/a"), MERGE, note).await;
    }
    let path = format!("{ATTACHMENTS}?watch=true&resourceVersion=1");
    let (status, body) = get(&store, &path).await;
    assert_eq!((status, text(&body, "/reason")), (410, "Expired"));
}

fn facts(zone: Option<&str>) -> NodeFacts {
    NodeFacts {
        name: "pool000000".into(),
        provider_id: "azure:///subscriptions/s".into(),
        location: "EastUS2".into(),
        zone: zone.map(str::to_owned),
        fault_domain: 4,
        size: "Standard_D4s_v5".into(),
    }
}

#[tokio::test]
async fn nodes_carry_the_labels_of_the_cloud_provider() {
    let store = store();
    seed::nodes(&store, &[facts(Some("2"))]).expect("seed");
    let (_, node) = get(&store, "/api/v1/nodes/pool000000").await;
    assert_eq!(text(&node, "/spec/providerID"), "azure:///subscriptions/s");
    assert_eq!(
        text(&node, "/metadata/labels/topology.kubernetes.io~1zone"),
        "eastus2-2"
    );
    seed::nodes(&store, &[facts(None)]).expect("again");
    let (_, node) = get(&store, "/api/v1/nodes/pool000000").await;
    assert_eq!(
        text(&node, "/metadata/labels/topology.kubernetes.io~1zone"),
        "4"
    );
}
