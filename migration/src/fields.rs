//! Reading and replacing members of JSON objects. A JSON null is an absent member everywhere.

use serde_json::{Map, Value};

use crate::error::TranslateError;

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// An object, and the path by which errors name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    object: Option<&'a Object>,
    path: &'static str,
}

impl<'a> Node<'a> {
    /// The object itself; `None` stands for one without members.
    pub(crate) const fn new(object: Option<&'a Object>, path: &'static str) -> Self {
        Self { object, path }
    }

    /// A whole document.
    pub(crate) fn document(value: &'a Value, path: &'static str) -> Result<Self, TranslateError> {
        let object = value
            .as_object()
            .ok_or_else(|| malformed(path, "an object"))?;
        Ok(Self::new(Some(object), path))
    }

    /// Whether the object is there at all.
    pub(crate) const fn exists(&self) -> bool {
        self.object.is_some()
    }

    /// The members; empty when the object is absent.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.object.into_iter().flatten()
    }

    /// A member, unless it is null.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.object?.get(key).filter(|value| !value.is_null())
    }

    /// An object member; absent is an empty object.
    pub(crate) fn child(&self, key: &'static str) -> Result<Self, TranslateError> {
        let object = match self.get(key) {
            None => None,
            Some(Value::Object(object)) => Some(object),
            Some(_) => return Err(self.wrong(key, "an object")),
        };
        Ok(Self::new(object, key))
    }

    /// A list member; absent is an empty list.
    pub(crate) fn list(&self, key: &str) -> Result<&'a [Value], TranslateError> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(self.wrong(key, "a list")),
        }
    }

    /// A string member.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>, TranslateError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(key, "a string")),
        }
    }

    /// A string member; absent is the empty string.
    pub(crate) fn text_or_empty(&self, key: &str) -> Result<&'a str, TranslateError> {
        Ok(self.text(key)?.unwrap_or_default())
    }

    /// A boolean member.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, TranslateError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.wrong(key, "a boolean")),
        }
    }

    /// The members as strings; a null is the empty string.
    pub(crate) fn strings(&self) -> Result<Vec<(&'a str, &'a str)>, TranslateError> {
        self.members()
            .map(|(key, value)| match value {
                Value::String(text) => Ok((key.as_str(), text.as_str())),
                Value::Null => Ok((key.as_str(), "")),
                _ => Err(self.wrong(key, "a string")),
            })
            .collect()
    }

    fn wrong(&self, key: &str, expected: &'static str) -> TranslateError {
        malformed(&format!("{}.{key}", self.path), expected)
    }
}

pub(crate) fn malformed(path: &str, expected: &'static str) -> TranslateError {
    TranslateError::Malformed {
        path: path.to_owned(),
        expected,
    }
}

/// Strings of a list.
pub(crate) fn texts<'a>(list: &'a [Value], path: &str) -> Result<Vec<&'a str>, TranslateError> {
    list.iter()
        .map(|value| match value {
            Value::String(text) => Ok(text.as_str()),
            Value::Null => Ok(""),
            _ => Err(malformed(path, "a list of strings")),
        })
        .collect()
}

/// The object member, made when it is absent; `None` when something else stands there.
pub(crate) fn child_mut<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Object> {
    let slot = object.entry(key).or_insert(Value::Null);
    if slot.is_null() {
        *slot = Value::Object(Object::new());
    }
    slot.as_object_mut()
}

/// A copy of `document` whose `spec` lost `old` and has `new` instead.
pub(crate) fn with_source(document: &Value, old: &str, new: &str, source: Object) -> Value {
    let mut copy = document.clone();
    let spec = copy
        .as_object_mut()
        .and_then(|object| child_mut(object, "spec"));
    if let Some(spec) = spec {
        spec.remove(old);
        spec.insert(new.to_owned(), Value::Object(source));
    }
    copy
}

/// A key in lower case, as Kubernetes compares keys: besides ASCII letters, the two characters whose
/// lower case is an ASCII letter.
pub(crate) fn lowered(key: &str) -> String {
    key.chars()
        .map(|letter| match letter {
            '\u{130}' => 'i',
            '\u{212A}' => 'k',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}
