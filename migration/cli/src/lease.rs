//! One converter per volume at a time.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azcsi_kube::KubeError;
use azcsi_kube::objects::{Effect, Objects, Precondition};
use azcsi_types::clock::Clock;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::failure::Failure;
use crate::plan::journal_name;
use crate::resources::LEASES;
use crate::value::{text, uid, version};

/// How long a lease lives after it was renewed.
const LIFE: Duration = Duration::from_secs(60);
/// How often a waiting converter looks.
const POLL: Duration = Duration::from_secs(5);

/// What to do while another converter holds a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Give up at once.
    None,
    /// Wait until its lease runs out; one that died does not renew it.
    UntilExpired,
}

/// The right to work on one volume.
#[derive(Debug)]
pub struct Lease {
    objects: Objects,
    clock: Arc<dyn Clock>,
    namespace: String,
    volume: String,
    holder: String,
}

impl Lease {
    /// Takes the lease of a volume.
    ///
    /// # Errors
    /// [`Failure::Blocked`] when another converter has it.
    pub async fn take(
        objects: &Objects,
        namespace: &str,
        volume: &str,
        holder: &str,
        patience: Patience,
    ) -> Result<Self, Failure> {
        let mut lease = Self::unheld(objects, namespace, volume);
        holder.clone_into(&mut lease.holder);
        loop {
            match lease.renew().await {
                Err(Failure::Blocked(_)) if patience == Patience::UntilExpired => {
                    tokio::time::sleep(POLL).await;
                }
                other => return other.map(|()| lease),
            }
        }
    }

    /// For work that changes nothing.
    pub(crate) fn unheld(objects: &Objects, namespace: &str, volume: &str) -> Self {
        Self {
            objects: objects.clone(),
            clock: Arc::clone(objects.kube().clock()),
            namespace: namespace.to_owned(),
            volume: volume.to_owned(),
            holder: String::new(),
        }
    }

    /// Makes it live longer.
    ///
    /// # Errors
    /// [`Failure::Blocked`] when another converter has it now.
    pub async fn renew(&self) -> Result<(), Failure> {
        let name = journal_name(&self.volume);
        let place = Some(self.namespace.as_str());
        for _ in 0..5 {
            let now = self.objects.get(&LEASES, place, &name).await?;
            let body = self.body(now.as_ref());
            let written = match &now {
                None => {
                    self.objects
                        .create(&LEASES, place, &body, Effect::Real)
                        .await
                }
                Some(lease) => {
                    let other = text(lease, "/spec/holderIdentity");
                    if other != self.holder && !self.is_expired(lease) {
                        return Err(Failure::Blocked(format!(
                            "{other} works on {} at the moment",
                            self.volume
                        )));
                    }
                    self.objects.replace(&LEASES, place, &body).await
                }
            };
            match written {
                // Somebody was quicker: look again who has it.
                Err(KubeError::Conflict { .. }) => {}
                other => return other.map(|_| ()).map_err(Failure::from),
            }
        }
        Err(Failure::Blocked(format!(
            "the lease of {} changes all the time",
            self.volume
        )))
    }

    /// Gives it back. A lease that cannot be given back runs out.
    pub async fn release(self) {
        let name = journal_name(&self.volume);
        let place = Some(self.namespace.as_str());
        let Ok(Some(now)) = self.objects.get(&LEASES, place, &name).await else {
            return;
        };
        if text(&now, "/spec/holderIdentity") == self.holder {
            let unchanged = Precondition {
                uid: uid(&now),
                resource_version: version(&now),
            };
            let _ = self.objects.delete(&LEASES, place, &name, unchanged).await;
        }
    }

    fn body(&self, now: Option<&Value>) -> Value {
        let mut body = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": journal_name(&self.volume), "namespace": self.namespace},
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": LIFE.as_secs(),
                "renewTime": micro_time(self.clock.wall()),
            },
        });
        if let Some(now) = now {
            body["metadata"]["resourceVersion"] = json!(version(now));
        }
        body
    }

    fn is_expired(&self, lease: &Value) -> bool {
        let renewed = OffsetDateTime::parse(text(lease, "/spec/renewTime"), &Rfc3339);
        renewed.map_or(true, |at| {
            OffsetDateTime::from(self.clock.wall()) > at + LIFE
        })
    }
}

/// The time form of leases: always six digits of a second.
fn micro_time(at: SystemTime) -> String {
    let at = OffsetDateTime::from(at);
    let text = crate::output::timestamp(at);
    text.strip_suffix('Z').map_or_else(
        || text.clone(),
        |whole| format!("{whole}.{:06}Z", at.microsecond()),
    )
}
