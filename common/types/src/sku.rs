//! Disk SKUs and what each allows.
//!
//! Size limits and sharing limits are those of the REST reference and of the managed-disk pages.
//! They serve early, clear refusals; the service itself has the last word.

use std::fmt;
use std::str::FromStr;

use crate::access::MaxShares;
use crate::size::GiB;

/// The SKU of a managed disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DiskSku {
    /// Standard HDD.
    StandardLrs,
    /// Standard SSD, copies in one zone.
    StandardSsdLrs,
    /// Standard SSD, copies in three zones.
    StandardSsdZrs,
    /// Premium SSD, copies in one zone.
    PremiumLrs,
    /// Premium SSD, copies in three zones.
    PremiumZrs,
    /// Premium SSD v2.
    PremiumV2Lrs,
    /// Ultra disk.
    UltraSsdLrs,
}

/// Why a text is not a disk SKU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a disk SKU: expected one of {list}", list = DiskSku::NAMES)]
pub struct NotASku(String);

impl DiskSku {
    /// Every SKU.
    pub const ALL: [Self; 7] = [
        Self::StandardLrs,
        Self::StandardSsdLrs,
        Self::StandardSsdZrs,
        Self::PremiumLrs,
        Self::PremiumZrs,
        Self::PremiumV2Lrs,
        Self::UltraSsdLrs,
    ];

    /// Every name, for messages.
    pub const NAMES: &'static str = "Standard_LRS, StandardSSD_LRS, StandardSSD_ZRS, Premium_LRS, Premium_ZRS, PremiumV2_LRS, UltraSSD_LRS";

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StandardLrs => "Standard_LRS",
            Self::StandardSsdLrs => "StandardSSD_LRS",
            Self::StandardSsdZrs => "StandardSSD_ZRS",
            Self::PremiumLrs => "Premium_LRS",
            Self::PremiumZrs => "Premium_ZRS",
            Self::PremiumV2Lrs => "PremiumV2_LRS",
            Self::UltraSsdLrs => "UltraSSD_LRS",
        }
    }

    /// Whether the copies lie in three zones, so that the disk is reachable from each.
    #[must_use]
    pub const fn is_zone_redundant(self) -> bool {
        matches!(self, Self::StandardSsdZrs | Self::PremiumZrs)
    }

    /// Whether IOPS and throughput are bought apart from the size, and can be changed.
    #[must_use]
    pub const fn has_provisioned_performance(self) -> bool {
        matches!(self, Self::PremiumV2Lrs | Self::UltraSsdLrs)
    }

    /// Whether a host may cache it at all. Size and sharing can forbid it as well.
    #[must_use]
    pub const fn allows_host_caching(self) -> bool {
        !self.has_provisioned_performance()
    }

    /// Whether the machine size must support premium storage.
    #[must_use]
    pub const fn needs_premium_io(self) -> bool {
        matches!(
            self,
            Self::PremiumLrs | Self::PremiumZrs | Self::PremiumV2Lrs | Self::UltraSsdLrs
        )
    }

    /// Whether full snapshots do not exist for it.
    #[must_use]
    pub const fn needs_incremental_snapshots(self) -> bool {
        self.has_provisioned_performance()
    }

    /// Smallest size.
    #[must_use]
    pub const fn least(self) -> GiB {
        match self {
            Self::UltraSsdLrs => GiB::new(4),
            _ => GiB::new(1),
        }
    }

    /// Largest size.
    #[must_use]
    pub const fn most(self) -> GiB {
        match self {
            Self::PremiumV2Lrs | Self::UltraSsdLrs => GiB::new(65536),
            _ => GiB::new(32767),
        }
    }

    /// How many machines may hold a disk of this SKU and size.
    #[must_use]
    pub fn max_shares(self, size: GiB) -> MaxShares {
        let gib = size.get();
        let count = match self {
            Self::PremiumV2Lrs | Self::UltraSsdLrs => 15,
            Self::StandardLrs => match gib {
                0..=256 => 1,
                257..=512 => 2,
                _ => 5,
            },
            Self::StandardSsdLrs | Self::StandardSsdZrs | Self::PremiumLrs | Self::PremiumZrs => {
                match gib {
                    0..=512 => 3,
                    513..=4096 => 5,
                    _ => 10,
                }
            }
        };
        MaxShares::new(count).unwrap_or(MaxShares::ONE)
    }
}

impl FromStr for DiskSku {
    type Err = NotASku;

    fn from_str(text: &str) -> Result<Self, NotASku> {
        Self::ALL
            .into_iter()
            .find(|sku| sku.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| {
                NotASku(
                    text.chars()
                        .take(80)
                        .collect::<String>()
                        .escape_debug()
                        .to_string(),
                )
            })
    }
}

impl fmt::Display for DiskSku {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a host caches a data disk (REST reference, `CachingTypes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caching {
    /// Not at all.
    None,
    /// Reads.
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
}

/// From this size on, hosts do not cache.
pub const NO_CACHING_FROM: GiB = GiB::new(4096);

impl Caching {
    /// Every mode by its name on the wire.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("None", Self::None),
        ("ReadOnly", Self::ReadOnly),
        ("ReadWrite", Self::ReadWrite),
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::ReadOnly => "ReadOnly",
            Self::ReadWrite => "ReadWrite",
        }
    }

    /// What of the wish the platform can do for such a disk.
    #[must_use]
    pub fn on(self, sku: DiskSku, size: GiB, shares: MaxShares) -> Self {
        let possible = sku.allows_host_caching() && size < NO_CACHING_FROM && !shares.is_shared();
        if possible { self } else { Self::None }
    }
}

impl FromStr for Caching {
    type Err = NotACaching;

    fn from_str(text: &str) -> Result<Self, NotACaching> {
        Self::WORDS
            .into_iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(text.trim()))
            .map(|(_, caching)| caching)
            .ok_or_else(|| {
                NotACaching(
                    text.chars()
                        .take(80)
                        .collect::<String>()
                        .escape_debug()
                        .to_string(),
                )
            })
    }
}

impl fmt::Display for Caching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a text is not a caching mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a caching mode: expected None, ReadOnly or ReadWrite")]
pub struct NotACaching(String);

#[cfg(test)]
mod tests;
