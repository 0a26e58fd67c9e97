//! The steps of the way back. Each looks at what is there, so it does not matter how far the way
//! forward had come.

use azcsi_kube::KubeError;
use serde_json::json;

use super::act::Run;
use super::live::Live;
use crate::failure::Failure;
use crate::plan::Item;
use crate::resources::{CLAIMS, VOLUMES};
use crate::target::bare;
use crate::target::volume::Variant;
use crate::value::{child, is_going, text, uid, version};

impl Run<'_> {
    pub(super) async fn back_retained(&self, item: &Item) -> Result<(), Failure> {
        self.retained_by_all(&item.volume).await.map(|_| ())
    }

    /// The new claim goes; the original, if it still stands, stays.
    pub(super) async fn back_unbound(&self, item: &Item) -> Result<(), Failure> {
        let Some(old) = item
            .before
            .claim
            .as_ref()
            .filter(|_| item.variant == Variant::Renew)
        else {
            return Ok(());
        };
        let old = uid(old).to_owned();
        let volume = item.volume.clone();
        // A claim of the old volume that was made on an earlier way back stays too.
        let new_is_there = matches!(self.live(item).await?, Live::New(_));
        self.delete_claim(item, |claim| {
            let ours = text(claim, "/spec/volumeName") == volume;
            let original = uid(claim) == old && !is_going(claim);
            (ours && new_is_there && !original) || (uid(claim) == old && is_going(claim))
        })
        .await
    }

    pub(super) async fn back_volume_deleted(&self, item: &Item) -> Result<(), Failure> {
        self.delete_volume(item, |live| match live {
            Live::Gone => Ok(false),
            Live::New(_) => Ok(true),
            // An original that is being deleted must be gone before it can be made again.
            Live::Old(volume) => Ok(is_going(volume)),
            Live::Stranger(_) => Err(Failure::Operator(format!(
                "another volume took the name {}",
                item.volume
            ))),
        })
        .await
    }

    pub(super) async fn back_volume(&self, item: &Item) -> Result<(), Failure> {
        self.until("the old volume is there", async || {
            match self.live(item).await? {
                Live::Gone => {
                    self.create(&VOLUMES, &original_volume(item)).await?;
                    Ok(false)
                }
                Live::Old(volume) => {
                    let holder = text(&volume, "/spec/claimRef/uid").to_owned();
                    if self.is_orphan(item, &holder).await? {
                        self.free(item, &volume).await?;
                        return Ok(false);
                    }
                    Ok(true)
                }
                Live::New(_) | Live::Stranger(_) => Err(Failure::Operator(format!(
                    "another volume took the name {}",
                    item.volume
                ))),
            }
        })
        .await
    }

    /// Whether a volume is held for a claim that is gone for good.
    async fn is_orphan(&self, item: &Item, holder: &str) -> Result<bool, Failure> {
        let Some(old) = item.before.claim.as_ref().filter(|_| !holder.is_empty()) else {
            return Ok(false);
        };
        let claim = self.get(&CLAIMS, old).await?;
        Ok(claim.is_none_or(|claim| uid(&claim) != holder))
    }

    /// Sets a volume aside for the claim of the same name that is to come. The name stays in it, so
    /// that no stranger can take it meanwhile.
    async fn free(&self, item: &Item, volume: &serde_json::Value) -> Result<(), Failure> {
        let patch = json!({
            "metadata": {"resourceVersion": version(volume)},
            "spec": {"claimRef": {"uid": null, "resourceVersion": null}},
        });
        match self
            .objects()
            .merge(&VOLUMES, None, &item.volume, &patch)
            .await
        {
            Err(KubeError::Conflict { .. }) => Ok(()),
            other => other.map(|_| ()).map_err(Failure::from),
        }
    }

    pub(super) async fn back_claim(&self, item: &Item) -> Result<(), Failure> {
        if let (Variant::Renew, Some(old)) = (item.variant, &item.before.claim) {
            let mut claim = bare(old);
            let spec = child(&mut claim, "spec");
            spec.insert("volumeName".to_owned(), json!(item.volume));
            self.ensure_claim(&claim).await?;
        }
        self.bound(item).await
    }
}

/// The old volume as it is made again: with the policy Retain until everything stands.
fn original_volume(item: &Item) -> serde_json::Value {
    let mut volume = bare(&item.before.volume);
    let spec = child(&mut volume, "spec");
    spec.insert("persistentVolumeReclaimPolicy".to_owned(), json!("Retain"));
    if let Some(claim) = spec
        .get_mut("claimRef")
        .and_then(|claim| claim.as_object_mut())
    {
        claim.remove("resourceVersion");
        if item.variant == Variant::Renew {
            claim.remove("uid");
        }
    }
    volume
}
