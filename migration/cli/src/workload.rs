//! Who uses a claim, and how to make them pause. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::value::{list, name, namespace, text};

/// How a workload is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pause {
    /// By `spec.replicas`.
    Scale,
    /// By `spec.suspend`.
    Suspend,
    /// Not by this tool.
    ByHand,
}

/// The owner of pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// How it is paused.
    pub pause: Pause,
    /// Replicas before; for what is suspended 1, or 0 when it was suspended already.
    pub replicas: u64,
}

impl Workload {
    /// For people.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// Whether a pod keeps a claim in use. Finished pods do not.
#[must_use]
pub fn uses(pod: &Value, claim_namespace: &str, claim: &str) -> bool {
    let mounts = |volume: &Value| text(volume, "/persistentVolumeClaim/claimName") == claim;
    namespace(pod) == claim_namespace
        && !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
        && list(pod, "/spec/volumes").iter().any(mounts)
}

/// The owners of the pods that use a claim, each once. `find` looks an owner up.
pub fn owners<'a>(
    pods: impl Iterator<Item = &'a Value>,
    find: impl Fn(&str, &str, &str) -> Option<&'a Value>,
) -> Vec<Workload> {
    let mut out: Vec<Workload> = Vec::new();
    for pod in pods {
        let workload = top(pod, &find);
        if !out.contains(&workload) {
            out.push(workload);
        }
    }
    out
}

/// Climbs from a pod to the owner that nobody owns.
fn top<'a>(pod: &'a Value, find: &impl Fn(&str, &str, &str) -> Option<&'a Value>) -> Workload {
    let place = namespace(pod);
    let mut object = pod;
    let mut kind = "Pod";
    // Nothing in Kubernetes nests deeper than CronJob, Job, Pod; the bound guards against circles.
    for _ in 0..4 {
        let Some(owner) = controller(object) else {
            break;
        };
        let Some(found) = find(text(owner, "/kind"), place, text(owner, "/name")) else {
            // A controller of another sort: only its operator can pause it.
            return Workload {
                kind: text(owner, "/kind").to_owned(),
                namespace: place.to_owned(),
                name: text(owner, "/name").to_owned(),
                pause: Pause::ByHand,
                replicas: 0,
            };
        };
        kind = text(owner, "/kind");
        object = found;
    }
    described(kind, object)
}

fn controller(object: &Value) -> Option<&Value> {
    let owners = list(object, "/metadata/ownerReferences");
    owners
        .iter()
        .find(|owner| owner.get("controller") == Some(&Value::Bool(true)))
}

fn described(kind: &str, object: &Value) -> Workload {
    let replicas = object.pointer("/spec/replicas").and_then(Value::as_u64);
    let suspended = object.pointer("/spec/suspend") == Some(&Value::Bool(true));
    let (pause, replicas) = match kind {
        "StatefulSet" | "Deployment" | "ReplicaSet" => (Pause::Scale, replicas.unwrap_or(1)),
        "CronJob" => (Pause::Suspend, u64::from(!suspended)),
        _ => (Pause::ByHand, 0),
    };
    Workload {
        kind: kind.to_owned(),
        namespace: namespace(object).to_owned(),
        name: name(object).to_owned(),
        pause,
        replicas,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Pause, owners, uses};

    fn owned(kind: &str, name: &str) -> Value {
        json!({"metadata": {"name": "p", "namespace": "n", "ownerReferences": [
            {"kind": kind, "name": name, "controller": true},
        ]}})
    }

    #[test]
    fn the_topmost_owner_is_paused_and_an_unknown_one_is_not_ours() {
        let deployment =
            json!({"metadata": {"name": "web", "namespace": "n"}, "spec": {"replicas": 3}});
        let set = owned("Deployment", "web");
        let find = |kind: &str, _: &str, _: &str| match kind {
            "ReplicaSet" => Some(&set),
            "Deployment" => Some(&deployment),
            _ => None,
        };
        let pods = [owned("ReplicaSet", "web-1"), owned("ReplicaSet", "web-1")];
        let found = owners(pods.iter(), find);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].title().as_str(), found[0].replicas),
            ("Deployment n/web", 3)
        );
        let strange = [owned("Database", "db")];
        let found = owners(strange.iter(), find);
        assert_eq!(found[0].pause, Pause::ByHand);
        let bare = json!({"metadata": {"name": "p", "namespace": "n"}});
        assert_eq!(owners(std::iter::once(&bare), find)[0].pause, Pause::ByHand);
    }

    #[test]
    fn a_finished_pod_holds_nothing() {
        let mut pod = json!({"metadata": {"namespace": "n"}, "spec": {"volumes": [
            {"persistentVolumeClaim": {"claimName": "c"}},
        ]}});
        assert!(uses(&pod, "n", "c"));
        assert!(!uses(&pod, "m", "c"));
        pod["status"] = json!({"phase": "Succeeded"});
        assert!(!uses(&pod, "n", "c"));
    }
}
