//! Merge patch (RFC 7396) and JSON patch (RFC 6902).
//!
//! A strategic merge patch is applied as a merge patch: the stub has no schema, so lists are
//! replaced and not merged by key. The drivers patch annotations, labels and finalizers only, where
//! both kinds agree.

use serde_json::Value;

/// Why a patch was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PatchError {
    /// Not the shape the patch type asks for.
    #[error("the patch is not valid: {0}")]
    Malformed(String),
    /// A path that is not there, or a failed `test`.
    #[error("the patch does not apply: {0}")]
    DoesNotApply(String),
}

/// Applies a merge patch: objects are merged, `null` removes, everything else replaces.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Some(object) = target.as_object_mut() else {
        return;
    };
    for (key, change) in changes {
        if change.is_null() {
            object.remove(key);
        } else {
            merge(object.entry(key).or_insert(Value::Null), change);
        }
    }
}

/// Applies a list of JSON patch operations; all of them or none.
///
/// # Errors
/// For an operation that is malformed or does not apply.
pub fn json(target: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let operations = patch
        .as_array()
        .ok_or_else(|| PatchError::Malformed("a JSON patch is a list of operations".to_owned()))?;
    let mut result = target.clone();
    for operation in operations {
        apply(&mut result, operation)?;
    }
    *target = result;
    Ok(())
}

fn apply(target: &mut Value, operation: &Value) -> Result<(), PatchError> {
    let path = text(operation, "path")?;
    match text(operation, "op")? {
        "add" => add(target, path, value(operation)?.clone()),
        "remove" => take(target, path).map(drop),
        "replace" => {
            let slot = target.pointer_mut(path).ok_or_else(|| missing(path))?;
            slot.clone_from(value(operation)?);
            Ok(())
        }
        "test" => {
            let found = target.pointer(path).ok_or_else(|| missing(path))?;
            if found == value(operation)? {
                Ok(())
            } else {
                Err(PatchError::DoesNotApply(format!(
                    "the value at {path} is another one"
                )))
            }
        }
        "move" => {
            let moved = take(target, text(operation, "from")?)?;
            add(target, path, moved)
        }
        "copy" => {
            let from = text(operation, "from")?;
            let copied = target.pointer(from).ok_or_else(|| missing(from))?.clone();
            add(target, path, copied)
        }
        other => Err(PatchError::Malformed(format!(
            "operation {other:?} does not exist"
        ))),
    }
}

fn add(target: &mut Value, path: &str, new: Value) -> Result<(), PatchError> {
    if path.is_empty() {
        *target = new;
        return Ok(());
    }
    let (parent, key) = split(path)?;
    match target.pointer_mut(parent).ok_or_else(|| missing(parent))? {
        Value::Object(object) => {
            object.insert(key, new);
            Ok(())
        }
        Value::Array(list) => {
            let at = if key == "-" {
                Some(list.len())
            } else {
                key.parse().ok()
            };
            let at = at
                .filter(|at| *at <= list.len())
                .ok_or_else(|| missing(path))?;
            list.insert(at, new);
            Ok(())
        }
        _ => Err(missing(path)),
    }
}

fn take(target: &mut Value, path: &str) -> Result<Value, PatchError> {
    let (parent, key) = split(path)?;
    match target.pointer_mut(parent).ok_or_else(|| missing(parent))? {
        Value::Object(object) => object.remove(&key).ok_or_else(|| missing(path)),
        Value::Array(list) => {
            let at: Option<usize> = key.parse().ok();
            let at = at
                .filter(|at| *at < list.len())
                .ok_or_else(|| missing(path))?;
            Ok(list.remove(at))
        }
        _ => Err(missing(path)),
    }
}

fn split(path: &str) -> Result<(&str, String), PatchError> {
    let (parent, key) = path
        .rsplit_once('/')
        .ok_or_else(|| PatchError::Malformed(format!("{path:?} is not a path")))?;
    Ok((parent, key.replace("~1", "/").replace("~0", "~")))
}

fn text<'a>(operation: &'a Value, key: &str) -> Result<&'a str, PatchError> {
    operation
        .get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| PatchError::Malformed(format!("an operation has no {key:?}")))
}

fn value(operation: &Value) -> Result<&Value, PatchError> {
    operation
        .get("value")
        .ok_or_else(|| PatchError::Malformed("an operation has no \"value\"".to_owned()))
}

fn missing(path: &str) -> PatchError {
    PatchError::DoesNotApply(format!("there is nothing at {path:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_merge_patch_adds_replaces_and_removes() {
        let mut object = json!({"a": {"b": 1, "c": 2}, "list": [1, 2]});
        merge(
            &mut object,
            &json!({"a": {"b": null, "d": {"e": 3}}, "list": [3]}),
        );
        assert_eq!(object, json!({"a": {"c": 2, "d": {"e": 3}}, "list": [3]}));
    }

    #[test]
    fn a_json_patch_applies_whole_or_not_at_all() {
        let mut object = json!({"metadata": {"finalizers": ["x"], "annotations": {}}});
        json(
            &mut object,
            &json!([
                {"op": "test", "path": "/metadata/finalizers/0", "value": "x"},
                {"op": "remove", "path": "/metadata/finalizers/0"},
                {"op": "add", "path": "/metadata/annotations/a~1b", "value": "1"},
                {"op": "add", "path": "/metadata/finalizers/-", "value": "y"},
            ]),
        )
        .expect("applies");
        let after = json!({"metadata": {"finalizers": ["y"], "annotations": {"a/b": "1"}}});
        assert_eq!(object, after);

        let refused = json(
            &mut object,
            &json!([
                {"op": "remove", "path": "/metadata/finalizers"},
                {"op": "test", "path": "/metadata/annotations/a~1b", "value": "2"},
            ]),
        );
        assert!(matches!(refused, Err(PatchError::DoesNotApply(_))));
        assert_eq!(object, after);
    }

    #[test]
    fn move_copy_and_replace_work_on_paths() {
        let mut object = json!({"a": 1, "b": {}});
        let patch = json!([
            {"op": "copy", "from": "/a", "path": "/b/c"},
            {"op": "move", "from": "/a", "path": "/d"},
            {"op": "replace", "path": "/d", "value": 2},
        ]);
        json(&mut object, &patch).expect("applies");
        assert_eq!(object, json!({"b": {"c": 1}, "d": 2}));
    }

    #[test]
    fn nonsense_is_refused() {
        let mut object = json!({});
        for patch in [
            json!({}),
            json!([{"op": "add"}]),
            json!([{"op": "fly", "path": "/a"}]),
        ] {
            assert!(
                matches!(json(&mut object, &patch), Err(PatchError::Malformed(_))),
                "{patch}"
            );
        }
    }
}
