//! Tests of `watch`.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use crate::attachments::{Attachments, STALE};
use crate::ledger::Ledger;
use crate::testing::{Answer, End, Server, answer, stream};
use crate::watch::Watched;

const DRIVER: &str = "disk.csi.azure.com";
const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";

fn attachment(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version},
        "spec": {"attacher": DRIVER, "nodeName": "n1", "source": {"persistentVolumeName": name}}})
}

fn list(version: &str, items: &[Value]) -> Answer {
    answer(
        200,
        &json!({"metadata": {"resourceVersion": version}, "items": items}),
    )
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

fn ledger(server: &Server) -> Watched<Ledger> {
    Watched::start(&server.kube(), || Ledger::of(DRIVER))
}

#[tokio::test(start_paused = true)]
async fn changes_after_the_list_arrive() {
    let server = Server::new(|request| {
        let query = request.uri().query().unwrap_or_default();
        if !query.contains("watch=1") {
            return list("10", &[attachment("a", "5")]);
        }
        if query.contains("resourceVersion=10") {
            let lines = [
                event("ADDED", &attachment("b", "11")),
                event("DELETED", &attachment("a", "12")),
            ];
            return stream(&lines, End::Closed);
        }
        // The next watch begins where the last one ended.
        assert!(query.contains("resourceVersion=12"), "{query}");
        stream(&[event("ADDED", &attachment("c", "13"))], End::Open)
    });
    let ledger = ledger(&server);
    assert_eq!(ledger.age(), None);
    ledger.until(|known| known.len() == 1).await;
    ledger.until(|known| known.len() == 2).await;
    let names = ledger.read(STALE, |known| {
        let node = "n1".parse().unwrap();
        let mut names: Vec<_> = known.on_node(&node).map(|a| a.name.to_string()).collect();
        names.sort();
        names
    });
    assert_eq!(names.unwrap(), ["b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_gone_is_listed_again() {
    let lists = Mutex::new(0);
    let server = Server::new(move |request| {
        if request
            .uri()
            .query()
            .unwrap_or_default()
            .contains("watch=1")
        {
            let gone =
                json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "old"});
            return stream(&[event("ERROR", &gone)], End::Closed);
        }
        let mut lists = lists.lock().unwrap();
        *lists += 1;
        match *lists {
            1 => list("10", &[attachment("a", "5")]),
            _ => list("20", &[attachment("x", "15"), attachment("y", "16")]),
        }
    });
    let ledger = ledger(&server);
    ledger.until(|known| known.len() == 2).await;
    let node = "n1".parse().unwrap();
    let gone = ledger.read(STALE, |known| known.on_node(&node).any(|a| &*a.name == "a"));
    assert_eq!(gone, Some(false));
}

#[tokio::test(start_paused = true)]
async fn errors_are_tried_again_and_what_is_known_grows_old() {
    let watches = Mutex::new(0);
    let good = Server::new(move |request| {
        if request
            .uri()
            .query()
            .unwrap_or_default()
            .contains("watch=1")
        {
            *watches.lock().unwrap() += 1;
            return stream(&[], End::Open);
        }
        if request.uri().path() == ATTACHMENTS {
            list("10", &[attachment("a", "5")])
        } else {
            let csi = json!({"driver": DRIVER, "volumeHandle": "/S/Disk"});
            let volume = json!({"metadata": {"name": "a"}, "spec": {"csi": csi}});
            list("10", &[volume])
        }
    });
    let server = Server::failing(4, good);
    let attachments = Attachments::start(&server.kube(), DRIVER);
    let node = "n1".parse().unwrap();
    assert_eq!(attachments.on_node(&node), None);
    attachments.listed().await;
    let claims = attachments.of_volume("/s/DISK").unwrap();
    assert_eq!(claims.len(), 1);
    assert_eq!(
        attachments.on_node(&node).unwrap()[0].handle.as_deref(),
        Some("/s/disk")
    );
    tokio::time::advance(STALE + Duration::from_secs(1)).await;
    assert_eq!(attachments.on_node(&node), None);
    assert_eq!(attachments.of_volume("/s/disk"), None);
}
