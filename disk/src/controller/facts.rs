//! What is known about disks without asking again: bounded, and never the only ground for a write.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azcsi_cloud::Disk;
use azcsi_types::access::MaxShares;
use azcsi_types::clock::Clock;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::keys::tag;
use azcsi_types::size::GiB;
use azcsi_types::sku::DiskSku;

use crate::model::tags;

/// Most disks that are remembered.
const MOST: usize = 20_000;
/// For how long.
const AGE: Duration = Duration::from_secs(300);

/// What does not change behind the driver's back, or only in a harmless direction.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskFacts {
    /// Stays with the disk; a new disk of the same name has another one.
    pub unique_id: Option<String>,
    /// Its size at least.
    pub size: GiB,
    /// Its SKU, if the suite knows it.
    pub sku: Option<DiskSku>,
    /// How many machines may hold it.
    pub shares: MaxShares,
    /// Whether its tag asks for the write accelerator.
    pub write_accelerator: bool,
    /// What static volumes are told about their disk.
    pub properties: Vec<(&'static str, String)>,
}

impl DiskFacts {
    /// The facts in an answer of Azure; `None` if the answer is not complete.
    #[must_use]
    pub fn of(disk: &Disk) -> Option<Self> {
        let shares = MaxShares::new(disk.max_shares().into()).unwrap_or(MaxShares::ONE);
        Some(Self {
            unique_id: disk.properties.unique_id.clone(),
            size: disk.size()?,
            sku: disk.sku(),
            shares,
            write_accelerator: tags::find(&disk.tags, tag::WRITE_ACCELERATOR)
                .is_some_and(|value| value.eq_ignore_ascii_case("true")),
            properties: properties(disk),
        })
    }
}

/// The keys are those that controllers always wrote for static volumes.
fn properties(disk: &Disk) -> Vec<(&'static str, String)> {
    let own = &disk.properties;
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let set = own.encryption.as_ref();
    let set = set.and_then(|encryption| encryption.disk_encryption_set_id.as_ref());
    [
        ("skuname", disk.sku.as_ref().map(|sku| sku.name.clone())),
        ("networkaccesspolicy", own.network_access_policy.clone()),
        ("diskiopsreadwrite", number(own.disk_iops_read_write)),
        ("diskmbpsreadwrite", number(own.disk_mbps_read_write)),
        (
            "logicalsectorsize",
            number(own.creation_data.logical_sector_size.map(u64::from)),
        ),
        ("diskencryptionsetid", set.map(ToString::to_string)),
        ("maxshares", number(own.max_shares.map(u64::from))),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)))
    .collect()
}

type Remembered = HashMap<String, (Duration, Arc<DiskFacts>)>;

/// The memory.
#[derive(Debug)]
pub struct FactsCache {
    clock: Arc<dyn Clock>,
    disks: Mutex<Remembered>,
}

impl FactsCache {
    /// An empty memory.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            disks: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.disks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered of a disk, if it is not too old.
    #[must_use]
    pub fn get(&self, disk: &DiskUri) -> Option<Arc<DiskFacts>> {
        let now = self.clock.now();
        let disks = self.lock();
        let (at, facts) = disks.get(&disk.folded())?;
        (now.saturating_sub(*at) < AGE).then(|| Arc::clone(facts))
    }

    /// Remembers an answer of Azure.
    pub fn put(&self, uri: &DiskUri, disk: &Disk) -> Option<Arc<DiskFacts>> {
        let facts = Arc::new(DiskFacts::of(disk)?);
        let now = self.clock.now();
        let mut disks = self.lock();
        if disks.len() >= MOST {
            disks.retain(|_, (at, _)| now.saturating_sub(*at) < AGE);
        }
        if disks.len() < MOST {
            disks.insert(uri.folded(), (now, Arc::clone(&facts)));
        }
        Some(facts)
    }

    /// Forgets a disk, because something about it turned out to be different.
    pub fn forget(&self, disk: &DiskUri) {
        self.lock().remove(&disk.folded());
    }
}
