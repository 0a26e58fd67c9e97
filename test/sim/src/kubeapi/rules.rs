//! Fields of volumes that the API server does not let anybody change.

use serde_json::Value;

use super::error::ApiError;
use super::resources::Resource;

/// The parts of a PersistentVolume's `spec` that can change.
const VOLUME_MUTABLE: [&str; 7] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
];

/// Refuses a change of what is fixed once an object exists.
///
/// # Errors
/// The source of a volume, the spec of a claim (but for a volume name while it has none, and its
/// size), or what makes a class.
pub fn unchanged(resource: &Resource, current: &Value, next: &Value) -> Result<(), ApiError> {
    let fixed: fn(&Value) -> Value = match resource.kind {
        "PersistentVolume" => volume,
        "PersistentVolumeClaim" => claim,
        "StorageClass" => class,
        _ => return Ok(()),
    };
    let (mut before, after) = (fixed(current), fixed(next));
    let unbound = resource.kind == "PersistentVolumeClaim" && before.get("volumeName").is_none();
    if let (true, Some(spec), Some(name)) =
        (unbound, before.as_object_mut(), after.get("volumeName"))
    {
        spec.insert("volumeName".to_owned(), name.clone());
    }
    if before == after {
        return Ok(());
    }
    Err(ApiError::Invalid(format!(
        "{} is immutable after creation",
        resource.kind
    )))
}

fn spec_without(object: &Value, fields: &[&str]) -> Value {
    let mut spec = object.get("spec").cloned().unwrap_or(Value::Null);
    if let Some(members) = spec.as_object_mut() {
        members.retain(|key, _| !fields.contains(&key.as_str()));
    }
    spec
}

fn volume(object: &Value) -> Value {
    spec_without(object, &VOLUME_MUTABLE)
}

fn claim(object: &Value) -> Value {
    spec_without(object, &["resources", "volumeAttributesClassName"])
}

fn class(object: &Value) -> Value {
    let mut fixed = object.clone();
    if let Some(members) = fixed.as_object_mut() {
        let known = [
            "provisioner",
            "parameters",
            "reclaimPolicy",
            "volumeBindingMode",
        ];
        members.retain(|key, _| known.contains(&key.as_str()));
    }
    fixed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::resources::of_kind;
    use super::unchanged;

    #[test]
    fn the_source_of_a_volume_stays_and_its_policy_may_change() {
        let resource = of_kind("PersistentVolume").unwrap();
        let old = json!({"spec": {"azureDisk": {"diskName": "d"},
            "persistentVolumeReclaimPolicy": "Delete"}});
        let mut new = old.clone();
        new["spec"]["persistentVolumeReclaimPolicy"] = json!("Retain");
        assert_eq!(unchanged(resource, &old, &new), Ok(()));
        new["spec"]["azureDisk"]["diskName"] = json!("e");
        assert!(unchanged(resource, &old, &new).is_err());
    }

    #[test]
    fn a_claim_gets_its_volume_once() {
        let resource = of_kind("PersistentVolumeClaim").unwrap();
        let none = json!({"spec": {"storageClassName": "c"}});
        let one = json!({"spec": {"storageClassName": "c", "volumeName": "a"}});
        let other = json!({"spec": {"storageClassName": "c", "volumeName": "b"}});
        assert_eq!(unchanged(resource, &none, &one), Ok(()));
        assert!(unchanged(resource, &one, &other).is_err());
    }
}
