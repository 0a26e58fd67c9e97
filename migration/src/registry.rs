//! Which plugin and driver belong together, and whose object this is.

use serde_json::Value;

use crate::error::TranslateError;
use crate::fields::Node;

/// An in-tree plugin that has a CSI driver as its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Plugin {
    /// `kubernetes.io/azure-disk`
    AzureDisk,
    /// `kubernetes.io/azure-file`
    AzureFile,
}

impl Plugin {
    /// Both.
    pub const ALL: [Self; 2] = [Self::AzureDisk, Self::AzureFile];

    /// The name that classes and annotations use for the in-tree plugin.
    #[must_use]
    pub const fn in_tree_name(self) -> &'static str {
        match self {
            Self::AzureDisk => "kubernetes.io/azure-disk",
            Self::AzureFile => "kubernetes.io/azure-file",
        }
    }

    /// The name of the CSI driver.
    #[must_use]
    pub const fn driver(self) -> &'static str {
        match self {
            Self::AzureDisk => "disk.csi.azure.com",
            Self::AzureFile => "file.csi.azure.com",
        }
    }

    /// The member of a PersistentVolume's `spec`, and of a pod's volume, that holds the source.
    #[must_use]
    pub const fn source_field(self) -> &'static str {
        match self {
            Self::AzureDisk => "azureDisk",
            Self::AzureFile => "azureFile",
        }
    }

    /// The plugin of that exact in-tree name.
    #[must_use]
    pub fn of_in_tree_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|plugin| plugin.in_tree_name() == name)
    }

    /// The plugin of that exact driver name.
    #[must_use]
    pub fn of_driver(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.driver() == name)
    }

    /// The plugin whose source an object holds, the `spec` of a PersistentVolume or a pod's volume.
    pub(crate) fn of_source(holder: Node<'_>) -> Result<Option<Self>, TranslateError> {
        let mut found = None;
        for plugin in Self::ALL {
            if holder.child(plugin.source_field())?.exists() && found.replace(plugin).is_some() {
                return Err(TranslateError::TwoSources);
            }
        }
        Ok(found)
    }
}

/// Whether a PersistentVolume has an in-tree source with a successor. An unmanaged disk has one
/// too: whether it translates is another question, see [`crate::persistent_volume::to_csi`].
#[must_use]
pub fn is_pv_migratable(pv: &Value) -> bool {
    has_source(pv.get("spec"))
}

/// Whether a pod's volume has an in-tree source with a successor.
#[must_use]
pub fn is_inline_migratable(volume: &Value) -> bool {
    has_source(Some(volume))
}

fn has_source(holder: Option<&Value>) -> bool {
    let there = |plugin: &Plugin| {
        holder
            .and_then(|holder| holder.get(plugin.source_field()))
            .is_some_and(|source| !source.is_null())
    };
    Plugin::ALL.iter().any(there)
}

/// The driver that follows an in-tree plugin.
///
/// # Errors
/// None does.
pub fn csi_name(in_tree: &str) -> Result<&'static str, TranslateError> {
    Plugin::of_in_tree_name(in_tree)
        .map(Plugin::driver)
        .ok_or_else(|| TranslateError::UnknownPlugin(in_tree.to_owned()))
}

/// The in-tree plugin that a driver follows.
///
/// # Errors
/// There is none.
pub fn in_tree_name(driver: &str) -> Result<&'static str, TranslateError> {
    Plugin::of_driver(driver)
        .map(Plugin::in_tree_name)
        .ok_or_else(|| TranslateError::UnknownDriver(driver.to_owned()))
}

/// The plugin that serves a PersistentVolume, or a pod's volume when there is none. A
/// PersistentVolume decides alone.
///
/// # Errors
/// Neither was given, or the one that decides has no in-tree source.
pub fn plugin_name_of(pv: &Value, volume: &Value) -> Result<&'static str, TranslateError> {
    let (holder, what) = match (pv.is_null(), volume.is_null()) {
        (false, _) => (
            Node::document(pv, "pv")?.child("spec")?,
            "persistent volume",
        ),
        (true, false) => (Node::document(volume, "volume")?, "volume"),
        (true, true) => return Err(TranslateError::BothNil),
    };
    Plugin::of_source(holder)?
        .map(Plugin::in_tree_name)
        .ok_or(TranslateError::NoPluginName(what))
}
