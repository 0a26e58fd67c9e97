//! Conversions of disks to Premium v2 run for hours in the background. This watches them and tells
//! users how far they are; no call waits for it.
//!
//! A mark on the PersistentVolume says that a conversion is watched and by whom, so that it is
//! watched further after a restart, and by one process of several.

pub mod progress;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azcsi_cloud::{Azure, Disk};
use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::report;
use azcsi_types::op::Op;
use azcsi_types::sku::DiskSku;

use super::Controller;
use super::ports::{ConversionMarks, Hold};
use crate::model::params::DiskParams;
use crate::notices::{Notice, Notices, Severity, Subject};
use progress::{Limits, Progress, Say, Seen};

/// Time between two looks at a disk.
const LOOK: Duration = Duration::from_secs(60);
/// Looks between two renewals of the mark.
const RENEWAL: u32 = 5;
/// When conversions of an earlier process are looked for: first, and then again and again.
const RECOVERY: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(600));
/// Time for one request.
const PATIENCE: Duration = Duration::from_secs(60);

/// One conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The disk.
    pub disk: DiskUri,
    /// What it was, or what it is made from; `None` if that is not known any more.
    pub from: Option<String>,
    /// Namespace and name of the claim, where there is no PersistentVolume yet.
    pub claim: Option<(String, String)>,
}

/// What every conversion becomes.
const TO: DiskSku = DiskSku::PremiumV2Lrs;

/// Whether making or changing a disk is a conversion that runs on in the background.
#[must_use]
pub fn is_conversion(from: Option<&str>, to: DiskSku) -> bool {
    to == TO && from.is_some_and(|from| !from.eq_ignore_ascii_case(TO.as_str()))
}

impl Controller {
    /// Watches a new disk that is still being filled from a source of another kind.
    pub(super) fn watch_conversion(&self, disk: &DiskUri, from: Option<&str>, params: &DiskParams) {
        let claim = params
            .claim
            .namespace
            .clone()
            .zip(params.claim.name.clone());
        self.watch((disk, claim), from, params.sku);
    }

    /// Watches a disk that was changed to another kind.
    pub(super) fn watch_change(&self, disk: &DiskUri, from: Option<&str>, to: Option<DiskSku>) {
        if let Some(to) = to {
            self.watch((disk, None), from, to);
        }
    }

    fn watch(
        &self,
        (disk, claim): (&DiskUri, Option<(String, String)>),
        from: Option<&str>,
        to: DiskSku,
    ) {
        if let Some(migration) = self.migration.as_ref().filter(|_| is_conversion(from, to)) {
            migration.start(Conversion {
                disk: disk.clone(),
                from: from.map(str::to_owned),
                claim,
            });
        }
    }
}

/// What the watcher works with.
#[derive(Debug)]
struct Shared {
    azure: Azure,
    marks: Arc<dyn ConversionMarks>,
    notices: Arc<dyn Notices>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    running: Mutex<HashSet<String>>,
}

/// The watcher.
#[derive(Clone, Debug)]
pub struct SkuMigration(Arc<Shared>);

impl SkuMigration {
    /// Over Azure and the marks of the cluster.
    #[must_use]
    pub fn new(
        azure: Azure,
        marks: Arc<dyn ConversionMarks>,
        notices: Arc<dyn Notices>,
        clock: Arc<dyn Clock>,
        limits: Limits,
    ) -> Self {
        Self(Arc::new(Shared {
            azure,
            marks,
            notices,
            clock,
            limits,
            running: Mutex::default(),
        }))
    }

