//! Carries conversions out, forward and back.
//!
//! Each step is written to the journal before its work begins, and each piece of work looks at the
//! cluster first and does only what is missing. So a converter that dies anywhere is followed by one
//! that repeats the last step. Nothing here deletes a cloud resource, and no object is deleted before
//! a write that carries its version has proven that its policy is Retain.

mod act;
mod back;
mod finish;
mod forward;
mod live;
mod workloads;

use std::sync::Arc;
use std::time::Duration;

use azcsi_kube::objects::Objects;
use azcsi_types::clock::Clock;
use azcsi_types::fault::report;
use time::OffsetDateTime;

use crate::failure::Failure;
use crate::journal::{Journal, Record};
use crate::lease::{Lease, Patience};
use crate::output::timestamp;
use crate::plan::{Item, inputs};
use crate::resources::{CLAIMS, VOLUMES};
use crate::step::Step;

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The longest wait for pods, attachments and controllers.
    pub wait: Duration,
    /// Between two looks.
    pub poll: Duration,
    /// How long no pod may have been seen before the claim counts as unused.
    pub quiet: Duration,
    /// How long a workload must have run before `finalize`.
    pub soak: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(300),
            poll: Duration::from_secs(2),
            quiet: Duration::from_secs(10),
            soak: Duration::from_secs(24 * 3600),
        }
    }
}

/// Where progress is told.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// The converter.
#[derive(Clone)]
pub struct Engine {
    objects: Objects,
    journal: Journal,
    clock: Arc<dyn Clock>,
    holder: String,
    timing: Timing,
    tell: Tell,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Engine");
        shown.field("holder", &self.holder).finish_non_exhaustive()
    }
}

impl Engine {
    /// A converter that calls itself `holder` in leases.
    #[must_use]
    pub fn new(
        objects: Objects,
        journal: Journal,
        holder: String,
        timing: Timing,
        tell: Tell,
    ) -> Self {
        let clock = Arc::clone(objects.kube().clock());
        Self {
            objects,
            journal,
            clock,
            holder,
            timing,
            tell,
        }
    }

    /// Converts one volume.
    ///
    /// # Errors
    /// [`Failure::Blocked`] and [`Failure::Changed`]: nothing was changed, or all of it was undone.
    /// [`Failure::Stopped`]: `resume` or `rollback`. [`Failure::Operator`]: a person has to look.
    pub async fn apply(&self, plan: &str, item: &Item) -> Result<(), Failure> {
        let lease = self.lease(&item.volume, Patience::None).await?;
        let outcome = self.begin(plan, item, &lease).await;
        lease.release().await;
        outcome
    }

