//! The combinations in which the suite runs, and which of them belong to which selection.

use std::fmt;

use azcsi_rig::rig::{Topology, Zones};

/// `-csi.testvolumeaccesstype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A filesystem on the disk.
    Filesystem,
    /// The raw device.
    Block,
}

/// How the machine is managed; each kind has its own form of instance id and of ARM path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Instance of a uniform scale set.
    Uniform,
    /// Machine of a flexible scale set.
    Flex,
    /// A machine of its own.
    Standalone,
}

/// How slow the local Azure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Everything is done at once.
    Instant,
    /// Documented latencies and limits, in faster time.
    Azure,
}

/// What is asked of the volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// 10 GiB for a machine in no zone, and a class that changes the SKU.
    Usual,
    /// 1 GiB, the smallest disk, zone-redundant, for a machine in a zone. The suite asks for no
    /// topology in most of its specs, so a disk that is in one zone would often be in no zone.
    Zonal,
    /// No file of mutable parameters: changes without content must be accepted.
    NoClass,
}

/// One world, one set of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Combination {
    /// Which service runs where.
    pub(crate) topology: Topology,
    /// Filesystem or device.
    pub(crate) access: Access,
    /// Kind of machine.
    pub(crate) kind: Kind,
    /// Speed of Azure.
    pub(crate) profile: Profile,
    /// What is asked of the volumes.
    pub(crate) variant: Variant,
    /// How often the suite runs in this same world, each time in another order. A second run sees
    /// what the first one left behind.
    pub(crate) runs: u32,
}

impl Kind {
    /// As the simulator calls it.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Flex => "flex",
            Self::Standalone => "standalone",
        }
    }
}

impl Profile {
    /// As the simulator calls it.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Azure => "azure",
        }
    }

    /// Simulated seconds in a real one.
    #[must_use]
    pub(crate) const fn time_scale(self) -> u32 {
        match self {
            Self::Instant => 1,
            Self::Azure => 20,
        }
    }
}

impl Variant {
    /// Where the machine is.
    #[must_use]
    pub(crate) const fn zones(self) -> Zones {
        match self {
            Self::Zonal => Zones::First,
            Self::Usual | Self::NoClass => Zones::Regional,
        }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topology = match self.topology {
            Topology::Separate => "separate",
            Topology::Combined => "combined",
        };
        let access = match self.access {
            Access::Filesystem => "filesystem",
            Access::Block => "block",
        };
        let variant = match self.variant {
            Variant::Usual => "",
            Variant::Zonal => "-zonal",
            Variant::NoClass => "-noclass",
        };
        let (kind, profile) = (self.kind.name(), self.profile.name());
        write!(f, "{topology}-{access}-{kind}-{profile}{variant}")
    }
}

const FIRST: Combination = Combination {
    topology: Topology::Separate,
    access: Access::Filesystem,
    kind: Kind::Uniform,
    profile: Profile::Instant,
    variant: Variant::Usual,
    runs: 1,
};

/// Every value of every column once, and every topology with every access: for each change.
#[must_use]
pub(crate) fn quick() -> Vec<Combination> {
    vec![
        Combination { runs: 2, ..FIRST },
        Combination {
            topology: Topology::Combined,
            access: Access::Block,
            kind: Kind::Flex,
            variant: Variant::Zonal,
            ..FIRST
        },
        Combination {
            access: Access::Block,
            kind: Kind::Standalone,
            variant: Variant::NoClass,
            ..FIRST
        },
        Combination {
            topology: Topology::Combined,
            kind: Kind::Flex,
            profile: Profile::Azure,
            ..FIRST
        },
    ]
}

/// All of them, the variants, and twenty orders in one world.
#[must_use]
pub(crate) fn full() -> Vec<Combination> {
    let mut all = Vec::new();
    for profile in [Profile::Instant, Profile::Azure] {
        for topology in [Topology::Separate, Topology::Combined] {
            for access in [Access::Filesystem, Access::Block] {
                for kind in [Kind::Uniform, Kind::Flex, Kind::Standalone] {
                    all.push(Combination {
                        topology,
                        access,
                        kind,
                        profile,
                        ..FIRST
                    });
                }
            }
        }
    }
    for variant in [Variant::Zonal, Variant::NoClass] {
        all.push(Combination { variant, ..FIRST });
    }
    if let Some(first) = all.first_mut() {
        first.runs = 20;
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_quick_selection_meets_every_value_and_every_topology_with_every_access() {
        let quick = quick();
        let pairs: BTreeSet<_> = quick
            .iter()
            .map(|c| (c.topology == Topology::Combined, c.access == Access::Block))
            .collect();
        let kinds: BTreeSet<_> = quick.iter().map(|c| c.kind.name()).collect();
        let profiles: BTreeSet<_> = quick.iter().map(|c| c.profile.name()).collect();
        assert_eq!((pairs.len(), kinds.len(), profiles.len()), (4, 3, 2));
    }

    #[test]
    fn the_full_selection_names_each_combination_once_and_repeats_twenty_orders() {
        let full = full();
        let names: BTreeSet<_> = full.iter().map(ToString::to_string).collect();
        assert_eq!((names.len(), full.len()), (26, 26));
        assert_eq!(full.iter().map(|c| c.runs).max(), Some(20));
    }
}
