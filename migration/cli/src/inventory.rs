//! What the cluster holds, read once and page by page. Only what a verdict needs is kept of pods and
//! workloads: a cluster has tens of thousands of them.

use std::collections::{BTreeMap, BTreeSet};

use azcsi_kube::KubeError;
use azcsi_kube::objects::{Collection, Objects};
use azcsi_migration::Plugin;
use azcsi_migration::registry::is_inline_migratable;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::packed::Packed;
use crate::resources::{
    ATTACHMENTS, CLAIMS, CLASSES, CSI_NODES, DRIVERS, NODES, PODS, SECRETS, VOLUMES, WORKLOADS,
};
use crate::value::{list, name, namespace, text};
use crate::workload::uses;

/// A namespace and a name.
pub type Key = (String, String);

/// A snapshot of the objects that matter.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// PersistentVolumes by name.
    pub volumes: BTreeMap<String, Value>,
    /// Claims.
    pub claims: BTreeMap<Key, Packed>,
    /// Classes by name.
    pub classes: BTreeMap<String, Value>,
    /// Pods that mount something, without what does not matter.
    pub pods: Vec<Packed>,
    /// Workloads with a pod template, by kind, namespace and name.
    pub workloads: BTreeMap<(String, String, String), Value>,
    /// Names of volumes that are attached somewhere.
    pub attached: BTreeSet<String>,
    /// CSI drivers.
    pub drivers: BTreeSet<String>,
    /// Ready nodes that lack a driver, by driver.
    pub nodes_without: BTreeMap<&'static str, Vec<String>>,
    /// Secrets that were looked at: whether both keys are there, and the account they name.
    pub secrets: BTreeMap<Key, Option<String>>,
    /// What could not be read, for a note.
    pub unread: Vec<String>,
    /// How many volumes have a disk id, by id in lower case.
    handles: BTreeMap<String, usize>,
    /// Places in `pods`, by claim.
    users: BTreeMap<Key, Vec<usize>>,
}

impl Inventory {
    /// Reads the cluster.
    ///
    /// # Errors
    /// Volumes, claims, classes, pods or attachments cannot be read: without them no verdict is safe.
    pub async fn read(objects: &Objects) -> Result<Self, Failure> {
        let mut out = Self::default();
        let volumes = &mut out.volumes;
        objects
            .each(&VOLUMES, None, |one| {
                volumes.insert(name(&one).to_owned(), lean(one));
            })
            .await?;
        let claims = &mut out.claims;
        objects
            .each(&CLAIMS, None, |one| {
                claims.insert(key(&one), Packed::of(&lean(one)));
            })
            .await?;
        let classes = &mut out.classes;
        objects
            .each(&CLASSES, None, |one| {
                classes.insert(name(&one).to_owned(), lean(one));
            })
            .await?;
        let attached = &mut out.attached;
        objects
            .each(&ATTACHMENTS, None, |one| {
                attached.insert(text(&one, "/spec/source/persistentVolumeName").to_owned());
            })
            .await?;
        let pods = &mut out.pods;
        objects
            .each(&PODS, None, |one| {
                pods.extend(trimmed_pod(&one).as_ref().map(Packed::of));
            })
            .await?;
        out.read_drivers(objects).await?;
        out.read_workloads(objects).await?;
        out.index();
        Ok(out)
    }

    /// Counts handles and users; called again after a change of volumes or pods.
    pub fn index(&mut self) {
        self.handles.clear();
        self.users.clear();
        for (place, pod) in self.pods.iter().map(Packed::open).enumerate() {
            for volume in list(&pod, "/spec/volumes") {
                let claim = text(volume, "/persistentVolumeClaim/claimName");
                let key = (namespace(&pod).to_owned(), claim.to_owned());
                self.users.entry(key).or_default().push(place);
            }
        }
        for volume in self.volumes.values() {
            if let Some(handle) = disk_handle(volume) {
                *self.handles.entry(handle.to_ascii_lowercase()).or_default() += 1;
            }
        }
    }

    /// How many volumes stand for one disk.
    #[must_use]
    pub fn volumes_of(&self, disk_id: &str) -> usize {
        let known = self.handles.get(&disk_id.to_ascii_lowercase());
        known.copied().unwrap_or(0)
    }

    /// The pods that keep the claim of a volume in use.
    #[must_use]
    pub fn users_of(&self, volume: &Value) -> Vec<Value> {
        let claim = (
            text(volume, "/spec/claimRef/namespace").to_owned(),
            text(volume, "/spec/claimRef/name").to_owned(),
        );
        let places = self.users.get(&claim).map_or(&[][..], Vec::as_slice);
        let pods = places.iter().filter_map(|place| self.pods.get(*place));
        pods.map(Packed::open)
            .filter(|pod| uses(pod, &claim.0, &claim.1))
            .collect()
    }

    /// The claim that a volume is set aside for.
    #[must_use]
    pub fn claim_of(&self, volume: &Value) -> Option<Value> {
        let reference = volume.pointer("/spec/claimRef")?;
        let key = (
            text(reference, "/namespace").to_owned(),
            text(reference, "/name").to_owned(),
        );
        self.claims.get(&key).map(Packed::open)
    }

    /// A workload.
    #[must_use]
    pub fn workload(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.workloads.get(&key)
    }

