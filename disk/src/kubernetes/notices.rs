//! Notices as Events of Kubernetes.
//!
//! A notice goes into a short queue, and a task of its own writes it: no call waits for the API
//! server. What comes again too soon, or too often, is not written at all.

use std::sync::{Arc, Mutex, PoisonError};

use azcsi_kube::Kube;
use azcsi_kube::attachments::Attachments as Followed;
use azcsi_kube::events::{About, Event, Events, Severity as Kind};
use azcsi_kube::pacing::Pacing;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::report;
use tokio::sync::mpsc;

use crate::notices::{Notice, Notices, Severity, Subject};

/// Notices that wait to be written. More than these are lost, never waited for.
const QUEUE: usize = 64;

/// Writes notices as Events.
#[derive(Debug)]
pub struct KubernetesNotices {
    kube: Kube,
    queue: mpsc::Sender<Notice>,
    pacing: Mutex<Pacing<(Subject, &'static str)>>,
}

impl KubernetesNotices {
    /// Begins to write Events in the name of `driver`. `followed` finds the objects of volumes;
    /// without it, notices about volumes are not written.
    #[must_use]
    pub fn start(kube: Kube, driver: &str, followed: Option<Arc<Followed>>) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let writer = Writer {
            events: Events::new(kube.clone(), driver),
            kube: kube.clone(),
            followed,
        };
        // It ends when the sender is gone.
        tokio::spawn(writer.run(waiting));
        Self {
            kube,
            queue,
            pacing: Mutex::default(),
        }
    }
}

impl Notices for KubernetesNotices {
    fn tell(&self, notice: Notice) {
        let key = (notice.subject.clone(), notice.reason);
        let now = self.kube.clock().now();
        let mut pacing = self.pacing.lock().unwrap_or_else(PoisonError::into_inner);
        if !pacing.admits(key, now) {
            return;
        }
        if let Err(error) = self.queue.try_send(notice) {
            tracing::debug!("an event is not written: {error}");
        }
    }
}

/// The task that writes.
struct Writer {
    kube: Kube,
    events: Events,
    followed: Option<Arc<Followed>>,
}

impl Writer {
    async fn run(self, mut waiting: mpsc::Receiver<Notice>) {
        while let Some(notice) = waiting.recv().await {
            for about in self.objects(&notice.subject).await {
                let event = Event {
                    about,
                    severity: match notice.severity {
                        Severity::Normal => Kind::Normal,
                        Severity::Warning => Kind::Warning,
                    },
                    reason: notice.reason,
                    note: notice.text.clone(),
                };
                if let Err(error) = self.events.publish(event).await {
                    tracing::warn!(reason = notice.reason, "{}", report(&error));
                }
            }
        }
    }

    async fn objects(&self, subject: &Subject) -> Vec<About> {
        match subject {
            Subject::Node(name) => vec![About::node(name.as_str())],
            Subject::Claim { namespace, name } => {
                let uid = self.kube.claim_uid(namespace, name).await;
                // The name alone still makes an event, if a less visible one.
                let uid = uid.unwrap_or_default();
                vec![About::claim(namespace, name, &uid)]
            }
            Subject::Volume(disk) => self.volume(disk).await,
        }
    }

    /// The claims of a volume, or the volumes where there is no claim.
    async fn volume(&self, disk: &DiskUri) -> Vec<About> {
        let followed = self.followed.as_ref();
        let names = followed.and_then(|followed| followed.volumes(disk.as_str()));
        let mut objects = Vec::new();
        for name in names.unwrap_or_default() {
            match self.kube.volume(&name).await {
                Ok(volume) => objects.push(match volume.claim() {
                    Some(claim) => About::claim(&claim.namespace, &claim.name, &claim.uid),
                    None => About::volume(&name, volume.uid()),
                }),
                Err(error) => tracing::debug!("{}", report(&error)),
            }
        }
        objects
    }
}

#[cfg(test)]
mod tests;
