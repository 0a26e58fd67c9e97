//! The steps of the way forward.

use azcsi_kube::objects::Effect;
use serde_json::{Value, json};

use super::act::Run;
use super::live::Live;
use crate::equality::differences;
use crate::failure::Failure;
use crate::plan::{Item, inputs, journal_name};
use crate::resources::{CLAIMS, VOLUMES};
use crate::target::bare;
use crate::target::volume::Variant;
use crate::value::{namespace, text, uid};

impl Run<'_> {
    /// Asks whether the new objects, and the old ones for the way back, would be taken. Under
    /// another name, since the old ones are still there.
    pub(super) async fn dry_run(&self, item: &Item) -> Result<(), Failure> {
        let trial = format!("{}-trial", journal_name(&item.volume));
        let old = bare(&item.before.volume);
        for volume in [&item.after.volume, &old] {
            let mut body = volume.clone();
            body["metadata"]["name"] = json!(trial);
            self.objects()
                .create(&VOLUMES, None, &body, Effect::Dry)
                .await?;
        }
        if let (Variant::Renew, Some(claim)) = (item.variant, &item.after.claim) {
            let mut body = claim.clone();
            body["metadata"]["name"] = json!(trial);
            let place = Some(namespace(claim));
            self.objects()
                .create(&CLAIMS, place, &body, Effect::Dry)
                .await?;
        }
        Ok(())
    }

    pub(super) async fn retained(&self, item: &Item) -> Result<(), Failure> {
        self.still_old(item).await?;
        match self.retained_by_all(&item.volume).await? {
            Some(_) => Ok(()),
            None => Err(Failure::Operator("the volume vanished".to_owned())),
        }
    }

    async fn still_old(&self, item: &Item) -> Result<(), Failure> {
        match self.live(item).await? {
            Live::Old(volume) if uid(&volume) == uid(&item.before.volume) => Ok(()),
            _ => Err(Failure::Changed(format!(
                "{} is not the volume of the plan any more: plan again",
                item.volume
            ))),
        }
    }

    pub(super) async fn unbound(&self, item: &Item) -> Result<(), Failure> {
        self.same_input(item).await?;
        match (item.variant, &item.before.claim) {
            (Variant::Renew, Some(old)) => {
                let old = uid(old).to_owned();
                self.delete_claim(item, |claim| uid(claim) == old).await
            }
            _ => Ok(()),
        }
    }

    /// The last look before something is deleted: volume and claim as in the plan, but for the
    /// policy. A claim that is gone already was deleted by this step before.
    async fn same_input(&self, item: &Item) -> Result<(), Failure> {
        let Some(old_claim) = &item.before.claim else {
            return Ok(());
        };
        let (live, claim) = (self.live(item).await?, self.get(&CLAIMS, old_claim).await?);
        let (Live::Old(mut volume), Some(claim)) = (live, claim) else {
            return Ok(());
        };
        volume["spec"]["persistentVolumeReclaimPolicy"] = json!(item.final_policy);
        if uid(&claim) == uid(old_claim)
            && text(&claim, "/metadata/deletionTimestamp").is_empty()
            && inputs(&volume, Some(&claim)) != item.inputs
        {
            return Err(Failure::Changed(format!(
                "{} or its claim was changed after the plan: roll back and plan again",
                item.volume
            )));
        }
        Ok(())
    }

    pub(super) async fn old_volume_deleted(&self, item: &Item) -> Result<(), Failure> {
        let old = uid(&item.before.volume);
        self.delete_volume(item, |live| match live {
            Live::Gone | Live::New(_) => Ok(false),
            Live::Old(volume) if uid(volume) == old => Ok(true),
            Live::Old(_) | Live::Stranger(_) => Err(Failure::Operator(format!(
                "another volume took the name {}",
                item.volume
            ))),
        })
        .await
    }

    pub(super) async fn new_volume(&self, item: &Item) -> Result<(), Failure> {
        let old = uid(&item.before.volume);
        self.until("the new volume is there", async || {
            match self.live(item).await? {
                Live::New(_) => Ok(true),
                Live::Gone => {
                    self.create(&VOLUMES, &item.after.volume).await?;
                    Ok(false)
                }
                // The step before saw it gone, so this is an old answer.
                Live::Old(volume) if uid(&volume) == old => Ok(false),
                Live::Old(_) | Live::Stranger(_) => Err(Failure::Operator(format!(
                    "another volume took the name {}",
                    item.volume
                ))),
            }
        })
        .await
    }

    pub(super) async fn new_claim(&self, item: &Item) -> Result<(), Failure> {
        if let (Variant::Renew, Some(claim)) = (item.variant, &item.after.claim) {
            self.ensure_claim(claim).await?;
        }
        self.bound(item).await
    }

    /// Makes a claim unless one of its name is there; whose it is shows when it is bound.
    pub(super) async fn ensure_claim(&self, claim: &Value) -> Result<(), Failure> {
        self.until("the claim is there", async || {
            if self.get(&CLAIMS, claim).await?.is_some() {
                return Ok(true);
            }
            self.create(&CLAIMS, claim).await?;
            Ok(false)
        })
        .await
    }

    /// Old and new mean the same, and no second volume means it too.
    pub(super) async fn verified(&self, item: &Item) -> Result<(), Failure> {
        let wrong = self.complaints(item).await?;
        match wrong.first() {
            None => Ok(()),
            Some(_) => Err(Failure::Operator(wrong.join("; "))),
        }
    }

    pub(super) async fn complaints(&self, item: &Item) -> Result<Vec<String>, Failure> {
        let Live::New(volume) = self.live(item).await? else {
            return Ok(vec![format!(
                "{} is not the CSI volume of the plan",
                item.volume
            )]);
        };
        let mut out = differences(&item.before.volume, &volume, &item.wishes());
        let handle = text(&volume, "/spec/csi/volumeHandle").to_ascii_lowercase();
        let mut same = 0;
        self.objects()
            .each(&VOLUMES, None, |other| {
                same += usize::from(stands_for(&other, &handle))
            })
            .await?;
        if same != 1 {
            out.push(format!("{same} volumes stand for {handle}"));
        }
        if let Some(old) = &item.before.claim {
            let claim = self.get(&CLAIMS, old).await?;
            let phase = claim
                .as_ref()
                .map_or("missing", |claim| text(claim, "/status/phase"));
            if phase != "Bound" {
                out.push(format!("the claim is {phase}, not Bound"));
            }
        }
        Ok(out)
    }
}

fn stands_for(volume: &Value, handle: &str) -> bool {
    ["/spec/csi/volumeHandle", "/spec/azureDisk/diskURI"]
        .iter()
        .any(|pointer| text(volume, pointer).eq_ignore_ascii_case(handle))
}
