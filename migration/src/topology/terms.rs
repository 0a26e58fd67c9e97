//! The terms of a PersistentVolume's node affinity.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::error::TranslateError;
use crate::fields::{Node, Object, child_mut, malformed, texts};

const PATH: [&str; 4] = ["spec", "nodeAffinity", "required", "nodeSelectorTerms"];

/// One expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expression<'a> {
    pub(crate) key: &'a str,
    pub(crate) operator: &'a str,
    pub(crate) values: Vec<&'a str>,
}

/// The expressions of every term.
pub(crate) fn of(pv: &Value) -> Result<Vec<Vec<Expression<'_>>>, TranslateError> {
    let [spec, affinity, required, terms] = PATH;
    let node = Node::document(pv, "pv")?.child(spec)?.child(affinity)?;
    let list = node.child(required)?.list(terms)?;
    list.iter().map(expressions).collect()
}

fn expressions(term: &Value) -> Result<Vec<Expression<'_>>, TranslateError> {
    if term.is_null() {
        return Ok(Vec::new());
    }
    let list = Node::document(term, "nodeSelectorTerm")?.list("matchExpressions")?;
    list.iter()
        .map(|expression| {
            let node = Node::document(expression, "matchExpression")?;
            Ok(Expression {
                key: node.text_or_empty("key")?,
                operator: node.text_or_empty("operator")?,
                values: texts(node.list("values")?, "matchExpression.values")?,
            })
        })
        .collect()
}

/// All values that any term has under a key, sorted, each once. The operator does not matter.
///
/// # Errors
/// The affinity is not of its shape.
pub fn values_of(pv: &Value, key: &str) -> Result<Vec<String>, TranslateError> {
    let terms = of(pv)?;
    let mine = terms
        .iter()
        .flatten()
        .filter(|expression| expression.key == key);
    let values: BTreeSet<&str> = mine.flat_map(|e| e.values.iter().copied()).collect();
    Ok(values.into_iter().map(str::to_owned).collect())
}

/// Changes every expression that is an object.
pub(crate) fn for_each_expression(pv: &mut Value, mut change: impl FnMut(&mut Object)) {
    let path = format!("/{}", PATH.join("/"));
    let terms = pv.pointer_mut(&path).and_then(Value::as_array_mut);
    for term in terms.into_iter().flatten() {
        let list = term
            .get_mut("matchExpressions")
            .and_then(Value::as_array_mut);
        for expression in list.into_iter().flatten() {
            if let Some(object) = expression.as_object_mut() {
                change(object);
            }
        }
    }
}

/// Adds an expression to every term, or makes a term of it.
pub(crate) fn demand(pv: &mut Value, expression: &Value) {
    let Some(terms) = list_mut(pv) else { return };
    if terms.is_empty() {
        terms.push(json!({}));
    }
    for term in terms {
        if term.is_null() {
            *term = json!({});
        }
        let Some(object) = term.as_object_mut() else {
            continue;
        };
        let slot = object.entry("matchExpressions").or_insert(Value::Null);
        if slot.is_null() {
            *slot = json!([]);
        }
        if let Some(list) = slot.as_array_mut() {
            list.push(expression.clone());
        }
    }
}

/// Puts these terms in place of all others.
pub(crate) fn set(pv: &mut Value, terms: Vec<Value>) -> Result<(), TranslateError> {
    let list = list_mut(pv).ok_or_else(|| malformed("spec.nodeAffinity", "an object"))?;
    *list = terms;
    Ok(())
}

/// The list of terms, made with all that is above it.
fn list_mut(pv: &mut Value) -> Option<&mut Vec<Value>> {
    let [spec, affinity, required, terms] = PATH;
    let required = child_mut(pv.as_object_mut()?, spec)
        .and_then(|spec| child_mut(spec, affinity))
        .and_then(|affinity| child_mut(affinity, required))?;
    let slot = required.entry(terms).or_insert(Value::Null);
    if slot.is_null() {
        *slot = json!([]);
    }
    slot.as_array_mut()
}
