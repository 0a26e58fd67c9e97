//! StatefulSets and Deployments: claims from templates, and pods.

use serde_json::{Value, json};

use super::{View, claims_of, object, text};

pub(super) fn act(view: View<'_>) {
    for set in view.all("StatefulSet") {
        for ordinal in 0..replicas(&set) {
            stateful(view, &set, ordinal);
        }
        shrink(view, &set, &format!("{}-", object::name(&set)));
    }
    for deployment in view.all("Deployment") {
        let name = format!("{}-1", object::name(&deployment));
        let namespace = object::namespace(&deployment);
        if view.get("ReplicaSet", namespace, &name).is_none() {
            let body = json!({"metadata": {"name": name, "ownerReferences": [owner(&deployment)]}});
            view.create("ReplicaSet", namespace, body);
        }
        let Some(set) = view.get("ReplicaSet", namespace, &name) else {
            continue;
        };
        for ordinal in 0..replicas(&deployment) {
            let volumes = deployment.pointer("/spec/template/spec/volumes");
            let volumes = volumes.cloned().unwrap_or(Value::Null);
            pod(view, &set, &format!("{name}-{ordinal}"), volumes);
        }
        shrink(view, &deployment, &format!("{name}-"));
    }
    for pod in view.all("Pod") {
        let bound = |claim: &&str| {
            let claim = view.get("PersistentVolumeClaim", object::namespace(&pod), claim);
            claim.is_some_and(|claim| text(&claim, "/status/phase") == "Bound")
        };
        let ready = claims_of(&pod).iter().all(bound);
        view.phase(&pod, if ready { "Running" } else { "Pending" });
    }
}

fn replicas(owner: &Value) -> u64 {
    owner
        .pointer("/spec/replicas")
        .and_then(Value::as_u64)
        .unwrap_or(1)
}

fn owner(of: &Value) -> Value {
    json!({
        "apiVersion": of["apiVersion"], "kind": of["kind"], "name": object::name(of),
        "uid": text(of, "/metadata/uid"), "controller": true,
    })
}

fn stateful(view: View<'_>, set: &Value, ordinal: u64) {
    let (name, namespace) = (object::name(set), object::namespace(set));
    let templates = set
        .pointer("/spec/volumeClaimTemplates")
        .and_then(Value::as_array);
    let mut volumes = Vec::new();
    for template in templates.into_iter().flatten() {
        let volume = object::name(template);
        let claim = format!("{volume}-{name}-{ordinal}");
        if view
            .get("PersistentVolumeClaim", namespace, &claim)
            .is_none()
        {
            let body = json!({"metadata": {"name": claim}, "spec": template["spec"]});
            view.create("PersistentVolumeClaim", namespace, body);
        }
        volumes.push(json!({"name": volume, "persistentVolumeClaim": {"claimName": claim}}));
    }
    pod(view, set, &format!("{name}-{ordinal}"), volumes.into());
}

fn pod(view: View<'_>, controller: &Value, name: &str, volumes: Value) {
    let namespace = object::namespace(controller);
    if view.get("Pod", namespace, name).is_none() {
        let body = json!({
            "metadata": {"name": name, "ownerReferences": [owner(controller)]},
            "spec": {"nodeName": "aks-1", "volumes": volumes},
            "status": {"phase": "Pending"},
        });
        view.create("Pod", namespace, body);
    }
}

/// Removes the pods beyond the number of replicas.
fn shrink(view: View<'_>, owner: &Value, prefix: &str) {
    for pod in view.all("Pod") {
        let ordinal = object::name(&pod)
            .strip_prefix(prefix)
            .and_then(|o| o.parse::<u64>().ok());
        let mine = object::namespace(&pod) == object::namespace(owner);
        if mine && ordinal.is_some_and(|ordinal| ordinal >= replicas(owner)) {
            view.delete(&pod);
        }
    }
}
