//! How network resources look in answers.

use serde_json::{Value, json};

use crate::network::model::Linked;
use crate::world::leaf;

/// The resource as GET answers it.
pub(crate) fn show(resource: &Linked) -> Value {
    let mut body = resource.body.clone();
    let dns = resource.kind.starts_with("privateDnsZones");
    let id = if dns {
        resource.id.to_ascii_lowercase()
    } else {
        resource.id.clone()
    };
    let etag = if dns {
        resource.etag.clone()
    } else {
        format!("W/\"{}\"", resource.etag)
    };
    body.insert("name".into(), json!(leaf(&id)));
    body.insert("id".into(), json!(id));
    body.insert("etag".into(), json!(etag));
    body.insert(
        "type".into(),
        json!(format!("Microsoft.Network/{}", resource.kind)),
    );
    if let Some(properties) = body.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(
            "provisioningState".into(),
            json!(resource.provisioning.text()),
        );
    }
    Value::Object(body)
}
