//! Marks of running conversions on PersistentVolumes.
//!
//! The label is the one of the driver that this one replaces. Who watches, and until when that
//! counts, is in an annotation beside it; it is written only if nobody else wrote meanwhile.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azcsi_kube::Kube;
use azcsi_kube::attachments::Attachments as Followed;
use azcsi_kube::volumes::PersistentVolume;
use azcsi_types::disk_uri::DiskUri;
use futures_util::future::BoxFuture;

use crate::controller::ports::{ConversionMarks, Hold, PortError};

const LABEL: &str = "disk.csi.azure.com/migration-in-progress";
const WATCHER: &str = "disk.csi.azure.com/migration-watcher";
/// A watcher that has not renewed its mark for this long does not exist any more.
const STALE: Duration = Duration::from_secs(900);

/// Tries to write against others.
const TRIES: u32 = 3;

/// The marks.
#[derive(Debug)]
pub struct Conversions {
    kube: Kube,
    driver: String,
    followed: Arc<Followed>,
    /// A word that no other process has.
    own: String,
}

impl Conversions {
    /// Over the volumes of `driver`.
    #[must_use]
    pub fn new(kube: Kube, driver: &str, followed: Arc<Followed>) -> Self {
        Self {
            kube,
            driver: driver.to_owned(),
            followed,
            own: uuid::Uuid::new_v4().to_string(),
        }
    }

    fn seconds(&self) -> u64 {
        let wall = self.kube.clock().wall();
        wall.duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |time| time.as_secs())
    }

    /// Whether another process watches, by the text of the annotation.
    fn is_others(&self, mark: Option<&str>) -> bool {
        let Some((who, when)) = mark.and_then(|mark| mark.split_once('@')) else {
            return false;
        };
        let age = self.seconds().saturating_sub(when.parse().unwrap_or(0));
        who != self.own && age < STALE.as_secs()
    }

    async fn objects(&self, disk: &DiskUri) -> Result<Vec<PersistentVolume>, PortError> {
        let names = self.followed.volumes(disk.as_str()).unwrap_or_default();
        let mut objects = Vec::new();
        for name in names {
            match self.kube.volume(&name).await {
                Ok(object) => objects.push(object),
                Err(error) if error.is_not_found() => {}
                Err(error) => {
                    return Err(PortError::because(format!("volume {name}"), error));
                }
            }
        }
        Ok(objects)
    }

    /// Writes or removes the mark; `false` if somebody else wrote the object meanwhile.
    async fn mark(&self, object: &PersistentVolume, mark: Option<&str>) -> Result<bool, PortError> {
        let label = (LABEL, mark.map(|_| "true"));
        match self.kube.mark_volume(object, label, (WATCHER, mark)).await {
            Ok(()) => Ok(true),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) if error.is_conflict() => Ok(false),
            Err(error) => {
                let what = format!("the mark of volume {}", object.name());
                Err(PortError::because(what, error))
            }
        }
    }

    /// Reads and marks each object once; `None` if somebody was in the way.
    async fn try_mark(
        &self,
        disk: &DiskUri,
        mark: Option<&str>,
    ) -> Result<Option<Hold>, PortError> {
        for object in self.objects(disk).await? {
            if self.is_others(object.annotation(WATCHER)) {
                return Ok(Some(Hold::Others));
            }
            if !self.mark(&object, mark).await? {
                return Ok(None);
            }
        }
        Ok(Some(Hold::Ours))
    }

    async fn set(&self, disk: &DiskUri, mark: Option<&str>) -> Result<Hold, PortError> {
        for _ in 0..TRIES {
            if let Some(hold) = self.try_mark(disk, mark).await? {
                return Ok(hold);
            }
        }
        // Whoever writes so often may be a watcher. If not, the next recovery comes back to it.
        Ok(Hold::Others)
    }
}

impl ConversionMarks for Conversions {
    fn hold<'a>(&'a self, disk: &'a DiskUri) -> BoxFuture<'a, Result<Hold, PortError>> {
        Box::pin(async move {
            let mark = format!("{}@{}", self.own, self.seconds());
            self.set(disk, Some(&mark)).await
        })
    }

    fn release<'a>(&'a self, disk: &'a DiskUri) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { self.set(disk, None).await.map(drop) })
    }

    fn unwatched(&self) -> BoxFuture<'_, Result<Vec<DiskUri>, PortError>> {
        Box::pin(async {
            let marked = self.kube.volumes_labelled(LABEL, "true").await;
            let marked = marked.map_err(|error| PortError::because("marked volumes", error))?;
            let free = marked
                .iter()
                .filter(|object| !self.is_others(object.annotation(WATCHER)));
            Ok(free
                .filter_map(|object| object.handle(&self.driver)?.parse().ok())
                .collect())
        })
    }
}

#[cfg(test)]
mod tests;
