//! Who claims which volume on which node, as the cluster records it. Pure: objects in, answers out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use azcsi_types::lun::Lun;
use azcsi_types::node::NodeName;
use serde::Deserialize;

use crate::volumes::Source;
use crate::watch::{Collection, Meta};

/// What is used of a VolumeAttachment object.
#[derive(Clone, Debug, Deserialize)]
pub struct VolumeAttachment {
    metadata: Meta,
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    attacher: String,
    node_name: String,
    #[serde(default)]
    source: AttachmentSource,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AttachmentSource {
    persistent_volume_name: Option<String>,
    inline_volume_spec: Option<Source>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    attached: bool,
    attachment_metadata: HashMap<String, String>,
}

/// Key of `status.attachmentMetadata` that holds the slot; the publish context of the driver.
const LUN: &str = "LUN";

/// How an attachment names its volume.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VolumeName {
    /// By the name of a PersistentVolume.
    PersistentVolume(Arc<str>),
    /// By its handle: an inline volume of a pod, migrated from the in-tree plugin.
    Handle(Arc<str>),
}

/// One VolumeAttachment of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Name of the object.
    pub name: Arc<str>,
    /// The node.
    pub node: NodeName,
    /// The volume.
    pub volume: VolumeName,
    /// The slot that the attach returned; absent before, or if it cannot be read.
    pub lun: Option<Lun>,
    /// `status.attached`.
    pub attached: bool,
    /// Whether its deletion has begun: the detach is wanted or under way.
    pub deleting: bool,
}

impl VolumeAttachment {
    /// The node that it names.
    #[must_use]
    pub fn node_name(&self) -> &str {
        &self.spec.node_name
    }

    /// The typed form, if it is one of `driver`.
    #[must_use]
    pub fn of_driver(&self, driver: &str) -> Option<Attachment> {
        if self.spec.attacher != driver {
            return None;
        }
        let source = &self.spec.source;
        let volume = match (&source.persistent_volume_name, &source.inline_volume_spec) {
            (Some(name), _) => VolumeName::PersistentVolume(name.as_str().into()),
            (None, Some(inline)) => VolumeName::Handle(inline.handle(driver)?.into()),
            (None, None) => return None,
        };
        let lun = self.status.attachment_metadata.get(LUN);
        Some(Attachment {
            name: Arc::from(&*self.metadata.name),
            node: self.spec.node_name.parse().ok()?,
            volume,
            lun: lun.and_then(|text| text.parse().ok()),
            attached: self.status.attached,
            deleting: self.metadata.deletion_timestamp.is_some(),
        })
    }
}

type Names = HashSet<Arc<str>>;

/// The attachments of one driver, by name, by node and by volume.
#[derive(Debug, Default)]
pub struct Ledger {
    driver: Arc<str>,
    all: HashMap<Arc<str>, Attachment>,
    by_node: HashMap<String, Names>,
    by_volume: HashMap<VolumeName, Names>,
}

impl Ledger {
    /// An empty ledger of `driver`.
    #[must_use]
    pub fn of(driver: &str) -> Self {
        Self {
            driver: driver.into(),
            ..Self::default()
        }
    }

    /// The attachments that name `node`.
    pub fn on_node(&self, node: &NodeName) -> impl Iterator<Item = &Attachment> {
        self.named(self.by_node.get(&node.folded()))
    }

    /// The attachments that name a volume in any of these ways.
    pub fn of_volume<'a>(
        &'a self,
        names: impl Iterator<Item = VolumeName> + 'a,
    ) -> impl Iterator<Item = &'a Attachment> {
        names.flat_map(|name| self.named(self.by_volume.get(&name.folded())))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn named<'a>(&'a self, names: Option<&'a Names>) -> impl Iterator<Item = &'a Attachment> {
        let names = names.into_iter().flatten();
        names.filter_map(|name| self.all.get(name))
    }

    fn forget(&mut self, name: &str) {
        let Some(old) = self.all.remove(name) else {
            return;
        };
        drop_from(&mut self.by_node, &old.node.folded(), name);
        drop_from(&mut self.by_volume, &old.volume.folded(), name);
    }
}

fn drop_from<K: std::hash::Hash + Eq>(index: &mut HashMap<K, Names>, key: &K, name: &str) {
    if let Some(names) = index.get_mut(key) {
        names.remove(name);
        if names.is_empty() {
            index.remove(key);
        }
    }
}

impl VolumeName {
    /// Handles are resource ids, whose case does not count; names of objects are lower case anyway.
    fn folded(&self) -> Self {
        match self {
            Self::PersistentVolume(name) => Self::PersistentVolume(Arc::clone(name)),
            Self::Handle(handle) => Self::Handle(handle.to_ascii_lowercase().into()),
        }
    }
}

impl Collection for Ledger {
    type Object = VolumeAttachment;
    const PATH: &'static str = "/apis/storage.k8s.io/v1/volumeattachments";
    const NOUN: &'static str = "VolumeAttachments";

    fn version(object: &VolumeAttachment) -> &str {
        &object.metadata.resource_version
    }

    fn put(&mut self, object: VolumeAttachment) {
        self.forget(&object.metadata.name);
        let Some(new) = object.of_driver(&self.driver) else {
            return;
        };
        let name = Arc::clone(&new.name);
        let nodes = self.by_node.entry(new.node.folded()).or_default();
        nodes.insert(Arc::clone(&name));
        let volumes = self.by_volume.entry(new.volume.folded()).or_default();
        volumes.insert(Arc::clone(&name));
        self.all.insert(name, new);
    }

    fn remove(&mut self, object: &VolumeAttachment) {
        self.forget(&object.metadata.name);
    }
}

#[cfg(test)]
mod tests;
