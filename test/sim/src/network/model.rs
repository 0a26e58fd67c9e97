//! Network resources as the world keeps them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::world::Provisioning;

/// A network resource: its body, and what the service adds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Linked {
    /// ARM id as made.
    pub id: String,
    /// `virtualNetworks`, `virtualNetworks/subnets` and so on.
    pub kind: String,
    /// Region; `global` for private DNS.
    pub location: String,
    /// Top-level fields but for id, name, type and ETag.
    pub body: Map<String, Value>,
    /// Without quotes.
    pub etag: String,
    /// State of its last operation.
    pub provisioning: Provisioning,
}

impl Linked {
    /// A property, by a JSON pointer below `properties`.
    #[must_use]
    pub fn property(&self, pointer: &str) -> Option<&Value> {
        let properties = self.body.get("properties")?;
        properties.pointer(&format!("/{pointer}"))
    }

    /// The id in a property of the form `{"id": ...}`.
    #[must_use]
    pub fn reference(&self, name: &str) -> Option<&str> {
        self.property(&format!("{name}/id")).and_then(Value::as_str)
    }

    /// Whether a subnet has a service endpoint of storage.
    #[must_use]
    pub fn has_storage_endpoint(&self) -> bool {
        let endpoints = self.property("serviceEndpoints").and_then(Value::as_array);
        endpoints.into_iter().flatten().any(|endpoint| {
            let service = endpoint.get("service").and_then(Value::as_str);
            service.is_some_and(|service| service.starts_with("Microsoft.Storage"))
        })
    }
}
