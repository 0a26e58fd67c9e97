//! The allowedTopologies of a StorageClass.

use serde_json::{Value, json};

use super::{BETA_ZONE, ZONE, is_number};
use crate::error::TranslateError;
use crate::fields::{Node, Object, texts};

const EXPRESSIONS: &str = "matchLabelExpressions";

/// A copy with the zone keys of Kubernetes under the driver's `key`; the rest as it was.
///
/// # Errors
/// A term is not of its shape.
pub fn renamed(key: &str, terms: &[Value]) -> Result<Vec<Value>, TranslateError> {
    changed(terms, |expression| {
        let old = expression.get("key").and_then(Value::as_str);
        if matches!(old, Some(ZONE | BETA_ZONE)) {
            expression.insert("key".to_owned(), json!(key));
        }
    })
}

/// A copy where every number under the driver's `key` is the empty zone: the fault domain of a
/// region without zones.
pub(crate) fn unzoned(key: &str, terms: Vec<Value>) -> Result<Vec<Value>, TranslateError> {
    changed(&terms, |expression| {
        if expression.get("key").and_then(Value::as_str) != Some(key) {
            return;
        }
        let values = expression.get_mut("values").and_then(Value::as_array_mut);
        for value in values.into_iter().flatten() {
            if value.as_str().is_some_and(is_number) {
                *value = json!("");
            }
        }
    })
}

fn changed(
    terms: &[Value],
    mut change: impl FnMut(&mut Object),
) -> Result<Vec<Value>, TranslateError> {
    check(terms)?;
    let mut copy = terms.to_vec();
    for term in &mut copy {
        let list = term.get_mut(EXPRESSIONS).and_then(Value::as_array_mut);
        for expression in list.into_iter().flatten() {
            if let Some(object) = expression.as_object_mut() {
                change(object);
            }
        }
    }
    Ok(copy)
}

/// Whether terms are of their shape.
pub(crate) fn check(terms: &[Value]) -> Result<(), TranslateError> {
    for term in terms.iter().filter(|term| !term.is_null()) {
        for expression in Node::document(term, "allowedTopologies")?.list(EXPRESSIONS)? {
            let node = Node::document(expression, EXPRESSIONS)?;
            node.text("key")?;
            texts(node.list("values")?, EXPRESSIONS)?;
        }
    }
    Ok(())
}
