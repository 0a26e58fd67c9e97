//! Why something cannot be translated.

use azcsi_types::fault::{Fault, Faulty};

/// A translation failed. Texts contain the words that Kubernetes uses for the same failure, so that
/// a search of its documentation finds both.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// Nothing was given.
    #[error("{0} was nil")]
    NilInput(&'static str),
    /// The object has no source that this crate translates.
    #[error("could not find in-tree plugin translation logic for {0}")]
    NoInTreeSource(String),
    /// The volume is not a CSI one.
    #[error("CSI persistent volume was nil or has no CSI source")]
    NotCsi,
    /// The volume belongs to another CSI driver.
    #[error("could not find in-tree plugin translation logic for the driver {0:?}")]
    ForeignDriver(String),
    /// No in-tree plugin belongs to this driver.
    #[error("could not find In-Tree driver name for CSI plugin {0:?}")]
    UnknownDriver(String),
    /// No CSI driver belongs to this plugin.
    #[error("could not find CSI Driver name for plugin {0:?}")]
    UnknownPlugin(String),
    /// No class of this provisioner is translated.
    #[error("could not find in-tree storage class parameter translation logic for {0:?}")]
    UnknownProvisioner(String),
    /// The object names no plugin.
    #[error("could not find in-tree plugin name from {0}")]
    NoPluginName(&'static str),
    /// Neither of two objects was given.
    #[error("both persistent volume and volume are nil")]
    BothNil,
    /// Two sources in one object; the API server does not store such a thing.
    #[error("the object has both an azureDisk and an azureFile source")]
    TwoSources,
    /// An unmanaged disk.
    #[error("kind({0}) is not supported in csi migration")]
    UnsupportedKind(String),
    /// The disk id has no disk name.
    #[error("could not get disk name from {0:?}")]
    DiskIdUnparsable(String),
    /// The class says twice where its volumes go.
    #[error("cannot simultaneously set allowed topologies and zone/zones parameters")]
    ZonesAndTopologies,
    /// Nothing says where the secret is.
    #[error("could not find a secret namespace in PersistentVolumeSource or ClaimRef")]
    SecretNamespaceMissing,
    /// The handle of a share has too few parts.
    #[error("the volume handle {0:?} should at least contain two #")]
    FileHandleUnparsable(String),
    /// No valid zone is left to add.
    #[error("there are no valid zones to add to the volume")]
    NoValidZones,
    /// A field has the wrong JSON type.
    #[error("{path} is not {expected}")]
    Malformed {
        /// Where.
        path: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// Strict: a field that must say something is empty.
    #[error("{0} is empty")]
    Empty(&'static str),
    /// Strict: the separator of handles inside one of their parts.
    #[error("{field} {value:?} contains '#', which separates the parts of a volume handle")]
    SeparatorInside {
        /// Which part.
        field: &'static str,
        /// Its value.
        value: String,
    },
    /// Strict: two keys that differ only in case, with different values.
    #[error("the key {0:?} appears twice in different case with different values")]
    CaseDuplicate(String),
    /// Strict: `zone` and `zones` in one class.
    #[error("the class has both a zone and a zones parameter")]
    ZoneAndZones,
    /// Strict: facts that the in-tree source cannot hold.
    #[error("an in-tree volume cannot hold {0}; it would be lost")]
    Lost(String),
    /// Strict: nobody but the operator can tell where the volume is.
    #[error("the zone of the volume cannot be derived: {0}")]
    TopologyUndecided(String),
}

impl TranslateError {
    /// A short stable name, for programs.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NilInput(_) => "NilInput",
            Self::NoInTreeSource(_) => "NoInTreeSource",
            Self::NotCsi => "NotCsi",
            Self::ForeignDriver(_) => "ForeignDriver",
            Self::UnknownDriver(_) => "UnknownDriver",
            Self::UnknownPlugin(_) => "UnknownPlugin",
            Self::UnknownProvisioner(_) => "UnknownProvisioner",
            Self::NoPluginName(_) => "NoPluginName",
            Self::BothNil => "BothNil",
            Self::TwoSources => "TwoSources",
            Self::UnsupportedKind(_) => "UnsupportedKind",
            Self::DiskIdUnparsable(_) => "DiskIdUnparsable",
            Self::ZonesAndTopologies => "ZonesAndTopologies",
            Self::SecretNamespaceMissing => "SecretNamespaceMissing",
            Self::FileHandleUnparsable(_) => "FileHandleUnparsable",
            Self::NoValidZones => "NoValidZones",
            Self::Malformed { .. } => "Malformed",
            Self::Empty(_) => "Empty",
            Self::SeparatorInside { .. } => "SeparatorInside",
            Self::CaseDuplicate(_) => "CaseDuplicate",
            Self::ZoneAndZones => "ZoneAndZones",
            Self::Lost(_) => "Lost",
            Self::TopologyUndecided(_) => "TopologyUndecided",
        }
    }
}

impl Faulty for TranslateError {
    fn fault(&self) -> Fault {
        match self {
            Self::SecretNamespaceMissing | Self::TopologyUndecided(_) => Fault::Precondition,
            _ => Fault::Invalid,
        }
    }
}
