//! Pausing who uses a claim, and letting it run again.

use azcsi_kube::objects::Collection;
use serde_json::{Value, json};

use super::act::{Run, TRIES};
use crate::failure::Failure;
use crate::journal::Record;
use crate::plan::Item;
use crate::resources::{CRON_JOBS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS};
use crate::value::version;
use crate::workload::{Pause, Workload};

impl Run<'_> {
    /// Pauses who uses the claim, and waits until no pod was seen for a while.
    pub(super) async fn quiesced(&self, record: &mut Record) -> Result<(), Failure> {
        for index in 0..record.item.workloads.len() {
            self.pause(record, index).await?;
        }
        let item = &record.item;
        self.until("no pod uses the claim", async || {
            if self.is_used(item).await? {
                return Ok(false);
            }
            tokio::time::sleep(self.engine.timing.quiet).await;
            Ok(!self.is_used(item).await?)
        })
        .await
    }

    async fn pause(&self, record: &mut Record, index: usize) -> Result<(), Failure> {
        for _ in 0..TRIES {
            let workload = record.item.workloads[index].clone();
            let Some(now) = self.workload(&workload).await? else {
                return Ok(());
            };
            let running = running(&workload, &now);
            // It was scaled since the plan: the way back leads to what it is now.
            if workload.pause == Pause::Scale && running != workload.replicas && running > 0 {
                record.item.workloads[index].replicas = running;
                self.engine.journal.write(record).await?;
            }
            match self.switch(&workload, &now, 0).await {
                Err(error) if error.is_conflict() => {}
                other => return other,
            }
        }
        Err(Failure::Stopped(
            "the workload is changed by somebody else".to_owned(),
        ))
    }

    /// Lets the workloads run as before; one that runs already is left alone.
    pub(super) async fn resumed(&self, item: &Item) -> Result<(), Failure> {
        for workload in &item.workloads {
            self.restart(workload).await?;
        }
        Ok(())
    }

    async fn restart(&self, workload: &Workload) -> Result<(), Failure> {
        for _ in 0..TRIES {
            let Some(now) = self.workload(workload).await? else {
                return Ok(());
            };
            // What runs already is left as it is; the write then only proves that it does.
            let wanted = running(workload, &now).max(workload.replicas);
            match self.switch(workload, &now, wanted).await {
                Err(error) if error.is_conflict() => {}
                other => return other,
            }
        }
        Err(Failure::Stopped(
            "the workload is changed by somebody else".to_owned(),
        ))
    }

    async fn workload(&self, workload: &Workload) -> Result<Option<Value>, Failure> {
        let Some(of) = collection(workload) else {
            return Ok(None);
        };
        let place = Some(workload.namespace.as_str());
        Ok(self.objects().get(of, place, &workload.name).await?)
    }

    /// Writes how much of a workload is to run, with the version that was read: an old answer does
    /// not pass for the truth, even when nothing changes.
    async fn switch(&self, workload: &Workload, now: &Value, replicas: u64) -> Result<(), Failure> {
        let Some(of) = collection(workload) else {
            return Ok(());
        };
        let spec = match workload.pause {
            Pause::Suspend => json!({"suspend": replicas == 0}),
            Pause::Scale | Pause::ByHand => json!({"replicas": replicas}),
        };
        let patch = json!({"metadata": {"resourceVersion": version(now)}, "spec": spec});
        let place = Some(workload.namespace.as_str());
        self.objects()
            .merge(of, place, &workload.name, &patch)
            .await?;
        Ok(())
    }
}

fn collection(workload: &Workload) -> Option<&'static Collection> {
    match (workload.pause, workload.kind.as_str()) {
        (Pause::Scale, "StatefulSet") => Some(&STATEFUL_SETS),
        (Pause::Scale, "Deployment") => Some(&DEPLOYMENTS),
        (Pause::Scale, "ReplicaSet") => Some(&REPLICA_SETS),
        (Pause::Suspend, "CronJob") => Some(&CRON_JOBS),
        _ => None,
    }
}

/// How much of a workload runs.
fn running(workload: &Workload, now: &Value) -> u64 {
    match workload.pause {
        Pause::Scale => now
            .pointer("/spec/replicas")
            .and_then(Value::as_u64)
            .unwrap_or(1),
        Pause::Suspend => u64::from(now.pointer("/spec/suspend") != Some(&Value::Bool(true))),
        Pause::ByHand => 0,
    }
}
