//! What a subscription may hold: documented limits, which a support request would raise in Azure.

use std::str::FromStr;

use crate::compute::skus;
use crate::error::ArmError;
use crate::state::{Profile, State};
use crate::world::{Disk, Snapshot, key};

/// Most of each. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Disks of one type in a region.
    pub disks: Option<u64>,
    /// Snapshots of one type in a region.
    pub snapshots: Option<u64>,
    /// GiB of Ultra disks in a region, and of Premium SSD v2 disks.
    pub gib: Option<u64>,
}

/// A text that names no quotas.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not none, azure, or a list such as disks=10,snapshots=20,gib=1024")]
pub struct BadQuotas(String);

impl Quotas {
    /// Those of a new subscription.
    #[must_use]
    pub const fn azure() -> Self {
        Self {
            disks: Some(50_000),
            snapshots: Some(75_000),
            gib: Some(100 * 1024),
        }
    }

    /// Those that go with a profile: none where everything is instant.
    #[must_use]
    pub fn of(profile: Profile) -> Self {
        match profile {
            Profile::Instant => Self::default(),
            Profile::Azure => Self::azure(),
            Profile::Stress => Self {
                disks: Some(5000),
                snapshots: Some(7500),
                gib: Some(10 * 1024),
            },
        }
    }
}

impl FromStr for Quotas {
    type Err = BadQuotas;

    fn from_str(text: &str) -> Result<Self, BadQuotas> {
        match text {
            "none" => return Ok(Self::default()),
            "azure" => return Ok(Self::azure()),
            _ => {}
        }
        let bad = || BadQuotas(text.to_owned());
        let mut quotas = Self::default();
        for pair in text.split(',') {
            let (name, count) = pair.split_once('=').ok_or_else(bad)?;
            let place = match name.trim() {
                "disks" => &mut quotas.disks,
                "snapshots" => &mut quotas.snapshots,
                "gib" => &mut quotas.gib,
                _ => return Err(bad()),
            };
            *place = Some(count.trim().parse().map_err(|_| bad())?);
        }
        Ok(quotas)
    }
}

/// The subscription of an id, as it is compared.
fn subscription(id: &str) -> String {
    key(id).split('/').nth(2).unwrap_or_default().to_owned()
}

/// How a type is called in the list of usages, without `Count`.
fn family(sku: &str) -> &'static str {
    match sku {
        "UltraSSD_LRS" => "UltraSSDDisk",
        "PremiumV2_LRS" => "PremiumV2Disk",
        _ if sku.starts_with("Premium") => "PremiumDisk",
        _ if sku.starts_with("StandardSSD") => "StandardSSDDisk",
        _ => "StandardDisk",
    }
}

fn refuse(name: &str, location: &str, (limit, used, more): (u64, u64, u64)) -> ArmError {
    let message = format!(
        "Operation could not be completed as it results in exceeding approved {name} quota. \
         Location: {location}, Current Limit: {limit}, Current Usage: {used}, Additional Required: {more}."
    );
    ArmError::conflict("OperationNotAllowed", message)
}

fn room(
    name: &str,
    location: &str,
    (limit, used, more): (Option<u64>, impl FnOnce() -> u64, u64),
) -> Result<(), ArmError> {
    let Some(limit) = limit.filter(|_| more > 0) else {
        return Ok(());
    };
    let used = used();
    if used.saturating_add(more) <= limit {
        return Ok(());
    }
    Err(refuse(name, location, (limit, used, more)))
}

/// Whether a disk may become what it is to be; `before` is what it is now.
pub(crate) fn disk(state: &State, before: Option<&Disk>, after: &Disk) -> Result<(), ArmError> {
    let quotas = state.knobs.quotas;
    let kind = family(&after.sku);
    let owner = subscription(&after.id);
    let same = |disk: &&Disk| {
        disk.location == after.location
            && family(&disk.sku) == kind
            && subscription(&disk.id) == owner
    };
    let was = before.filter(same);
    let others = || state.world.disks.values().filter(same);
    let count = || u64::try_from(others().count()).unwrap_or(u64::MAX);
    let more = u64::from(was.is_none());
    let name = format!("{kind}Count");
    room(&name, &after.location, (quotas.disks, count, more))?;
    if !skus::is_flexible(&after.sku) {
        return Ok(());
    }
    let size = || others().map(|disk| disk.gib).sum();
    let more = after.gib.saturating_sub(was.map_or(0, |disk| disk.gib));
    let name = format!("{kind}SizeInGB");
    room(&name, &after.location, (quotas.gib, size, more))
}

/// Whether there may be one more snapshot.
pub(crate) fn snapshot(state: &State, new: &Snapshot) -> Result<(), ArmError> {
    let owner = subscription(&new.id);
    let same = |other: &&Snapshot| {
        other.location == new.location && other.sku == new.sku && subscription(&other.id) == owner
    };
    let used = || state.world.snapshots.values().filter(same).count();
    let used = || u64::try_from(used()).unwrap_or(u64::MAX);
    let kind = new.sku.split('_').next().unwrap_or_default();
    let kind = if new.sku.ends_with("_ZRS") {
        "ZRS"
    } else {
        kind
    };
    let name = format!("{kind}StorageSnapshots");
    room(
        &name,
        &new.location,
        (state.knobs.quotas.snapshots, used, 1),
    )
}

#[cfg(test)]
mod tests {
    use super::Quotas;

    #[test]
    fn quotas_are_read_and_nonsense_is_refused() {
        assert_eq!("none".parse(), Ok(Quotas::default()));
        assert_eq!("azure".parse(), Ok(Quotas::azure()));
        let some = Quotas {
            disks: Some(2),
            gib: Some(7),
            ..Quotas::default()
        };
        assert_eq!("disks=2, gib=7".parse(), Ok(some));
        for bad in ["", "disks", "disks=", "disks=-1", "cores=1", "disks=1,"] {
            assert!(bad.parse::<Quotas>().is_err(), "{bad}");
        }
    }
}
