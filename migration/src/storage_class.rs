//! StorageClasses, to CSI. There is no way back.

use serde_json::Value;

use crate::azure_disk;
use crate::error::TranslateError;
use crate::fields::Node;
use crate::mode::Mode;
use crate::registry::Plugin;
use crate::topology::allowed;

/// The class that an external provisioner works with for an in-tree one. Its provisioner stays what
/// it was.
///
/// # Errors
/// The provisioner is not translated, or the class contradicts itself.
pub fn to_csi(mode: Mode, class: &Value) -> Result<Value, TranslateError> {
    if class.is_null() {
        return Err(TranslateError::NilInput("storage class"));
    }
    let document = Node::document(class, "class")?;
    let provisioner = document.text_or_empty("provisioner")?;
    document.child("parameters")?.strings()?;
    allowed::check(document.list("allowedTopologies")?)?;
    match Plugin::of_in_tree_name(provisioner) {
        Some(Plugin::AzureDisk) => azure_disk::class::class(mode, class),
        Some(Plugin::AzureFile) => Ok(without_nulls(class)),
        None => Err(TranslateError::UnknownProvisioner(provisioner.to_owned())),
    }
}

/// A copy; a null among string parameters is the empty string, as Kubernetes decodes it.
fn without_nulls(class: &Value) -> Value {
    let mut copy = class.clone();
    let parameters = copy.get_mut("parameters").and_then(Value::as_object_mut);
    for (_, value) in parameters.into_iter().flatten() {
        if value.is_null() {
            *value = Value::String(String::new());
        }
    }
    copy
}
