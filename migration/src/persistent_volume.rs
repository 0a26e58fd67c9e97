//! PersistentVolumes, both ways.

use serde_json::Value;

use crate::error::TranslateError;
use crate::fields::Node;
use crate::mode::Mode;
use crate::registry::Plugin;
use crate::{azure_disk, azure_file};

/// The CSI form of an in-tree PersistentVolume.
///
/// # Errors
/// The volume has no in-tree source that is translated, its source cannot be expressed in CSI, or
/// the object is not of the shape of a PersistentVolume.
pub fn to_csi(mode: Mode, pv: &Value) -> Result<Value, TranslateError> {
    if pv.is_null() {
        return Err(TranslateError::NilInput("persistent volume"));
    }
    let document = Node::document(pv, "pv")?;
    let name = document.child("metadata")?.text_or_empty("name")?;
    match Plugin::of_source(document.child("spec")?)? {
        Some(Plugin::AzureDisk) => azure_disk::forward::volume(mode, pv),
        Some(Plugin::AzureFile) => azure_file::forward::volume(mode, pv),
        None => Err(TranslateError::NoInTreeSource(name.to_owned())),
    }
}

/// The in-tree form of a CSI PersistentVolume.
///
/// # Errors
/// The volume is not of one of the two drivers, its handle cannot be read, or the object is not of
/// the shape of a PersistentVolume.
pub fn from_csi(mode: Mode, pv: &Value) -> Result<Value, TranslateError> {
    if pv.is_null() {
        return Err(TranslateError::NotCsi);
    }
    let csi = Node::document(pv, "pv")?.child("spec")?.child("csi")?;
    if !csi.exists() {
        return Err(TranslateError::NotCsi);
    }
    let driver = csi.text_or_empty("driver")?;
    match Plugin::of_driver(driver) {
        Some(Plugin::AzureDisk) => azure_disk::back::volume(mode, pv),
        Some(Plugin::AzureFile) => azure_file::back::volume(mode, pv),
        None => Err(TranslateError::ForeignDriver(driver.to_owned())),
    }
}