    /// Begins to watch a conversion, unless that is done already.
    pub fn start(&self, conversion: Conversion) {
        let key = conversion.disk.folded();
        if !self.0.lock().insert(key.clone()) {
            return;
        }
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            Box::pin(shared.watch(&conversion)).await;
            shared.lock().remove(&key);
        });
    }

    /// Watches again, for ever, what a process that ended has left.
    pub async fn recover(self) {
        let (first, pause) = RECOVERY;
        tokio::time::sleep(first).await;
        loop {
            match self.0.marks.unwatched().await {
                Ok(disks) => disks.into_iter().for_each(|disk| {
                    self.start(Conversion {
                        disk,
                        from: None,
                        claim: None,
                    });
                }),
                Err(error) => tracing::warn!("conversions: {}", report(&error)),
            }
            tokio::time::sleep(pause).await;
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn watch(&self, conversion: &Conversion) {
        let begin = self.clock.now();
        let mut progress = Progress::default();
        if let Some(from) = &conversion.from {
            let text = format!("the disk is converted from {from} to {TO} in the background");
            self.tell(conversion, "SKUMigrationStarted", Severity::Normal, &text);
        }
        for look in 0.. {
            // The PersistentVolume of a new disk comes later; until then nobody else knows of it.
            if look % RENEWAL == 0 && self.hold(&conversion.disk).await == Hold::Others {
                return;
            }
            if let Some(disk) = self.look(&conversion.disk).await {
                let seen = Seen::of(disk.as_ref(), TO);
                let size = disk.as_ref().and_then(Disk::size).unwrap_or_default();
                let elapsed = self.clock.now().saturating_sub(begin);
                let say = progress.look(seen, size, elapsed, &self.limits);
                self.say(conversion, say, elapsed);
                if matches!(say, Say::Done | Say::GiveUp) {
                    break;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
        if let Err(error) = self.marks.release(&conversion.disk).await {
            tracing::warn!(disk = %conversion.disk, "{}", report(&error));
        }
    }

    async fn hold(&self, disk: &DiskUri) -> Hold {
        self.marks.hold(disk).await.unwrap_or_else(|error| {
            tracing::warn!(%disk, "{}", report(&error));
            Hold::Ours
        })
    }

    /// The disk; `None` when nothing is known. The inner `None` says that it is gone.
    async fn look(&self, uri: &DiskUri) -> Option<Option<Disk>> {
        let id = uuid::Uuid::new_v4().to_string();
        let op = Op::start(id, Deadline::after(&*self.clock, PATIENCE));
        match self.azure.disks().get(&op, uri).await {
            Ok(disk) => Some(Some(disk)),
            Err(error) if error.is_not_found() => Some(None),
            Err(error) => {
                tracing::warn!(disk = %uri, "{}", report(&error));
                None
            }
        }
    }

    fn say(&self, conversion: &Conversion, say: Say, elapsed: Duration) {
        let minutes = elapsed.as_secs() / 60;
        let (reason, severity, text) = match say {
            Say::Nothing => return,
            Say::Progress(percent) => (
                "SKUMigrationProgress",
                Severity::Normal,
                format!("the conversion to {TO} has reached {percent} percent"),
            ),
            Say::Done => (
                "SKUMigrationCompleted",
                Severity::Normal,
                format!("the disk is {TO} now; the conversion was watched for {minutes} minutes"),
            ),
            Say::Late => (
                "SKUMigrationTimeout",
                Severity::Warning,
                format!(
                    "the conversion to {TO} is not done after {minutes} minutes; it goes on, and \
                     the volume can be used meanwhile"
                ),
            ),
            Say::GiveUp => (
                "SKUMigrationTimeout",
                Severity::Warning,
                format!(
                    "the conversion to {TO} is not watched any longer after {minutes} minutes: look \
                     at completionPercent of the disk in Azure"
                ),
            ),
        };
        self.tell(conversion, reason, severity, &text);
    }

    fn tell(&self, conversion: &Conversion, reason: &'static str, severity: Severity, text: &str) {
        let subject = match &conversion.claim {
            Some((namespace, name)) => Subject::Claim {
                namespace: namespace.clone(),
                name: name.clone(),
            },
            None => Subject::Volume(conversion.disk.clone()),
        };
        self.notices.tell(Notice {
            subject,
            severity,
            reason,
            text: format!("volume {}: {text}", conversion.disk),
        });
    }
}
