//! What comes after a conversion: the check at any time, and making it final.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::act::Run;
use super::{Engine, stopped};
use crate::failure::Failure;
use crate::journal::Record;
use crate::lease::{Lease, Patience};
use crate::plan::Item;
use crate::step::Step;

impl Run<'_> {
    /// Puts the reclaim policy back; it was Retain all the way.
    pub(super) async fn policy(&self, item: &Item) -> Result<(), Failure> {
        match self.set_policy(&item.volume, &item.final_policy).await? {
            Some(_) => Ok(()),
            None => Err(Failure::Operator("the volume vanished".to_owned())),
        }
    }
}

impl Engine {
    /// What is wrong with a converted volume; nothing is changed.
    ///
    /// # Errors
    /// The cluster cannot be read, or there is no journal.
    pub async fn verify(&self, volume: &str) -> Result<Vec<String>, Failure> {
        let Some(record) = self.journal.read(volume).await? else {
            return Err(Failure::Blocked(format!("{volume} has no journal")));
        };
        let lease = Lease::unheld(&self.objects, self.journal.namespace(), volume);
        let run = Run {
            engine: self,
            lease: &lease,
        };
        run.complaints(&record.item).await
    }

    /// Puts the reclaim policy back and closes the journal.
    ///
    /// # Errors
    /// The conversion is not complete, or the workload has not run long enough.
    pub async fn finalize(&self, volume: &str) -> Result<(), Failure> {
        let lease = self.lease(volume, Patience::UntilExpired).await?;
        let outcome = match self.journal.read(volume).await? {
            None => Err(Failure::Blocked(format!("{volume} has no journal"))),
            Some(mut record) => match self.may_finish(&record) {
                Err(error) => Err(error),
                Ok(()) => {
                    record.step = Step::Finalized;
                    record.done = false;
                    let walked = Box::pin(self.walk(&mut record, &lease)).await;
                    walked
                        .map_err(|error| stopped(&record, error))
                        .and_then(|()| self.journal.archive(volume))
                }
            },
        };
        lease.release().await;
        outcome
    }

    fn may_finish(&self, record: &Record) -> Result<(), Failure> {
        let volume = &record.item.volume;
        let complete =
            record.step == Step::Finalized || (record.step == Step::Resumed && record.done);
        if !complete {
            return Err(Failure::Blocked(format!("{volume} is not converted")));
        }
        let since = record.resumed.as_deref().unwrap_or_default();
        let since = OffsetDateTime::parse(since, &Rfc3339).map_err(|error| Failure::Document {
            what: "the journal".to_owned(),
            why: error.to_string(),
        })?;
        if OffsetDateTime::from(self.clock.wall()) < since + self.timing.soak {
            let soak = self.timing.soak;
            return Err(Failure::Blocked(format!(
                "{volume} runs since {since}, not yet for {soak:?}: a rollback is cheap until then"
            )));
        }
        Ok(())
    }
}
