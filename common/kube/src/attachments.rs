//! VolumeAttachments of one driver, kept in memory by a watch.
//!
//! The controller asks before it gives a slot away and before it detaches anything on its own, so
//! the answer must not cost a request. Each answer is `None` when the cluster was not heard for too
//! long: unknown is not the same as none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::node::NodeName;
use sha2::{Digest as _, Sha256};

use crate::client::Kube;
use crate::error::KubeError;
use crate::ledger::{Attachment, Ledger, VolumeAttachment, VolumeName};
use crate::volumes::Handles;
use crate::watch::{Collection as _, PAGE, Page, Watched};

/// From this age on what is known counts as unknown. The server confirms at least every 100 s.
pub const STALE: Duration = Duration::from_secs(180);

/// An attachment with the handle of its volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The attachment.
    pub attachment: Attachment,
    /// The handle of the volume in lower case; `None` if its PersistentVolume is not known.
    pub handle: Option<String>,
}

/// The attachments of one driver. They are followed for as long as this value lives.
#[derive(Debug)]
pub struct Attachments {
    ledger: Watched<Ledger>,
    handles: Watched<Handles>,
}

impl Attachments {
    /// Begins to follow. Must be called inside a runtime.
    #[must_use]
    pub fn start(kube: &Kube, driver: &str) -> Self {
        let (one, two) = (driver.to_owned(), driver.to_owned());
        Self {
            ledger: Watched::start(kube, move || Ledger::of(&one)),
            handles: Watched::start(kube, move || Handles::of(&two)),
        }
    }

    /// The age of the older of the two halves; `None` before the first lists.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        Some(self.ledger.age()?.max(self.handles.age()?))
    }

    /// The claims on `node`; `None` if that is not known well enough.
    #[must_use]
    pub fn on_node(&self, node: &NodeName) -> Option<Vec<Claim>> {
        let found: Vec<Attachment> = self
            .ledger
            .read(STALE, |ledger| ledger.on_node(node).cloned().collect())?;
        self.resolved(found)
    }

    /// The claims on the volume of this handle; `None` if that is not known well enough.
    #[must_use]
    pub fn of_volume(&self, handle: &str) -> Option<Vec<Claim>> {
        let mut names: Vec<VolumeName> = self.handles.read(STALE, |handles| {
            let names = handles.names(handle).cloned();
            names.map(VolumeName::PersistentVolume).collect()
        })?;
        names.push(VolumeName::Handle(handle.into()));
        let found: Vec<Attachment> = self.ledger.read(STALE, |ledger| {
            ledger.of_volume(names.into_iter()).cloned().collect()
        })?;
        let handle = Some(handle.to_ascii_lowercase());
        let claim = |attachment| Claim {
            attachment,
            handle: handle.clone(),
        };
        Some(found.into_iter().map(claim).collect())
    }

    /// The names of the PersistentVolumes with this handle.
    #[must_use]
    pub fn volumes(&self, handle: &str) -> Option<Vec<Arc<str>>> {
        self.handles
            .read(STALE, |handles| handles.names(handle).cloned().collect())
    }

    /// The spellings of a handle that the cluster knows, besides the given one; `None` if that is not
    /// known well enough.
    #[must_use]
    pub fn spellings(&self, handle: &str) -> Option<BTreeSet<String>> {
        self.handles.read(STALE, |handles| {
            let spelled = handles
                .names(handle)
                .filter_map(|name| handles.handle(name));
            let mut all: BTreeSet<String> = spelled.map(ToString::to_string).collect();
            all.insert(handle.to_owned());
            all
        })
    }

    /// Something of every handle of the driver's volumes; empty if they are not known well enough.
    pub fn of_handles<T: Ord>(&self, pick: impl Fn(&str) -> Option<T>) -> BTreeSet<T> {
        let picked = |handles: &Handles| handles.all().filter_map(&pick).collect();
        self.handles.read(STALE, picked).unwrap_or_default()
    }

    fn resolved(&self, found: Vec<Attachment>) -> Option<Vec<Claim>> {
        self.handles.read(STALE, |handles| {
            let claim = |attachment: Attachment| {
                let handle = match &attachment.volume {
                    VolumeName::Handle(handle) => Some(handle.to_ascii_lowercase()),
                    VolumeName::PersistentVolume(name) => handles
                        .handle(name)
                        .map(|handle| handle.to_ascii_lowercase()),
                };
                Claim { attachment, handle }
            };
            found.into_iter().map(claim).collect()
        })
    }

    /// Waits until both halves were listed once.
    pub async fn listed(&self) {
        self.ledger.until(|_| true).await;
        self.handles.until(|_| true).await;
    }
}

/// The name of a VolumeAttachment object (Kubernetes, `pkg/volume/csi`): `csi-` and the SHA-256 of
/// handle, driver and node.
fn object_name(driver: &str, handle: &str, node: &NodeName) -> String {
    let digest = Sha256::digest(format!("{handle}{driver}{node}"));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("csi-{hex}")
}

impl Kube {
    /// Reads the attachment of one volume to one node from the server, by the name that kubelet and
    /// the attach-detach controller derive for it; `None` if there is none. `handle` has to be spelled
    /// as in the volume.
    ///
    /// # Errors
    /// If it cannot be read for another reason than that it does not exist.
    pub async fn attachment(
        &self,
        driver: &str,
        handle: &str,
        node: &NodeName,
    ) -> Result<Option<Attachment>, KubeError> {
        let name = object_name(driver, handle, node);
        let path = format!("{}/{name}", Ledger::PATH);
        let found: Result<VolumeAttachment, _> = self
            .get(&format!("get VolumeAttachment {name}"), &path)
            .await;
        match found {
            Ok(object) => Ok(object.of_driver(driver)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the attachments of `driver` from the server: for a process that asks once.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub async fn attachments(&self, driver: &str) -> Result<Vec<Attachment>, KubeError> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("{}?limit={PAGE}{next}", Ledger::PATH);
            let page: Page<VolumeAttachment> = self.get("list VolumeAttachments", &path).await?;
            next = page.next();
            all.extend(
                page.items
                    .iter()
                    .filter_map(|object| object.of_driver(driver)),
            );
            if next.is_empty() {
                return Ok(all);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::object_name;
    use crate::testing::{Server, answer};

    const DRIVER: &str = "disk.csi.azure.com";

    #[tokio::test]
    async fn one_attachment_is_read_by_its_derived_name() {
        let name = object_name(DRIVER, "/S/d", &"n1".parse().unwrap());
        let path = format!("/apis/storage.k8s.io/v1/volumeattachments/{name}");
        let server = Server::new(move |request| {
            if request.uri().path() != path {
                return answer(404, &json!({"kind": "Status", "code": 404}));
            }
            let source = json!({"persistentVolumeName": "pv"});
            let spec = json!({"attacher": DRIVER, "nodeName": "n1", "source": source});
            answer(200, &json!({"metadata": {"name": name}, "spec": spec}))
        });
        let kube = server.kube();
        let node = "n1".parse().unwrap();
        assert!(
            kube.attachment(DRIVER, "/S/d", &node)
                .await
                .unwrap()
                .is_some()
        );
        assert!(
            kube.attachment(DRIVER, "/s/d", &node)
                .await
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn the_derived_name_is_that_of_kubernetes() {
        // `printf 'volume' 'driver' 'node' | sha256sum`, as the attach-detach controller does it.
        let name = object_name("driver", "volume", &"node".parse().unwrap());
        assert_eq!(
            name,
            "csi-d94279ecba6bb1a4dae95e5f896a0d7b6b60fb3af97abf98fb0c1bb2a80030a5"
        );
    }
}
