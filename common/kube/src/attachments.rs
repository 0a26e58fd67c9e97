//! VolumeAttachments of one driver, kept in memory by a watch.
//!
//! The controller asks before it gives a slot away and before it detaches anything on its own, so
//! the answer must not cost a request. Each answer is `None` when the cluster was not heard for too
//! long: unknown is not the same as none.

use std::collections::BTreeSet;
use std::time::Duration;

use azcsi_types::node::NodeName;

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
                    VolumeName::PersistentVolume(name) => {
                        handles.handle(name).map(ToString::to_string)
                    }
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

impl Kube {
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
