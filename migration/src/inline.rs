//! Volumes that a pod names in its own template, to CSI.

use serde_json::{Value, json};

use crate::error::TranslateError;
use crate::fields::{Node, Object};
use crate::mode::Mode;
use crate::registry::Plugin;
use crate::{azure_disk, azure_file};

/// The PersistentVolume that stands for a pod's in-tree volume. It exists only in memory: its name
/// is the volume's identity and no legal object name.
///
/// # Errors
/// The volume has no in-tree source that is translated, or the source cannot be expressed in CSI.
pub fn to_csi(mode: Mode, volume: &Value, pod_namespace: &str) -> Result<Value, TranslateError> {
    if volume.is_null() {
        return Err(TranslateError::NilInput("inline volume"));
    }
    let holder = Node::document(volume, "volume")?;
    let inline = match Plugin::of_source(holder)? {
        Some(Plugin::AzureDisk) => azure_disk::forward::inline(mode, holder)?,
        Some(Plugin::AzureFile) => azure_file::forward::inline(mode, holder, pod_namespace)?,
        None => {
            let name = holder.text_or_empty("name")?.to_owned();
            return Err(TranslateError::NoInTreeSource(name));
        }
    };
    let mut metadata = Object::new();
    if !inline.name.is_empty() {
        metadata.insert("name".to_owned(), json!(inline.name));
    }
    Ok(json!({
        "metadata": metadata,
        "spec": {
            "csi": inline.csi,
            "accessModes": [inline.access_mode],
            "volumeMode": "Filesystem",
        },
    }))
}

/// What is particular to one plugin.
pub(crate) struct Inline {
    pub(crate) name: String,
    pub(crate) csi: Object,
    pub(crate) access_mode: &'static str,
}
