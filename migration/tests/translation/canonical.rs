//! Objects as Kubernetes would print them: empty members do not count.

use serde_json::Value;

/// Without members that are null, `{}` or `[]`, at any depth; elements of lists stay.
pub(crate) fn canonical(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(object) => {
            let kept: serde_json::Map<String, Value> = object
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), canonical(value)?)))
                .collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(list) if list.is_empty() => None,
        Value::Array(list) => {
            let kept = list.iter().map(|value| {
                canonical(value).unwrap_or_else(|| match value {
                    Value::Object(_) => Value::Object(serde_json::Map::new()),
                    other => other.clone(),
                })
            });
            Some(Value::Array(kept.collect()))
        }
        other => Some(other.clone()),
    }
}
