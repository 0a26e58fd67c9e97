//! Which API version each group of resource types is spoken to in, by cloud.

use std::collections::BTreeMap;

/// The canonical name of the cloud of China.
pub(super) const CHINA: &str = "AzureChinaCloud";

/// A group of resource types that share an API version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ApiFamily {
    /// Managed disks.
    Disks,
    /// Disk snapshots.
    Snapshots,
    /// Virtual machines.
    VirtualMachines,
    /// Scale sets.
    ScaleSets,
    /// Instances of Uniform scale sets.
    ScaleSetVms,
    /// The SKU catalogue.
    Skus,
    /// Storage accounts and their keys.
    StorageAccounts,
    /// File services, shares and share snapshots.
    FileShares,
    /// Virtual networks, subnets and private endpoints.
    Networks,
    /// Private DNS zones with their links and records.
    PrivateDns,
}

impl ApiFamily {
    /// Every family.
    pub const ALL: [Self; 10] = [
        Self::Disks,
        Self::Snapshots,
        Self::VirtualMachines,
        Self::ScaleSets,
        Self::ScaleSetVms,
        Self::Skus,
        Self::StorageAccounts,
        Self::FileShares,
        Self::Networks,
        Self::PrivateDns,
    ];

    /// The resource provider that serves it.
    #[must_use]
    pub const fn provider(self) -> &'static str {
        match self {
            Self::StorageAccounts | Self::FileShares => "Microsoft.Storage",
            Self::Networks | Self::PrivateDns => "Microsoft.Network",
            _ => "Microsoft.Compute",
        }
    }

    /// Whether it is a machine, which Azure counts one by one.
    #[must_use]
    pub const fn is_machine(self) -> bool {
        matches!(self, Self::VirtualMachines | Self::ScaleSetVms)
    }

    const fn modern(self) -> &'static str {
        match self {
            Self::Disks | Self::Snapshots => "2025-01-02",
            Self::VirtualMachines | Self::ScaleSets | Self::ScaleSetVms => "2025-04-01",
            Self::Skus => "2021-07-01",
            Self::StorageAccounts | Self::FileShares => "2025-01-01",
            Self::Networks => "2025-05-01",
            Self::PrivateDns => "2024-06-01",
        }
    }

    /// Where the cloud of China is behind the others.
    const fn china(self) -> &'static str {
        match self {
            Self::StorageAccounts | Self::FileShares => "2023-05-01",
            _ => self.modern(),
        }
    }

    const fn stack(self) -> &'static str {
        match self {
            Self::Disks | Self::Snapshots => "2019-03-01",
            Self::VirtualMachines => "2017-12-01",
            Self::ScaleSets | Self::ScaleSetVms => "2019-07-01",
            Self::Skus => "2017-09-01",
            Self::StorageAccounts => "2018-02-01",
            // Not offered there; a call gets Azure's own answer.
            Self::FileShares => self.modern(),
            Self::Networks => "2018-11-01",
            Self::PrivateDns => "2019-07-01",
        }
    }
}

/// Which versions a cloud has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Line {
    #[default]
    Modern,
    China,
    Stack,
}

/// API versions, with overrides of the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiVersions {
    line: Line,
    overrides: BTreeMap<ApiFamily, String>,
}

impl ApiVersions {
    /// Those of Azure Stack Hub.
    #[must_use]
    pub const fn stack() -> Self {
        Self::line(Line::Stack)
    }

    /// Those of the cloud of China.
    #[must_use]
    pub const fn china() -> Self {
        Self::line(Line::China)
    }

    const fn line(line: Line) -> Self {
        Self {
            line,
            overrides: BTreeMap::new(),
        }
    }

    /// Those of a cloud by its canonical name.
    pub(super) fn of_cloud(name: &str) -> Self {
        if name == CHINA {
            Self::china()
        } else {
            Self::default()
        }
    }

    /// Whether this is an Azure Stack Hub, which has no `toBeDetached` and no attach action.
    #[must_use]
    pub const fn is_stack(&self) -> bool {
        matches!(self.line, Line::Stack)
    }

    /// Replaces the version of one family.
    pub fn set(&mut self, family: ApiFamily, version: impl Into<String>) {
        self.overrides.insert(family, version.into());
    }

    /// The version to use.
    #[must_use]
    pub fn of(&self, family: ApiFamily) -> &str {
        let default = match self.line {
            Line::Modern => family.modern(),
            Line::China => family.china(),
            Line::Stack => family.stack(),
        };
        self.overrides.get(&family).map_or(default, String::as_str)
    }
}
