//! Marks against an API server in the process that keeps one volume.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use azcsi_kube::Kube;
use azcsi_kube::attachments::Attachments;
use azcsi_rpc::SystemClock;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};

use super::{Conversions, LABEL, WATCHER};
use crate::controller::ports::{ConversionMarks as _, Hold};

const DRIVER: &str = "disk.csi.azure.com";
const DISK: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d";

/// The one volume of the cluster, and how often its next writes are in conflict.
#[derive(Clone, Debug)]
struct Server(Arc<Mutex<(Value, u32)>>);

impl Server {
    fn new() -> Self {
        let object = json!({
            "metadata": {"name": "pv", "resourceVersion": "7", "labels": {}, "annotations": {}},
            "spec": {"csi": {"driver": DRIVER, "volumeHandle": DISK}},
        });
        Self(Arc::new(Mutex::new((object, 0))))
    }

    fn annotate(&self, text: &str) {
        let mut state = self.0.lock().unwrap();
        state.0["metadata"]["annotations"] = json!({WATCHER: text});
        state.0["metadata"]["labels"] = json!({LABEL: "true"});
    }

    fn conflicts(&self, times: u32) {
        self.0.lock().unwrap().1 = times;
    }

    fn metadata(&self) -> Value {
        self.0.lock().unwrap().0["metadata"].clone()
    }

    fn answer(&self, method: &Method, uri: &str, body: &Value) -> (u16, Value) {
        let mut state = self.0.lock().unwrap();
        if method == Method::PATCH {
            if state.1 > 0 || body["metadata"]["resourceVersion"] != "7" {
                state.1 = state.1.saturating_sub(1);
                return (409, json!({"kind": "Status", "code": 409}));
            }
            for part in ["labels", "annotations"] {
                for (key, value) in body["metadata"][part].as_object().unwrap() {
                    let map = state.0["metadata"][part].as_object_mut().unwrap();
                    match value {
                        Value::Null => drop(map.remove(key)),
                        value => drop(map.insert(key.clone(), value.clone())),
                    }
                }
            }
            return (200, state.0.clone());
        }
        let marked = state.0["metadata"]["labels"][LABEL] == "true";
        let items = match uri.contains("labelSelector") && !marked {
            true => Vec::new(),
            false => vec![state.0.clone()],
        };
        if uri.starts_with("/api/v1/persistentvolumes/") {
            return (200, state.0.clone());
        }
        let items = if uri.contains("volumeattachments") {
            Vec::new()
        } else {
            items
        };
        (
            200,
            json!({"metadata": {"resourceVersion": "7"}, "items": items}),
        )
    }

    fn kube(&self) -> Kube {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let server = server.clone();
            async move {
                let uri = request.uri().to_string();
                if uri.contains("watch=1") {
                    std::future::pending::<()>().await;
                }
                let method = request.method().clone();
                let body = request.into_body().collect_bytes().await.unwrap();
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let (code, body) = server.answer(&method, &uri, &body);
                let body = Full::new(Bytes::from(body.to_string()));
                Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
            }
        });
        let client = kube::Client::new(service, "default");
        Kube::over(client, Arc::new(SystemClock::new()))
    }

    async fn process(&self) -> Conversions {
        let kube = self.kube();
        let followed = Attachments::start(&kube, DRIVER);
        followed.listed().await;
        Conversions::new(kube, DRIVER, Arc::new(followed))
    }
}

#[tokio::test]
async fn one_of_two_processes_watches_until_it_lets_go() {
    let server = Server::new();
    let (one, two) = (server.process().await, server.process().await);
    let disk = DISK.to_lowercase().parse().unwrap();
    assert_eq!(one.hold(&disk).await.unwrap(), Hold::Ours);
    assert_eq!(server.metadata()["labels"][LABEL], "true");
    assert_eq!(two.hold(&disk).await.unwrap(), Hold::Others);
    assert_eq!(one.hold(&disk).await.unwrap(), Hold::Ours, "renewed");
    assert_eq!(one.unwatched().await.unwrap().len(), 1);
    assert_eq!(two.unwatched().await.unwrap().len(), 0);
    one.release(&disk).await.unwrap();
    assert_eq!(server.metadata()["labels"], json!({}));
    assert_eq!(server.metadata()["annotations"], json!({}));
}

#[tokio::test]
async fn a_mark_that_was_not_renewed_or_cannot_be_read_holds_nobody_off() {
    let server = Server::new();
    let process = server.process().await;
    let disk = DISK.parse().unwrap();
    for old in ["somebody@1000", "nonsense", "somebody@x", ""] {
        server.annotate(old);
        assert_eq!(process.unwatched().await.unwrap().len(), 1, "{old}");
        assert_eq!(process.hold(&disk).await.unwrap(), Hold::Ours, "{old}");
    }
}

#[tokio::test]
async fn a_write_in_between_is_tried_again_and_then_left_to_the_other() {
    let server = Server::new();
    let process = server.process().await;
    let disk = DISK.parse().unwrap();
    server.conflicts(2);
    assert_eq!(process.hold(&disk).await.unwrap(), Hold::Ours);
    server.conflicts(9);
    assert_eq!(process.hold(&disk).await.unwrap(), Hold::Others);
}
