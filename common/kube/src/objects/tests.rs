//! Tests of `objects`.

use serde_json::{Value, json};

use super::{Collection, Effect, Objects, Precondition};
use crate::error::KubeError;
use crate::testing::{Server, answer};

const VOLUMES: Collection = Collection {
    api_version: "v1",
    plural: "persistentvolumes",
    kind: "PersistentVolume",
};
const LEASES: Collection = Collection {
    api_version: "coordination.k8s.io/v1",
    plural: "leases",
    kind: "Lease",
};

#[test]
fn paths_follow_group_and_namespace() {
    assert_eq!(VOLUMES.path(None), "/api/v1/persistentvolumes");
    assert_eq!(
        LEASES.object(Some("a/b"), "c"),
        "/apis/coordination.k8s.io/v1/namespaces/a%2Fb/leases/c"
    );
}

#[tokio::test(start_paused = true)]
async fn lists_are_read_to_their_last_page_and_their_objects_get_a_kind() {
    let server = Server::new(|request| {
        let second = request.uri().query().unwrap().contains("continue=t");
        let (name, token) = if second { ("b", "") } else { ("a", "t") };
        let item = json!({"metadata": {"name": name}});
        answer(
            200,
            &json!({"metadata": {"continue": token}, "items": [item]}),
        )
    });
    let mut found = Vec::new();
    let objects = Objects::new(server.kube());
    objects
        .each(&VOLUMES, None, |object| found.push(object))
        .await
        .unwrap();
    let names: Vec<&Value> = found.iter().map(|o| &o["metadata"]["name"]).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(found[1]["kind"], "PersistentVolume");
}

#[tokio::test(start_paused = true)]
async fn a_delete_names_the_object_it_means() {
    let server = Server::new(|_| answer(200, &json!({"kind": "Status"})));
    let unchanged = Precondition {
        uid: "u",
        resource_version: "7",
    };
    let objects = Objects::new(server.kube());
    objects
        .delete(&VOLUMES, None, "a", unchanged)
        .await
        .unwrap();
    let body = &server.bodies("DELETE")[0];
    assert_eq!(
        body["preconditions"],
        json!({"uid": "u", "resourceVersion": "7"})
    );
}

#[tokio::test(start_paused = true)]
async fn absence_is_an_answer_and_a_conflict_is_an_error() {
    let server = Server::new(|request| match request.method().as_str() {
        "GET" | "DELETE" => answer(404, &json!({"kind": "Status", "code": 404})),
        _ => answer(409, &json!({"kind": "Status", "code": 409})),
    });
    let objects = Objects::new(server.kube());
    assert_eq!(objects.get(&VOLUMES, None, "a").await.unwrap(), None);
    let unchanged = Precondition {
        uid: "u",
        resource_version: "7",
    };
    objects
        .delete(&VOLUMES, None, "a", unchanged)
        .await
        .unwrap();
    let body = json!({"metadata": {"name": "a"}});
    let error = objects
        .create(&VOLUMES, None, &body, Effect::Dry)
        .await
        .unwrap_err();
    assert!(matches!(error, KubeError::Conflict { .. }));
    assert!(objects.replace(&LEASES, Some("n"), &body).await.is_err());
}
