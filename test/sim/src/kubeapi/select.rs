//! Label and field selectors: equality and existence, which is all the drivers and sidecars send.

use serde_json::Value;

use super::error::ApiError;

/// What an object must look like to be listed or watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    path: Vec<String>,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Is(String),
    IsNot(String),
    Present,
    Absent,
}

impl Selector {
    /// Reads the two query parameters.
    ///
    /// # Errors
    /// For a selector that is not made of `k=v`, `k==v`, `k!=v`, `k` and `!k`.
    pub fn parse(labels: Option<&str>, fields: Option<&str>) -> Result<Self, ApiError> {
        let mut terms = Vec::new();
        for text in split(labels) {
            let (key, test) = term(text)?;
            terms.push(Term {
                path: vec!["metadata".into(), "labels".into(), key],
                test,
            });
        }
        for text in split(fields) {
            let (key, test) = term(text)?;
            terms.push(Term {
                path: key.split('.').map(str::to_owned).collect(),
                test,
            });
        }
        Ok(Self { terms })
    }

    /// Whether the object is selected.
    #[must_use]
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| term.holds(object))
    }
}

impl Term {
    fn holds(&self, object: &Value) -> bool {
        let mut at = Some(object);
        for step in &self.path {
            at = at.and_then(|value| value.get(step));
        }
        let found = at.map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        match &self.test {
            Test::Is(wanted) => found.unwrap_or_default() == *wanted,
            Test::IsNot(unwanted) => found.unwrap_or_default() != *unwanted,
            Test::Present => found.is_some(),
            Test::Absent => found.is_none(),
        }
    }
}

fn split(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

fn term(text: &str) -> Result<(String, Test), ApiError> {
    if text.contains(['(', ')', ' ', '<', '>']) {
        return Err(ApiError::BadRequest(format!(
            "this stub understands k=v, k!=v, k and !k in selectors, not {text:?}"
        )));
    }
    if let Some((key, value)) = text.split_once("!=") {
        return Ok((key.to_owned(), Test::IsNot(value.to_owned())));
    }
    if let Some((key, value)) = text.split_once('=') {
        return Ok((
            key.to_owned(),
            Test::Is(value.trim_start_matches('=').to_owned()),
        ));
    }
    Ok(match text.strip_prefix('!') {
        Some(key) => (key.to_owned(), Test::Absent),
        None => (text.to_owned(), Test::Present),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_and_fields_select() {
        let object = json!({
            "metadata": {"name": "a", "labels": {"zone": "1", "kubernetes.io/os": "linux"}},
            "spec": {"nodeName": "n1"},
        });
        let chosen = |labels, fields| {
            Selector::parse(labels, fields)
                .expect("parse")
                .matches(&object)
        };
        assert!(chosen(
            Some("kubernetes.io/os=linux,zone"),
            Some("spec.nodeName=n1")
        ));
        assert!(chosen(Some("zone!=2,!absent"), Some("metadata.name==a")));
        assert!(!chosen(Some("zone=2"), None));
        assert!(!chosen(Some("!zone"), None));
        assert!(!chosen(None, Some("spec.nodeName!=n1")));
        assert!(chosen(None, None));
    }

    #[test]
    fn set_selectors_are_refused_and_not_ignored() {
        assert!(Selector::parse(Some("zone in (1,2)"), None).is_err());
    }
}
