//! Notices against an API server in the process.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use azcsi_kube::Kube;
use azcsi_kube::attachments::Attachments;
use azcsi_rpc::SystemClock;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};

use super::KubernetesNotices;
use crate::notices::{Notice, Notices as _, Severity, Subject};

const DRIVER: &str = "disk.csi.azure.com";
const DISK: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d";

/// Bodies of the events that the server got.
#[derive(Clone, Debug, Default)]
struct Written(Arc<Mutex<Vec<Value>>>);

impl Written {
    fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    async fn until(&self, count: usize) -> Vec<Value> {
        while self.0.lock().unwrap().len() < count {
            tokio::task::yield_now().await;
        }
        self.all()
    }
}

fn volume(name: &str, handle: &str, claim: Option<Value>) -> Value {
    let csi = json!({"driver": DRIVER, "volumeHandle": handle});
    json!({"metadata": {"name": name, "uid": format!("uid-of-{name}")},
        "spec": {"csi": csi, "claimRef": claim}})
}

fn objects() -> Vec<Value> {
    let claim = json!({"namespace": "app", "name": "data", "uid": "u1"});
    vec![
        volume("bound", DISK, Some(claim)),
        volume("free", &DISK.replace("disks/d", "disks/free"), None),
    ]
}

fn answer(path: &str) -> Option<Value> {
    let list = |items: Vec<Value>| json!({"metadata": {"resourceVersion": "1"}, "items": items});
    match path {
        "/apis/storage.k8s.io/v1/volumeattachments" => Some(list(Vec::new())),
        "/api/v1/persistentvolumes" => Some(list(objects())),
        "/api/v1/namespaces/app/persistentvolumeclaims/known" => {
            Some(json!({"metadata": {"name": "known", "uid": "u2"}}))
        }
        path => {
            let name = path.strip_prefix("/api/v1/persistentvolumes/")?;
            let named = |object: &Value| object["metadata"]["name"] == name;
            objects().into_iter().find(named)
        }
    }
}

fn kube(written: &Written) -> Kube {
    let written = written.clone();
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let written = written.clone();
        async move {
            let watches = request.uri().query().is_some_and(|q| q.contains("watch=1"));
            if watches {
                std::future::pending::<()>().await;
            }
            let path = request.uri().path().to_owned();
            let body = if request.method() == http::Method::POST {
                let body = request.into_body().collect_bytes().await.unwrap();
                let event: Value = serde_json::from_slice(&body).unwrap();
                written.0.lock().unwrap().push(event);
                Some(json!({"metadata": {"name": "e"}}))
            } else {
                answer(&path)
            };
            let code = if body.is_some() { 200 } else { 404 };
            let none = json!({"kind": "Status", "code": 404, "reason": "NotFound"});
            let body = Full::new(Bytes::from(body.unwrap_or(none).to_string()));
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    Kube::over(
        kube::Client::new(service, "default"),
        Arc::new(SystemClock::new()),
    )
}

async fn notices(written: &Written) -> KubernetesNotices {
    let kube = kube(written);
    let followed = Attachments::start(&kube, DRIVER);
    followed.listed().await;
    KubernetesNotices::start(kube, DRIVER, Some(Arc::new(followed)))
}

fn about(subject: Subject, reason: &'static str) -> Notice {
    Notice {
        subject,
        severity: Severity::Warning,
        reason,
        text: "no".to_owned(),
    }
}

#[tokio::test]
async fn an_event_is_about_the_claim_the_volume_or_the_node() {
    let written = Written::default();
    let notices = notices(&written).await;
    let disk = |text: &str| Subject::Volume(text.parse().unwrap());
    let claim = |name: &str| Subject::Claim {
        namespace: "app".to_owned(),
        name: name.to_owned(),
    };
    for subject in [
        disk(
            &DISK
                .to_uppercase()
                .replace("/SUBSCRIPTIONS", "/subscriptions"),
        ),
        disk(&DISK.replace("disks/d", "disks/free")),
        disk(&DISK.replace("disks/d", "disks/nobody")),
        claim("known"),
        claim("unknown"),
        Subject::Node("n1".parse().unwrap()),
    ] {
        notices.tell(about(subject, "Refused"));
    }
    let events = written.until(5).await;
    let of = |field: &str| -> Vec<String> {
        let values = events.iter().map(|event| &event["involvedObject"][field]);
        values
            .map(|value| value.as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(of("name"), ["data", "free", "known", "unknown", "n1"]);
    assert_eq!(of("uid"), ["u1", "uid-of-free", "u2", "", "n1"]);
    assert_eq!(
        of("kind")[..2],
        ["PersistentVolumeClaim", "PersistentVolume"]
    );
    assert_eq!(events[0]["reason"], "Refused");
    assert_eq!(events[0]["type"], "Warning");
    assert_eq!(events[0]["source"]["component"], DRIVER);
}

#[tokio::test]
async fn a_storm_of_the_same_is_one_event_and_telling_never_waits() {
    let written = Written::default();
    let notices = notices(&written).await;
    let node = || Subject::Node("n1".parse().unwrap());
    for _ in 0..10_000 {
        notices.tell(about(node(), "One"));
    }
    notices.tell(about(node(), "Two"));
    let events = written.until(2).await;
    assert_eq!(events[0]["reason"], "One");
    assert_eq!(events[1]["reason"], "Two");
    assert_eq!(written.all().len(), 2);
}
