//! What can go wrong in the controller, and what kind of thing each is.

use azcsi_cloud::ArmError;
use azcsi_rpc::validate::Invalid;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::params::BadParam;
use azcsi_types::share_handle::NotAShareHandle;
use azcsi_types::size::OutOfRange;

use super::ports::PortError;

/// An RPC that did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// A field of the request.
    #[error(transparent)]
    Field(#[from] Invalid),
    /// A parameter.
    #[error(transparent)]
    Parameter(#[from] BadParam),
    /// Something else in the request, with the remedy.
    #[error("{0}")]
    Refused(String),
    /// An id that names nothing, where CSI wants to hear that it was not found.
    #[error("there is nothing with the id '{}'", id.escape_debug())]
    NoSuchId {
        /// The id.
        id: String,
        /// Why.
        #[source]
        source: NotAShareHandle,
    },
    /// An id that cannot be worked with.
    #[error(transparent)]
    BadId(#[from] NotAShareHandle),
    /// Azure says that it does not exist.
    #[error("{what} does not exist")]
    Absent {
        /// What.
        what: String,
    },
    /// Something of that name exists and is different.
    #[error("{what} exists already and differs: {difference}")]
    Differs {
        /// What.
        what: String,
        /// How.
        difference: String,
    },
    /// No such size.
    #[error(transparent)]
    Size(#[from] OutOfRange),
    /// A value that the share cannot have.
    #[error("{0}")]
    Range(String),
    /// There is no room for it.
    #[error("{0}")]
    NoRoom(String),
    /// The present state forbids it.
    #[error("{0}")]
    State(String),
    /// Something that takes longer is going on.
    #[error("{0}")]
    Going(String),
    /// A token that this driver did not hand out, or that is out of date.
    #[error("starting_token '{}' is not valid: start again without one", .0.escape_debug())]
    Token(String),
    /// Azure did not do as asked.
    #[error("{doing} failed")]
    Azure {
        /// What was tried.
        doing: String,
        /// Azure's answer.
        #[source]
        source: ArmError,
    },
    /// A lookup or write in Kubernetes.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Something of the volume exists already, so the caller must not forget it.
    #[error("{doing} did not end: it is taken up again with the next call")]
    HalfWay {
        /// What was tried.
        doing: String,
        /// What went wrong.
        #[source]
        source: Box<ControllerError>,
    },
}

impl ControllerError {
    /// Azure did not do as asked.
    #[must_use]
    pub fn azure(doing: impl Into<String>, source: ArmError) -> Self {
        Self::Azure {
            doing: doing.into(),
            source,
        }
    }

    /// The same failure after something was made: never a final answer.
    #[must_use]
    pub fn half_way(self, doing: impl Into<String>) -> Self {
        Self::HalfWay {
            doing: doing.into(),
            source: Box::new(self),
        }
    }
}

impl Faulty for ControllerError {
    fn fault(&self) -> Fault {
        match self {
            Self::Field(error) => error.fault(),
            Self::Parameter(_) | Self::Refused(_) | Self::BadId(_) => Fault::Invalid,
            Self::NoSuchId { .. } | Self::Absent { .. } => Fault::NotFound,
            Self::Differs { .. } => Fault::Exists,
            Self::Size(_) | Self::Range(_) => Fault::OutOfRange,
            Self::NoRoom(_) => Fault::Exhausted,
            Self::State(_) => Fault::Precondition,
            Self::Going(_) | Self::Token(_) => Fault::InProgress,
            Self::Azure { source, .. } => azure(source),
            Self::Port(error) => error.fault(),
            Self::HalfWay { source, .. } => match source.fault() {
                fault @ (Fault::InProgress | Fault::Deadline | Fault::Exhausted) => fault,
                _ => Fault::Unavailable,
            },
        }
    }
}

/// What the storage provider's own codes mean to a caller.
fn azure(error: &ArmError) -> Fault {
    if error.account_limit().is_some() || error.has_code("ShareSnapshotCountExceeded") {
        return Fault::Exhausted;
    }
    if error.is_share_being_deleted() || error.is_account_not_ready() {
        return Fault::InProgress;
    }
    error.fault()
}
