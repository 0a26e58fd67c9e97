//! Zones, and the topology segments of CSI.

use std::fmt;
use std::str::FromStr;

/// A region, in the one form Azure compares: lower case, no spaces (`East US 2` is `eastus2`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region(Box<str>);

/// Why a text is not a region.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an Azure region: expected letters and digits, such as eastus2")]
pub struct NotARegion(String);

impl Region {
    /// The normal form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Region {
    type Err = NotARegion;

    fn from_str(text: &str) -> Result<Self, NotARegion> {
        let name: String = text
            .chars()
            .filter(|c| *c != ' ')
            .map(|c| c.to_ascii_lowercase())
            .collect();
        if name.is_empty() || name.len() > 60 || !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(NotARegion(
                text.chars()
                    .take(80)
                    .collect::<String>()
                    .escape_debug()
                    .to_string(),
            ));
        }
        Ok(Self(name.into()))
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An availability zone: `<region>-<number>`, as node labels carry it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Zone {
    region: Region,
    number: u8,
}

/// Why a text is not a zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an availability zone: expected <region>-<number>, such as eastus2-1")]
pub struct NotAZone(String);

impl Zone {
    /// A zone by its logical number in the subscription, 1 to 9.
    #[must_use]
    pub fn new(region: Region, number: u8) -> Option<Self> {
        (1..=9).contains(&number).then_some(Self { region, number })
    }

    /// The region that it lies in.
    #[must_use]
    pub const fn region(&self) -> &Region {
        &self.region
    }

    /// The number, as the ARM property `zones` carries it.
    #[must_use]
    pub const fn number(&self) -> u8 {
        self.number
    }
}

impl FromStr for Zone {
    type Err = NotAZone;

    fn from_str(text: &str) -> Result<Self, NotAZone> {
        let parse = || {
            let (region, number) = text.rsplit_once('-')?;
            Self::new(region.parse().ok()?, number.parse().ok()?)
        };
        parse().ok_or_else(|| {
            NotAZone(
                text.chars()
                    .take(80)
                    .collect::<String>()
                    .escape_debug()
                    .to_string(),
            )
        })
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.region, self.number)
    }
}

/// Where something can be reached: one zone, or the machines that are in none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// In this zone.
    Zonal(Zone),
    /// On machines without a zone; written as an empty label value.
    Regional,
}

impl Place {
    /// The value of the driver's topology key.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Zonal(zone) => zone.to_string(),
            Self::Regional => String::new(),
        }
    }

    /// Reads the value of a topology key. What is no zone (old clusters put fault domain numbers
    /// there) means a machine without one.
    #[must_use]
    pub fn from_label(value: &str) -> Self {
        value.parse().map_or(Self::Regional, Self::Zonal)
    }
}

/// What the scheduler asks of a new volume (CSI, `TopologyRequirement`): segments as key and value.
pub type Segments = std::collections::BTreeMap<String, String>;

#[cfg(test)]
mod tests {
    use super::{Place, Region, Zone};
    use proptest::prelude::*;

    #[test]
    fn regions_compare_in_one_form() {
        assert_eq!(
            "West Europe".parse::<Region>().unwrap(),
            "westeurope".parse().unwrap()
        );
        for bad in ["", " ", "west-europe", "eu/west", "ä"] {
            assert!(bad.parse::<Region>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_fault_domain_is_not_a_zone() {
        for value in [
            "",
            "0",
            "1",
            "eastus2-",
            "-1",
            "eastus2-0",
            "eastus2-x",
            "eastus2-10",
        ] {
            assert_eq!(Place::from_label(value), Place::Regional, "{value:?}");
        }
        assert_eq!(Place::from_label("eastus2-1").label(), "eastus2-1");
    }

    proptest! {
        #[test]
        fn zones_round_trip(region in "[a-z]{2,20}[0-9]?", number in 1_u8..=9) {
            let zone = Zone::new(region.parse().unwrap(), number).unwrap();
            prop_assert_eq!(zone.to_string().parse::<Zone>().unwrap(), zone);
        }
    }
}
