//! One translation described as JSON: `{"direction": …, "input": …}`.
//!
//! The command line takes it, the shared test vectors are written in it, and so are the questions
//! to the reference translator.

use serde_json::{Value, json};

use crate::error::TranslateError;
use crate::fields::{Node, malformed, texts};
use crate::mode::Mode;
use crate::registry::{self, Plugin};
use crate::{handle, inline, persistent_volume, storage_class, topology};

/// What is to be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// A PersistentVolume to CSI.
    PvToCsi,
    /// A PersistentVolume from CSI.
    PvFromCsi,
    /// `{volume, podNamespace}` to CSI.
    InlineToCsi,
    /// A StorageClass to CSI.
    StorageClassToCsi,
    /// `{op, …}`: one of the smaller functions.
    Topology,
}

impl Direction {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::PvToCsi,
        Self::PvFromCsi,
        Self::InlineToCsi,
        Self::StorageClassToCsi,
        Self::Topology,
    ];

    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PvToCsi => "pv_to_csi",
            Self::PvFromCsi => "pv_from_csi",
            Self::InlineToCsi => "inline_to_csi",
            Self::StorageClassToCsi => "storageclass_to_csi",
            Self::Topology => "topology",
        }
    }

    /// The direction of that name; words may be joined by `-` as well as by `_`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        Self::ALL
            .into_iter()
            .find(|direction| direction.name() == name)
    }
}

/// Translates.
///
/// # Errors
/// As the function that does it; [`TranslateError::Malformed`] when the input is not of the shape
/// of its direction.
pub fn answer(mode: Mode, direction: Direction, input: &Value) -> Result<Value, TranslateError> {
    match direction {
        Direction::PvToCsi => persistent_volume::to_csi(mode, input),
        Direction::PvFromCsi => persistent_volume::from_csi(mode, input),
        Direction::StorageClassToCsi => storage_class::to_csi(mode, input),
        Direction::InlineToCsi => {
            let input = Node::document(input, "input")?;
            let volume = input.get("volume").unwrap_or(&Value::Null);
            inline::to_csi(mode, volume, input.text_or_empty("podNamespace")?)
        }
        Direction::Topology => operation(Node::document(input, "input")?),
    }
}

fn operation(input: Node<'_>) -> Result<Value, TranslateError> {
    let text = |key| input.text_or_empty(key);
    let object = |key| input.get(key).unwrap_or(&Value::Null);
    match text("op")? {
        "pv_topology_to_csi" => topology::to_csi(text("key")?, object("pv")),
        "pv_topology_from_csi" => topology::from_csi(text("key")?, object("pv")),
        "add_topology" => {
            let zones = texts(input.list("zones")?, "zones")?;
            topology::added(text("key")?, &zones, object("pv"))
        }
        "replace_topology" => topology::replaced(text("oldKey")?, text("newKey")?, object("pv")),
        "topology_values" => Ok(json!(topology::values(object("pv"), text("key")?)?)),
        "allowed_topologies" => {
            let terms = topology::allowed::renamed(text("key")?, input.list("terms")?)?;
            Ok(Value::Array(terms))
        }
        "repair_volume_handle" => {
            handle::repair(text("driver")?, text("volumeHandle")?).map(Value::String)
        }
        "is_pv_migratable" => Ok(json!(registry::is_pv_migratable(object("pv")))),
        "is_inline_migratable" => Ok(json!(registry::is_inline_migratable(object("volume")))),
        "is_migratable_plugin" => Ok(json!(
            Plugin::of_in_tree_name(text("pluginName")?).is_some()
        )),
        "is_migrated_driver" => Ok(json!(Plugin::of_driver(text("driver")?).is_some())),
        "csi_name_from_intree" => registry::csi_name(text("pluginName")?).map(|name| json!(name)),
        "intree_name_from_csi" => registry::in_tree_name(text("driver")?).map(|name| json!(name)),
        "plugin_name_from_spec" => {
            registry::plugin_name_of(object("pv"), object("volume")).map(|name| json!(name))
        }
        _ => Err(malformed("input.op", "a known operation")),
    }
}
