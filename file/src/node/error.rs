//! What can go wrong in the Node service.

use std::error::Error;
use std::path::PathBuf;

use azcsi_host::HostError;
use azcsi_rpc::validate::Invalid;
use azcsi_types::fault::{Fault, Faulty};

use super::cause::Cause;
use super::ports::Unanswered;

/// A failed RPC of the Node service.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A field is wrong.
    #[error(transparent)]
    Field(#[from] Invalid),
    /// A value of a context, a Secret or a capability cannot be used.
    #[error("{what} cannot be used")]
    Value {
        /// Which.
        what: &'static str,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
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
    /// Somebody is not allowed to use a Secret.
    #[error("volume '{volume}' cannot be used: {why}")]
    Forbidden {
        /// The volume.
        volume: String,
        /// Who may not do what.
        why: String,
    },
    /// Mounted there in another way.
    #[error("'{path}' is in use in another way: {why}")]
    Incompatible {
        /// The path.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// Its server does not answer, or its mount is dead and somebody uses it.
    #[error("volume '{volume}' does not work on this node: {why}")]
    Stale {
        /// The volume.
        volume: String,
        /// What is wrong, with the remedy.
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
    /// The mount failed, and this is why.
    #[error("cannot mount '{from}' for volume '{volume}': {}", cause.text())]
    Mount {
        /// The volume.
        volume: String,
        /// What was mounted.
        from: String,
        /// Why.
        cause: Cause,
        /// What the kernel said.
        source: HostError,
    },
    /// Kubernetes or Azure did not answer as needed.
    #[error("the credentials for volume '{volume}' cannot be had")]
    Credentials {
        /// The volume.
        volume: String,
        /// Why; it knows its kind.
        source: Unanswered,
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
    /// A step failed and what it did could not be taken back.
    #[error("'{path}' of volume '{volume}' is still mounted after a failure")]
    LeftMounted {
        /// The volume.
        volume: String,
        /// The path.
        path: PathBuf,
        /// The failure that came first.
        source: Box<NodeError>,
    },
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

    /// A requirement that is not met.
    pub(crate) fn refused(volume: &str, why: impl Into<String>) -> Self {
        Self::Refused {
            volume: volume.to_owned(),
            why: why.into(),
        }
    }

    /// A mount that is not alive.
    pub(crate) fn stale(volume: &str, why: impl Into<String>) -> Self {
        Self::Stale {
            volume: volume.to_owned(),
            why: why.into(),
        }
    }
}

impl Faulty for NodeError {
    fn fault(&self) -> Fault {
        match self {
            Self::Field(error) => error.fault(),
            Self::Value { .. } => Fault::Invalid,
            Self::NotThere { .. } => Fault::NotFound,
            Self::Refused { .. } | Self::Stale { .. } => Fault::Precondition,
            Self::Forbidden { .. } => Fault::Denied,
            Self::Incompatible { .. } => Fault::Exists,
            Self::NotReady { .. } | Self::LeftMounted { .. } => Fault::Unavailable,
            Self::Mount { cause, .. } => cause.fault(),
            Self::Credentials { source, .. } => source.fault(),
            Self::Step { source, .. } => source.0.fault(),
        }
    }
}
