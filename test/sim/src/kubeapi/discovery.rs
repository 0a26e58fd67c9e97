//! What `kubectl` reads before anything else: version, groups and resources.

use serde_json::{Value, json};

use super::resources::RESOURCES;

const VERBS: [&str; 7] = [
    "create", "delete", "get", "list", "patch", "update", "watch",
];

/// The document at a discovery path, if it is one.
#[must_use]
pub fn document(path: &str) -> Option<Value> {
    match path.trim_matches('/') {
        "version" => Some(json!({
            "major": "1", "minor": "33", "gitVersion": "v1.33.0-azcsi-sim-stub",
            "platform": "linux/amd64",
        })),
        "api" => Some(json!({"kind": "APIVersions", "versions": ["v1"]})),
        "apis" => Some(groups()),
        "api/v1" => resources(""),
        other => resources(other.strip_prefix("apis/")?.strip_suffix("/v1")?),
    }
}

fn groups() -> Value {
    let mut names: Vec<&str> = RESOURCES.iter().map(|r| r.group).collect();
    names.retain(|name| !name.is_empty());
    names.dedup();
    let groups: Vec<Value> = names
        .iter()
        .map(|name| {
            let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
            json!({"name": name, "versions": [version], "preferredVersion": version})
        })
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn resources(group: &str) -> Option<Value> {
    let mine: Vec<Value> = RESOURCES
        .iter()
        .filter(|resource| resource.group == group)
        .map(|resource| {
            json!({
                "name": resource.plural, "singularName": resource.kind.to_lowercase(),
                "namespaced": resource.namespaced, "kind": resource.kind, "verbs": VERBS,
            })
        })
        .collect();
    let version = if group.is_empty() {
        "v1".to_owned()
    } else {
        format!("{group}/v1")
    };
    (!mine.is_empty()).then(|| {
        json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version,
            "resources": mine,
        })
    })
}
