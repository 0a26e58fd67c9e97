//! What can go wrong in the Node service.

use std::error::Error;
use std::path::PathBuf;

use azcsi_host::HostError;
use azcsi_rpc::validate::Invalid;
use azcsi_types::disk_uri::NotADisk;
use azcsi_types::fault::{Fault, Faulty};

/// A failed RPC of the Node service.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A field is wrong.
    #[error(transparent)]
    Field(#[from] Invalid),
    /// A value of a context or capability cannot be used.
    #[error("{what} cannot be used")]
    Value {
        /// Which.
        what: &'static str,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The id is that of no disk, so this driver has no such volume.
    #[error("there is no volume '{id}'")]
    NoVolume {
        /// The id as it was given.
        id: String,
        /// Why it is none.
        source: NotADisk,
    },
    /// The volume is not at that path.
    #[error("volume '{volume}' is not at '{path}'")]
    NotThere {
        /// The volume.
        volume: String,
        /// The path.
        path: String,
    },
    /// A requirement that somebody has to meet first.
    #[error("volume '{volume}' cannot be used: {why}")]
    Refused {
        /// The volume.
        volume: String,
        /// What is wrong, with the remedy.
        why: String,
    },
    /// The device is, or may be, another disk than the volume's.
    #[error("volume '{volume}' cannot be used: {why}")]
    WrongDisk {
        /// The volume.
        volume: String,
        /// What is wrong, with the remedy.
        why: String,
    },
    /// What the device holds forbids to mount it, and to make a filesystem on it.
    #[error("volume '{volume}' cannot be used: {why}")]
    NotFormatted {
        /// The volume.
        volume: String,
        /// What it holds.
        why: String,
    },
    /// Staged or published there in another way.
    #[error("'{path}' is in use in another way: {why}")]
    Incompatible {
        /// The path.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// Not now.
    #[error("volume '{volume}' is not ready: {why}")]
    NotReady {
        /// The volume.
        volume: String,
        /// What is missing.
        why: String,
    },
    /// Too small or too large.
    #[error("volume '{volume}' cannot have the size asked for: {why}")]
    Size {
        /// The volume.
        volume: String,
        /// Why.
        why: String,
    },
    /// A step failed and left nothing behind.
    #[error("{act} failed for volume '{volume}'")]
    Step {
        /// What was being done.
        act: &'static str,
        /// The volume.
        volume: String,
        /// Why; it knows its kind.
        source: Failure,
    },
    /// A step failed and what it did could not be taken back: the caller must undo it or try again.
    #[error("'{path}' of volume '{volume}' is still mounted after a failure")]
    LeftMounted {
        /// The volume.
        volume: String,
        /// The path.
        path: PathBuf,
        /// The failure that came first.
        source: Box<NodeError>,
    },
    /// The size or place of this node cannot be told.
    #[error("the facts about this node cannot be read")]
    NodeFacts(#[source] super::machine::Unanswered),
}

/// Any error that knows its kind.
#[derive(Debug)]
pub struct Failure(pub Box<dyn Faulty>);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl NodeError {
    /// A failed step.
    pub(crate) fn step(act: &'static str, volume: &str, source: impl Faulty) -> Self {
        Self::Step {
            act,
            volume: volume.to_owned(),
            source: Failure(Box::new(source)),
        }
    }

    /// A step on a file or folder that failed.
    pub(crate) fn io(act: &'static str, volume: &str, error: HostError) -> Self {
        Self::step(act, volume, error)
    }

    /// A value that cannot be used.
    pub(crate) fn value(
        what: &'static str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Value {
            what,
            source: source.into(),
        }
    }
}

impl Faulty for NodeError {
    fn fault(&self) -> Fault {
        match self {
            Self::Field(error) => error.fault(),
            Self::Value { .. } => Fault::Invalid,
            Self::NoVolume { .. } | Self::NotThere { .. } => Fault::NotFound,
            Self::Refused { .. } | Self::WrongDisk { .. } | Self::NotFormatted { .. } => {
                Fault::Precondition
            }
            Self::Incompatible { .. } => Fault::Exists,
            Self::NotReady { .. } | Self::LeftMounted { .. } | Self::NodeFacts(_) => {
                Fault::Unavailable
            }
            Self::Size { .. } => Fault::OutOfRange,
            Self::Step { source, .. } => source.0.fault(),
        }
    }
}