    /// Looks at the named secrets of file volumes.
    ///
    /// # Errors
    /// The server fails. A secret that may not be read counts as not looked at.
    pub async fn read_secrets(&mut self, objects: &Objects) -> Result<(), Failure> {
        let mut wanted = BTreeSet::new();
        for volume in self.volumes.values() {
            let source = "/spec/azureFile";
            let name = text(volume, &format!("{source}/secretName"));
            let place = match text(volume, &format!("{source}/secretNamespace")) {
                "" => text(volume, "/spec/claimRef/namespace"),
                given => given,
            };
            if !name.is_empty() && !place.is_empty() {
                wanted.insert((place.to_owned(), name.to_owned()));
            }
        }
        for (place, name) in wanted {
            match objects.get(&SECRETS, Some(&place), &name).await {
                Ok(secret) => {
                    self.secrets
                        .insert((place, name), secret.as_ref().and_then(account));
                }
                Err(KubeError::Denied { .. }) => self.unread.push(format!("secret {place}/{name}")),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn read_drivers(&mut self, objects: &Objects) -> Result<(), Failure> {
        let drivers = &mut self.drivers;
        let read = objects
            .each(&DRIVERS, None, |one| {
                drivers.insert(name(&one).to_owned());
            })
            .await;
        self.tolerate(&DRIVERS, read)?;
        let mut having: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let read = objects
            .each(&CSI_NODES, None, |one| {
                let drivers = list(&one, "/spec/drivers").iter();
                let names = drivers.map(|driver| text(driver, "/name").to_owned());
                having.insert(name(&one).to_owned(), names.collect());
            })
            .await;
        self.tolerate(&CSI_NODES, read)?;
        let without = &mut self.nodes_without;
        let read = objects
            .each(&NODES, None, |one| {
                let ready = list(&one, "/status/conditions")
                    .iter()
                    .any(|c| text(c, "/type") == "Ready" && text(c, "/status") == "True");
                for plugin in Plugin::ALL {
                    let there = having
                        .get(name(&one))
                        .is_some_and(|drivers| drivers.contains(plugin.driver()));
                    if ready && !there {
                        let nodes = without.entry(plugin.driver()).or_default();
                        nodes.push(name(&one).to_owned());
                    }
                }
            })
            .await;
        self.tolerate(&NODES, read)
    }

    async fn read_workloads(&mut self, objects: &Objects) -> Result<(), Failure> {
        for collection in WORKLOADS {
            let workloads = &mut self.workloads;
            let read = objects
                .each(&collection, None, |one| {
                    let (place, name) = key(&one);
                    workloads.insert((collection.kind.to_owned(), place, name), trimmed(&one));
                })
                .await;
            self.tolerate(&collection, read)?;
        }
        Ok(())
    }

    /// What may be missing or forbidden is noted and passed over.
    fn tolerate(&mut self, what: &Collection, read: Result<(), KubeError>) -> Result<(), Failure> {
        match read {
            Err(KubeError::NotFound { .. } | KubeError::Denied { .. }) => {
                self.unread.push(what.plural.to_owned());
                Ok(())
            }
            other => other.map_err(Failure::from),
        }
    }
}

fn key(object: &Value) -> Key {
    (namespace(object).to_owned(), name(object).to_owned())
}

/// The disk behind a volume of either form.
fn disk_handle(volume: &Value) -> Option<&str> {
    let driver = text(volume, "/spec/csi/driver");
    match text(volume, "/spec/azureDisk/diskURI") {
        "" if driver == Plugin::AzureDisk.driver() => Some(text(volume, "/spec/csi/volumeHandle")),
        "" => None,
        uri => Some(uri),
    }
}

/// Without the bookkeeping of writers, which is often the larger half.
fn lean(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

fn trimmed_pod(pod: &Value) -> Option<Value> {
    let volumes: Vec<Value> = list(pod, "/spec/volumes")
        .iter()
        .filter(|v| v.get("persistentVolumeClaim").is_some() || is_inline_migratable(v))
        .cloned()
        .collect();
    (!volumes.is_empty()).then(|| {
        json!({
            "kind": "Pod",
            "metadata": {
                "name": name(pod), "namespace": namespace(pod),
                "ownerReferences": list(pod, "/metadata/ownerReferences"),
            },
            "spec": {"volumes": volumes},
            "status": {"phase": text(pod, "/status/phase")},
        })
    })
}

fn trimmed(workload: &Value) -> Value {
    let volumes = [
        "/spec/template/spec/volumes",
        "/spec/jobTemplate/spec/template/spec/volumes",
    ];
    let volumes: Vec<&Value> = volumes
        .iter()
        .flat_map(|pointer| list(workload, pointer))
        .filter(|volume| is_inline_migratable(volume))
        .collect();
    json!({
        "kind": workload["kind"],
        "metadata": {
            "name": name(workload), "namespace": namespace(workload),
            "ownerReferences": list(workload, "/metadata/ownerReferences"),
        },
        "spec": {
            "replicas": workload.pointer("/spec/replicas"),
            "suspend": workload.pointer("/spec/suspend"),
            "volumes": volumes,
        },
    })
}

/// The account that a secret names, when it has both keys.
fn account(secret: &Value) -> Option<String> {
    let data = secret.get("data")?;
    data.get("azurestorageaccountkey")?;
    let encoded = data.get("azurestorageaccountname")?.as_str()?;
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes)
        .ok()
        .map(|name| name.trim().to_owned())
}
