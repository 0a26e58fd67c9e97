//! SKUs of storage accounts, and what each means for shares.

use std::fmt;

use azcsi_types::size::GiB;

/// How a share of a SKU is billed, which decides its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Billing {
    /// By use.
    PayAsYouGo,
    /// By size, on SSD.
    ProvisionedV1,
    /// By size, IOPS and bandwidth.
    ProvisionedV2,
}

/// The SKU of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sku(&'static str);

const NAMES: [&str; 14] = [
    "Standard_LRS",
    "Standard_ZRS",
    "Standard_GRS",
    "Standard_GZRS",
    "Standard_RAGRS",
    "Standard_RAGZRS",
    "Premium_LRS",
    "Premium_ZRS",
    "PremiumV2_LRS",
    "PremiumV2_ZRS",
    "StandardV2_LRS",
    "StandardV2_ZRS",
    "StandardV2_GRS",
    "StandardV2_GZRS",
];

impl Sku {
    /// What a class without one gets.
    pub const STANDARD: Self = Self("Standard_LRS");
    /// What a class for NFS without one gets.
    pub const PREMIUM: Self = Self("Premium_LRS");

    /// Every SKU, by the word of parameters.
    #[must_use]
    pub fn words() -> Vec<(&'static str, Self)> {
        NAMES.iter().map(|name| (*name, Self(name))).collect()
    }

    /// The SKU of a name; `None` for one not known here.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut names = NAMES.iter();
        let found = names.find(|known| known.eq_ignore_ascii_case(name));
        found.map(|known| Self(known))
    }

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// How its shares are billed.
    #[must_use]
    pub fn billing(self) -> Billing {
        if self.0.contains("V2_") {
            Billing::ProvisionedV2
        } else if self.is_premium() {
            Billing::ProvisionedV1
        } else {
            Billing::PayAsYouGo
        }
    }

    /// Whether it is on SSD.
    #[must_use]
    pub fn is_premium(self) -> bool {
        self.0.starts_with("Premium")
    }

    /// The kind of account that has it.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self.billing() {
            Billing::PayAsYouGo => "StorageV2",
            Billing::ProvisionedV1 | Billing::ProvisionedV2 => "FileStorage",
        }
    }

    /// Smallest and largest share (Azure Files scale targets).
    #[must_use]
    pub fn sizes(self) -> (GiB, GiB) {
        let (least, most) = match self.billing() {
            Billing::PayAsYouGo => (1, 102_400),
            Billing::ProvisionedV1 => (100, 102_400),
            Billing::ProvisionedV2 => (32, 262_144),
        };
        (GiB::new(least), GiB::new(most))
    }

    /// The IOPS and MiB/s that the service gives a share of a size by itself; `None` where they
    /// cannot be set.
    #[must_use]
    pub fn performance(self, size: GiB) -> Option<(u64, u64)> {
        if self.billing() != Billing::ProvisionedV2 {
            return None;
        }
        let size = u64::from(size.get());
        Some(if self.is_premium() {
            (
                (3000 + size).min(102_400),
                (100 + size.div_ceil(10)).min(10_340),
            )
        } else {
            (
                (1000 + size.div_ceil(5)).min(50_000),
                (60 + size.div_ceil(50)).min(5120),
            )
        })
    }

    /// How many shares an account of it holds (Azure Files scale targets); `None` for no limit.
    #[must_use]
    pub fn most_shares(self) -> Option<usize> {
        match self.billing() {
            Billing::PayAsYouGo => None,
            Billing::ProvisionedV1 => Some(1024),
            Billing::ProvisionedV2 => Some(50),
        }
    }
}

/// The size of a share for which none was asked.
pub const DEFAULT_SIZE: GiB = GiB::new(100);

impl fmt::Display for Sku {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use azcsi_types::size::GiB;

    use super::Sku;

    #[test]
    fn sku_decides_kind_and_least_size_pr_19() {
        for (name, kind, least) in [
            ("standard_lrs", "StorageV2", 1),
            ("Standard_RAGZRS", "StorageV2", 1),
            ("Premium_ZRS", "FileStorage", 100),
            ("PremiumV2_LRS", "FileStorage", 32),
            ("StandardV2_GZRS", "FileStorage", 32),
        ] {
            let sku = Sku::named(name).unwrap();
            assert_eq!((sku.kind(), sku.sizes().0.get()), (kind, least), "{name}");
        }
        assert_eq!(Sku::named("Ultra"), None);
    }

    #[test]
    fn defaults_of_provisioned_v2_are_inside_its_limits_pr_10() {
        for name in ["PremiumV2_LRS", "StandardV2_LRS"] {
            let sku = Sku::named(name).unwrap();
            let (iops, mibps) = if sku.is_premium() {
                (102_400, 10_340)
            } else {
                (50_000, 5120)
            };
            for size in [32, 33, 100, 1024, 65_536, 262_144] {
                let (i, m) = sku.performance(GiB::new(size)).unwrap();
                assert!(
                    i >= 1000 && i <= iops && m >= 60 && m <= mibps,
                    "{name} {size}"
                );
            }
        }
        assert_eq!(Sku::PREMIUM.performance(GiB::new(100)), None);
    }
}
