//! Objects that are kept in large numbers.

use serde_json::Value;

/// An object as text, a tenth of the size of its tree. A cluster has tens of thousands of them, and each
/// is looked at once or twice.
#[derive(Clone, Debug)]
pub struct Packed(Box<str>);

impl Packed {
    /// Packs an object.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        Self(object.to_string().into())
    }

    /// The object.
    #[must_use]
    pub fn open(&self) -> Value {
        // What was written from a tree reads as that tree.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}
