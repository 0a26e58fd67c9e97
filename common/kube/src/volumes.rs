//! PersistentVolumes: name, handle, claim and labels.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use crate::client::{Kube, Write, escaped};
use crate::error::KubeError;
use crate::watch::{Collection, PAGE, Page};

const VOLUMES: &str = "/api/v1/persistentvolumes";

/// Name of the disk driver: the in-tree plugin `azureDisk` stands for it.
const DISK_DRIVER: &str = azcsi_types::keys::DISK_DRIVER;

/// What is used of a PersistentVolume object.
#[derive(Clone, Debug, Deserialize)]
pub struct PersistentVolume {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Meta {
    name: Box<str>,
    uid: Box<str>,
    resource_version: String,
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    #[serde(flatten)]
    source: Source,
    claim_ref: Option<ClaimRef>,
}

/// The part of a volume's spec that says which volume it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Source {
    csi: Option<CsiSource>,
    azure_disk: Option<DiskSource>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CsiSource {
    driver: String,
    volume_handle: String,
}

#[derive(Clone, Debug, Deserialize)]
struct DiskSource {
    #[serde(rename = "diskURI")]
    disk_uri: String,
}

/// The claim that a volume is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ClaimRef {
    /// Its namespace.
    #[serde(default)]
    pub namespace: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its unique id.
    #[serde(default)]
    pub uid: String,
}

impl Source {
    /// The handle, if the volume belongs to `driver`; also of the in-tree plugin that it replaces.
    pub(crate) fn handle(&self, driver: &str) -> Option<&str> {
        match (&self.csi, &self.azure_disk) {
            (Some(csi), _) if csi.driver == driver => Some(&csi.volume_handle),
            (None, Some(disk)) if driver == DISK_DRIVER => Some(&disk.disk_uri),
            _ => None,
        }
    }
}

impl PersistentVolume {
    /// The name of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The unique id of the object.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.metadata.uid
    }

    /// The value of an annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.get(key).map(String::as_str)
    }

    /// The handle, if it belongs to `driver`.
    #[must_use]
    pub fn handle(&self, driver: &str) -> Option<&str> {
        self.spec.source.handle(driver)
    }

    /// The claim that it is bound to.
    #[must_use]
    pub const fn claim(&self) -> Option<&ClaimRef> {
        self.spec.claim_ref.as_ref()
    }
}

/// Handles and names of one driver's volumes. Handles are compared without regard to case.
#[derive(Debug, Default)]
pub struct Handles {
    driver: Arc<str>,
    by_name: HashMap<Arc<str>, Arc<str>>,
    by_handle: HashMap<Arc<str>, HashSet<Arc<str>>>,
}

impl Handles {
    /// Empty, for `driver`.
    #[must_use]
    pub fn of(driver: &str) -> Self {
        Self {
            driver: driver.into(),
            ..Self::default()
        }
    }

    /// The handle of the volume of this name, as it is spelled there.
    #[must_use]
    pub fn handle(&self, name: &str) -> Option<&Arc<str>> {
        self.by_name.get(name)
    }

    /// The names of the volumes that have this handle; more than one is possible with static volumes.
    pub fn names(&self, handle: &str) -> impl Iterator<Item = &Arc<str>> {
        let names = self.by_handle.get(handle.to_ascii_lowercase().as_str());
        names.into_iter().flatten()
    }

    /// Every handle, in lower case.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.by_handle.keys().map(|handle| &**handle)
    }

    fn forget(&mut self, name: &str) {
        let Some(handle) = self.by_name.remove(name) else {
            return;
        };
        let folded = handle.to_ascii_lowercase();
        if let Some(names) = self.by_handle.get_mut(folded.as_str()) {
            names.remove(name);
            if names.is_empty() {
                self.by_handle.remove(folded.as_str());
            }
        }
    }
}

impl Collection for Handles {
    type Object = PersistentVolume;
    const PATH: &'static str = VOLUMES;
    const NOUN: &'static str = "PersistentVolumes";

    fn version(object: &PersistentVolume) -> &str {
        &object.metadata.resource_version
    }

    fn put(&mut self, object: PersistentVolume) {
        self.forget(object.name());
        let Some(handle) = object.handle(&self.driver) else {
            return;
        };
        let name: Arc<str> = object.name().into();
        let folded: Arc<str> = handle.to_ascii_lowercase().into();
        // Most handles are lower case already; then one text serves both.
        let spelled = if *folded == *handle {
            Arc::clone(&folded)
        } else {
            handle.into()
        };
        let names = self.by_handle.entry(folded).or_default();
        names.insert(Arc::clone(&name));
        self.by_name.insert(name, spelled);
    }

    fn remove(&mut self, object: &PersistentVolume) {
        self.forget(object.name());
    }
}

impl Kube {
    /// Reads one PersistentVolume.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] if there is none of that name.
    pub async fn volume(&self, name: &str) -> Result<PersistentVolume, KubeError> {
        let path = format!("{VOLUMES}/{}", escaped(name));
        self.get(&format!("get PersistentVolume {name}"), &path)
            .await
    }

    /// Reads the PersistentVolumes with the label `key=value`.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub async fn volumes_labelled(
        &self,
        key: &str,
        value: &str,
    ) -> Result<Vec<PersistentVolume>, KubeError> {
        let selector = escaped(&format!("{key}={value}"));
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("{VOLUMES}?labelSelector={selector}&limit={PAGE}{next}");
            let page: Page<PersistentVolume> = self.get("list PersistentVolumes", &path).await?;
            next = page.next();
            all.extend(page.items);
            if next.is_empty() {
                return Ok(all);
            }
        }
    }

    /// Sets a label and an annotation of a PersistentVolume, or removes them with `None`, if nobody
    /// has changed the object since it was read.
    ///
    /// # Errors
    /// [`KubeError::Conflict`] if somebody has; others if it cannot be written.
    pub async fn mark_volume(
        &self,
        object: &PersistentVolume,
        (label, value): (&str, Option<&str>),
        (annotation, text): (&str, Option<&str>),
    ) -> Result<(), KubeError> {
        let name = object.name();
        let path = format!("{VOLUMES}/{}", escaped(name));
        let body = json!({"metadata": {
            "resourceVersion": object.metadata.resource_version,
            "labels": {label: value},
            "annotations": {annotation: text},
        }});
        let what = format!("mark PersistentVolume {name}");
        let _: PersistentVolume = self.write(&what, &path, Write::MergePatch(&body)).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
