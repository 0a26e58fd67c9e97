//! What went wrong, and the exit code that says what to do.

use azcsi_kube::KubeError;
use azcsi_migration::TranslateError;
use azcsi_types::fault::{Fault, Faulty};

/// Exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Nothing to do, or success.
    Done = 0,
    /// The tool or its connection failed.
    Internal = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// There is something to convert (scan, diff).
    Convertible = 3,
    /// Something is blocked.
    Blocked = 4,
    /// Stopped in the middle; `resume` goes on.
    Resumable = 5,
    /// Stopped in the middle; a person has to look.
    Operator = 6,
    /// The cluster changed since the plan was made.
    Changed = 7,
}

/// A command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be used.
    #[error("cannot {what} {path}")]
    File {
        /// "read", "write".
        what: &'static str,
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A document cannot be understood.
    #[error("{what} cannot be understood: {why}")]
    Document {
        /// Which.
        what: String,
        /// Why.
        why: String,
    },
    /// The cluster cannot be reached.
    #[error("no connection to the cluster: {0}")]
    Connect(String),
    /// The Kubernetes API failed.
    #[error(transparent)]
    Kube(#[from] KubeError),
    /// An object cannot be translated.
    #[error(transparent)]
    Translate(#[from] TranslateError),
    /// Something stands in the way, and nothing was changed.
    #[error("{0}")]
    Blocked(String),
    /// The cluster is no longer as the plan saw it.
    #[error("{0}")]
    Changed(String),
    /// Stopped; what was done is in the journal and can be continued.
    #[error("{0}")]
    Stopped(String),
    /// Stopped; something is as it never should be.
    #[error("{0}")]
    Operator(String),
}

impl Failure {
    /// The exit code.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::File { .. }
            | Self::Document { .. }
            | Self::Connect(_)
            | Self::Kube(_)
            | Self::Translate(_) => Exit::Internal,
            Self::Blocked(_) => Exit::Blocked,
            Self::Changed(_) => Exit::Changed,
            Self::Stopped(_) => Exit::Resumable,
            Self::Operator(_) => Exit::Operator,
        }
    }

    /// Whether somebody else wrote first.
    pub(crate) const fn is_conflict(&self) -> bool {
        matches!(self, Self::Kube(KubeError::Conflict { .. }))
    }

    pub(crate) fn file(what: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File {
            what,
            path: path.display().to_string(),
            source,
        }
    }
}

impl Faulty for Failure {
    fn fault(&self) -> Fault {
        match self {
            Self::Usage(_) | Self::Document { .. } => Fault::Invalid,
            Self::File { .. } => Fault::Internal,
            Self::Connect(_) | Self::Stopped(_) => Fault::Unavailable,
            Self::Kube(error) => error.fault(),
            Self::Translate(error) => error.fault(),
            Self::Blocked(_) | Self::Changed(_) | Self::Operator(_) => Fault::Precondition,
        }
    }
}
