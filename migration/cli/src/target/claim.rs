//! The claim that is made anew, under the same name, for the same volume.

use serde_json::{Value, json};

use super::{bare, drop_annotations};
use crate::value::{child, text};

/// Annotations that controllers write anew.
const CONTROLLERS: [&str; 7] = [
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "pv.kubernetes.io/migrated-to",
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-resizer",
];

/// The new claim. It names its volume, so that nothing else is ever provisioned for it.
#[must_use]
pub fn of(old: &Value, volume: &Value) -> Value {
    let mut new = bare(old);
    drop_annotations(&mut new, &CONTROLLERS);
    let capacity = text(volume, "/spec/capacity/storage").to_owned();
    let asked = text(old, "/spec/resources/requests/storage").to_owned();
    let name = text(volume, "/metadata/name").to_owned();
    let spec = child(&mut new, "spec");
    spec.insert("volumeName".to_owned(), json!(name));
    // Satisfied long ago; the source may not exist any more.
    spec.remove("dataSource");
    spec.remove("dataSourceRef");
    // A claim that asks for more than the volume has never binds; one that grew keeps what it got.
    if !capacity.is_empty() && capacity != asked {
        let resources = spec.entry("resources").or_insert_with(|| json!({}));
        child(resources, "requests").insert("storage".to_owned(), json!(capacity));
    }
    new
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of;

    #[test]
    fn the_new_claim_names_its_volume_and_forgets_its_controllers() {
        let old = json!({
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "finalizers": ["x"],
                "labels": {"app": "db"},
                "annotations": {"pv.kubernetes.io/bind-completed": "yes", "mine": "kept"}},
            "spec": {"volumeName": "v", "storageClassName": "s", "dataSource": {"name": "d"},
                "resources": {"requests": {"storage": "8Gi"}}},
            "status": {"phase": "Bound"},
        });
        let volume = json!({"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "16Gi"}}});
        let new = of(&old, &volume);
        assert_eq!(
            new,
            json!({
                "metadata": {"name": "c", "namespace": "n", "labels": {"app": "db"},
                    "annotations": {"mine": "kept"}},
                "spec": {"volumeName": "v", "storageClassName": "s",
                    "resources": {"requests": {"storage": "16Gi"}}},
            })
        );
    }
}