    /// Goes on where a converter stopped.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub async fn resume(&self, volume: &str) -> Result<(), Failure> {
        let lease = self.lease(volume, Patience::UntilExpired).await?;
        let outcome = match self.journal.read(volume).await? {
            None => Err(Failure::Blocked(format!("{volume} has no journal"))),
            Some(record) if record.is_over() || record.step == Step::Finalized => Ok(()),
            Some(mut record) => self.drive(&mut record, &lease).await,
        };
        lease.release().await;
        outcome
    }

    /// Puts the originals back, from wherever the conversion is.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub async fn rollback(&self, volume: &str) -> Result<(), Failure> {
        let lease = self.lease(volume, Patience::UntilExpired).await?;
        let outcome = match self.journal.read(volume).await? {
            None => Err(Failure::Blocked(format!("{volume} has no journal"))),
            Some(record) if record.is_over() && record.step == Step::RolledBack => Ok(()),
            Some(mut record) => {
                if !record.step.is_back() {
                    record.step = Step::BackQuiesced;
                    record.done = false;
                }
                self.drive(&mut record, &lease).await
            }
        };
        lease.release().await;
        outcome
    }

    async fn lease(&self, volume: &str, patience: Patience) -> Result<Lease, Failure> {
        let place = self.journal.namespace();
        Lease::take(&self.objects, place, volume, &self.holder, patience).await
    }

    async fn begin(&self, plan: &str, item: &Item, lease: &Lease) -> Result<(), Failure> {
        if let Some(record) = self.journal.read(&item.volume).await?
            && !record.is_over()
            && record.step != Step::Finalized
        {
            return Err(Failure::Blocked(format!(
                "{} has an unfinished conversion: resume it or roll it back",
                item.volume
            )));
        }
        self.unchanged(item).await?;
        let mut record = Record::new(plan.to_owned(), item.clone());
        self.drive(&mut record, lease).await
    }

    /// The cluster must still be what the plan saw.
    async fn unchanged(&self, item: &Item) -> Result<(), Failure> {
        let volume = self.objects.get(&VOLUMES, None, &item.volume).await?;
        let claim = match crate::plan::claim_key(item) {
            Some((place, name)) => self.objects.get(&CLAIMS, Some(place), name).await?,
            None => None,
        };
        let now = volume.map(|volume| inputs(&volume, claim.as_ref()));
        if now.as_ref() == Some(&item.inputs) {
            return Ok(());
        }
        Err(Failure::Changed(format!(
            "{} or its claim changed since the plan was made: plan again",
            item.volume
        )))
    }

    /// Goes to the end of the way; what fails while the old objects stand is undone at once.
    async fn drive(&self, record: &mut Record, lease: &Lease) -> Result<(), Failure> {
        let Err(error) = self.walk(record, lease).await else {
            return Ok(());
        };
        // Without the lease or the journal nothing may be done, not even back.
        let ours = lease.renew().await.is_ok();
        if record.step.is_back() || !record.step.is_harmless() || !ours {
            return Err(stopped(record, error));
        }
        (self.tell)(&format!(
            "{}: {}; undoing",
            record.item.volume,
            report(&error)
        ));
        record.step = Step::BackQuiesced;
        record.done = false;
        match self.walk(record, lease).await {
            Ok(()) => Err(match error {
                Failure::Changed(why) => Failure::Changed(why),
                other => Failure::Blocked(format!("{}; undone", report(&other))),
            }),
            Err(second) => Err(stopped(record, second)),
        }
    }

    async fn walk(&self, record: &mut Record, lease: &Lease) -> Result<(), Failure> {
        loop {
            lease.renew().await?;
            record.note(&self.now(), record.step.told());
            self.journal.write(record).await?;
            (self.tell)(&format!("{}: {}", record.item.volume, record.step.told()));
            Box::pin(self.perform(record, lease)).await?;
            record.done = true;
            match record.step.next() {
                Some(next) => {
                    record.step = next;
                    record.done = false;
                }
                None => return self.journal.write(record).await,
            }
        }
    }

    async fn perform(&self, record: &mut Record, lease: &Lease) -> Result<(), Failure> {
        let run = act::Run {
            engine: self,
            lease,
        };
        match record.step {
            Step::Journaled => self.journal.confirm(record).await,
            Step::DryRunOk => run.dry_run(&record.item).await,
            Step::Retained => run.retained(&record.item).await,
            Step::Quiesced | Step::BackQuiesced => run.quiesced(record).await,
            Step::Detached | Step::BackDetached => run.detached(&record.item.volume).await,
            Step::Unbound => run.unbound(&record.item).await,
            Step::OldVolumeDeleted => run.old_volume_deleted(&record.item).await,
            Step::NewVolume => run.new_volume(&record.item).await,
            Step::NewClaim => run.new_claim(&record.item).await,
            Step::Verified => run.verified(&record.item).await,
            Step::Resumed => {
                run.resumed(&record.item).await?;
                record.resumed = Some(self.now());
                Ok(())
            }
            Step::BackResumed => run.resumed(&record.item).await,
            Step::Finalized => run.policy(&record.item).await,
            Step::BackRetained => run.back_retained(&record.item).await,
            Step::BackUnbound => run.back_unbound(&record.item).await,
            Step::BackVolumeDeleted => run.back_volume_deleted(&record.item).await,
            Step::BackVolume => run.back_volume(&record.item).await,
            Step::BackClaim => run.back_claim(&record.item).await,
            Step::RolledBack => run.policy(&record.item).await,
        }
    }

    /// The time of day, for notes.
    fn now(&self) -> String {
        timestamp(OffsetDateTime::from(self.clock.wall()))
    }
}

/// An error in the middle of a way, with the volume and the step that it stopped at.
fn stopped(record: &Record, error: Failure) -> Failure {
    let (volume, step) = (&record.item.volume, record.step.told());
    let line = format!("{volume} stopped at \"{step}\": {}", report(&error));
    match error {
        Failure::Operator(_) => Failure::Operator(line),
        _ => Failure::Stopped(line),
    }
}
