//! The pieces of work that both ways are made of.

use std::time::Duration;

use azcsi_kube::KubeError;
use azcsi_kube::objects::{Collection, Effect, Objects, Precondition};
use serde_json::{Value, json};

use super::Engine;
use super::live::{self, Live};
use crate::failure::Failure;
use crate::lease::Lease;
use crate::plan::Item;
use crate::resources::{ATTACHMENTS, CLAIMS, PODS, VOLUMES};
use crate::target::volume::Variant;
use crate::value::{is_going, name, namespace, policy, strings, text, uid, version};
use crate::workload::uses;

/// How often a write is tried again when somebody else wrote first.
pub(super) const TRIES: u32 = 10;
/// Half the life of a lease is left for the work between two renewals.
const RENEW: Duration = Duration::from_secs(20);
/// Finalizers whose owners delete the disk with the volume.
const DELETERS: [&str; 2] = [
    "external-provisioner.volume.kubernetes.io/finalizer",
    "kubernetes.io/pv-controller",
];
/// The finalizer that keeps a bound volume.
const PROTECTION: &str = "kubernetes.io/pv-protection";

/// One way, under one lease.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) engine: &'a Engine,
    pub(super) lease: &'a Lease,
}

impl Run<'_> {
    pub(super) fn objects(&self) -> &Objects {
        &self.engine.objects
    }

    /// Waits until `done`, looking again and again.
    pub(super) async fn until(
        &self,
        what: &str,
        mut done: impl AsyncFnMut() -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let clock = &self.engine.clock;
        let (start, mut renewed) = (clock.now(), clock.now());
        while !done().await? {
            if clock.now().saturating_sub(start) >= self.engine.timing.wait {
                let wait = self.engine.timing.wait;
                return Err(Failure::Stopped(format!(
                    "waited {wait:?} in vain until {what}"
                )));
            }
            if clock.now().saturating_sub(renewed) >= RENEW {
                self.lease.renew().await?;
                renewed = clock.now();
            }
            tokio::time::sleep(self.engine.timing.poll).await;
        }
        Ok(())
    }

    pub(super) async fn get(
        &self,
        of: &Collection,
        object: &Value,
    ) -> Result<Option<Value>, Failure> {
        let place = Some(namespace(object)).filter(|place| !place.is_empty());
        Ok(self.objects().get(of, place, name(object)).await?)
    }

    /// What stands under the volume's name.
    pub(super) async fn live(&self, item: &Item) -> Result<Live, Failure> {
        let found = self.objects().get(&VOLUMES, None, &item.volume).await?;
        Ok(live::of(item, found))
    }

    /// Sets the policy and answers the volume as the server has it after that. The write carries the
    /// version that was read, so a stale read cannot pass for the truth, even when nothing changes.
    pub(super) async fn retain(&self, volume: &str) -> Result<Option<Value>, Failure> {
        self.set_policy(volume, "Retain").await
    }

    pub(super) async fn set_policy(
        &self,
        volume: &str,
        wanted: &str,
    ) -> Result<Option<Value>, Failure> {
        for _ in 0..TRIES {
            let Some(now) = self.objects().get(&VOLUMES, None, volume).await? else {
                return Ok(None);
            };
            let patch = json!({
                "metadata": {"resourceVersion": version(&now), "uid": uid(&now)},
                "spec": {"persistentVolumeReclaimPolicy": wanted},
            });
            match self.objects().merge(&VOLUMES, None, volume, &patch).await {
                Ok(after) if policy(&after) == wanted => return Ok(Some(after)),
                Ok(_) => return Err(Failure::Operator("the policy does not stay".to_owned())),
                Err(KubeError::Conflict { .. }) => {}
                Err(error) if error.is_not_found() => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::Stopped(format!(
            "{volume} is changed by somebody else all the time"
        )))
    }

    /// Retain, and nobody left who would delete the disk.
    pub(super) async fn retained_by_all(&self, volume: &str) -> Result<Option<Value>, Failure> {
        let mut last = None;
        self.until("nobody would delete the disk any more", async || {
            last = self.retain(volume).await?;
            Ok(last
                .as_ref()
                .is_none_or(|volume| deleters(volume).is_none()))
        })
        .await?;
        Ok(last)
    }

    /// Whether no pod uses the claim and nothing is attached.
    pub(super) async fn is_idle(&self, item: &Item) -> Result<bool, Failure> {
        Ok(!self.is_used(item).await? && !self.is_attached(&item.volume).await?)
    }

    pub(super) async fn is_used(&self, item: &Item) -> Result<bool, Failure> {
        let Some((place, claim)) = crate::plan::claim_key(item) else {
            return Ok(false);
        };
        let mut used = false;
        self.objects()
            .each(&PODS, Some(place), |mut pod| {
                // A list of one namespace may leave it out.
                pod["metadata"]["namespace"] = json!(place);
                used |= uses(&pod, place, claim);
            })
            .await?;
        Ok(used)
    }

    async fn is_attached(&self, volume: &str) -> Result<bool, Failure> {
        let mut attached = false;
        self.objects()
            .each(&ATTACHMENTS, None, |one| {
                attached |= text(&one, "/spec/source/persistentVolumeName") == volume;
            })
            .await?;
        Ok(attached)
    }

    pub(super) async fn detached(&self, volume: &str) -> Result<(), Failure> {
        self.until("the volume is detached", async || {
            Ok(!self.is_attached(volume).await?)
        })
        .await
    }

    /// Deletes the claim that `is_meant`, once it is proven that this deletes no disk; waits until
    /// it is gone. Another claim of the name is left alone.
    pub(super) async fn delete_claim(
        &self,
        item: &Item,
        is_meant: impl Fn(&Value) -> bool,
    ) -> Result<(), Failure> {
        let Some(old) = &item.before.claim else {
            return Ok(());
        };
        self.until("the claim is gone", async || {
            let Some(claim) = self.get(&CLAIMS, old).await? else {
                return Ok(true);
            };
            if !is_meant(&claim) {
                return Ok(true);
            }
            if !is_going(&claim) {
                self.safe(item).await?;
                self.delete(&CLAIMS, &claim).await?;
            }
            Ok(false)
        })
        .await
    }

    /// Deletes the volume object, once it is proven that this deletes no disk; waits until it is
    /// gone. Its fate is told by `is_meant`.
    pub(super) async fn delete_volume(
        &self,
        item: &Item,
        is_meant: impl Fn(&Live) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        self.until("the volume object is gone", async || {
            let live = self.live(item).await?;
            if !is_meant(&live)? {
                return Ok(true);
            }
            let proven = self.safe(item).await?;
            let (Live::Old(_) | Live::New(_), Some(proven)) = (live, proven) else {
                return Ok(false);
            };
            if !is_meant(&live::of(item, Some(proven.clone())))? {
                return Ok(true);
            }
            if !is_going(&proven) {
                self.delete(&VOLUMES, &proven).await?;
            } else if item.variant == Variant::Keep {
                self.unprotect(&proven).await?;
            }
            Ok(false)
        })
        .await
    }

    /// The proof that comes right before every delete: policy Retain at the newest version, nobody
    /// who would delete the disk, no pod, no attachment.
    async fn safe(&self, item: &Item) -> Result<Option<Value>, Failure> {
        if !self.is_idle(item).await? {
            return Err(Failure::Stopped(
                "the volume is in use again: something starts its pods".to_owned(),
            ));
        }
        let proven = self.retain(&item.volume).await?;
        if let Some(finalizer) = proven.as_ref().and_then(deleters) {
            return Err(Failure::Stopped(format!(
                "the finalizer {finalizer} is back: somebody would delete the disk"
            )));
        }
        Ok(proven)
    }

    async fn delete(&self, of: &Collection, object: &Value) -> Result<(), Failure> {
        let place = Some(namespace(object)).filter(|place| !place.is_empty());
        let unchanged = Precondition {
            uid: uid(object),
            resource_version: version(object),
        };
        match self
            .objects()
            .delete(of, place, name(object), unchanged)
            .await
        {
            // The next look decides again.
            Err(KubeError::Conflict { .. }) => Ok(()),
            other => other.map_err(Failure::from),
        }
    }

    /// The one finalizer that this tool ever takes: a volume whose claim stays is never let go by
    /// itself. Everything else was proven right before.
    async fn unprotect(&self, volume: &Value) -> Result<(), Failure> {
        let rest: Vec<&str> = strings(volume, "/metadata/finalizers")
            .filter(|finalizer| *finalizer != PROTECTION)
            .collect();
        let patch = json!({"metadata": {
            "resourceVersion": version(volume), "finalizers": rest,
        }});
        match self
            .objects()
            .merge(&VOLUMES, None, name(volume), &patch)
            .await
        {
            Err(KubeError::Conflict { .. } | KubeError::NotFound { .. }) => Ok(()),
            other => other.map(|_| ()).map_err(Failure::from),
        }
    }

    /// Makes an object; that it is there already is for the next look to judge.
    pub(super) async fn create(&self, of: &Collection, body: &Value) -> Result<(), Failure> {
        let place = Some(namespace(body)).filter(|place| !place.is_empty());
        match self.objects().create(of, place, body, Effect::Real).await {
            Err(KubeError::Conflict { .. }) => Ok(()),
            other => other.map(|_| ()).map_err(Failure::from),
        }
    }

    /// Waits until the claim and the volume name each other.
    pub(super) async fn bound(&self, item: &Item) -> Result<(), Failure> {
        let Some(old) = &item.before.claim else {
            return Ok(());
        };
        self.until("the claim is bound", async || {
            let Some(claim) = self.get(&CLAIMS, old).await? else {
                return Ok(false);
            };
            let chosen = text(&claim, "/spec/volumeName");
            if !chosen.is_empty() && chosen != item.volume {
                return Err(Failure::Operator(format!(
                    "the claim {}/{} was given another volume, {chosen}",
                    namespace(old),
                    name(old)
                )));
            }
            let volume = self.objects().get(&VOLUMES, None, &item.volume).await?;
            let Some(volume) = volume else {
                return Err(Failure::Operator("the volume vanished".to_owned()));
            };
            Ok(text(&claim, "/status/phase") == "Bound"
                && text(&volume, "/spec/claimRef/uid") == uid(&claim))
        })
        .await
    }
}

/// A finalizer whose owner would delete the disk.
fn deleters(volume: &Value) -> Option<&str> {
    strings(volume, "/metadata/finalizers").find(|finalizer| DELETERS.contains(finalizer))
}
