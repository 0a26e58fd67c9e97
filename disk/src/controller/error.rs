//! What can go wrong in the Controller service, and which kind of failure that is.

use azcsi_cloud::ArmError;
use azcsi_rpc::validate::Invalid;
use azcsi_types::access::Unsupported;
use azcsi_types::disk_uri::{DiskUri, NotADisk};
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::node::NodeName;
use azcsi_types::params::BadParam;
use azcsi_types::size::OutOfRange;

use super::attach::error::AttachError;
use super::ports::PortError;
use crate::model::performance::Impossible;
use crate::model::topology::Unsatisfiable;

/// A failure of one RPC.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// A field of the request.
    #[error(transparent)]
    Field(#[from] Invalid),
    /// A parameter.
    #[error(transparent)]
    Parameter(#[from] BadParam),
    /// A combination that the disk cannot be used in.
    #[error(transparent)]
    Access(#[from] Unsupported),
    /// Something else in the request that can never work.
    #[error("{0}")]
    Refused(String),
    /// The id names no disk or snapshot.
    #[error("'{id}' does not exist")]
    NoSuchId {
        /// The id.
        id: String,
        /// Why not.
        #[source]
        source: NotADisk,
    },
    /// Azure says that it does not exist.
    #[error("{what} does not exist")]
    Absent {
        /// What does not exist.
        what: String,
    },
    /// The node is unknown, or has no machine.
    #[error("node {0} does not exist: no machine is known for it")]
    NoNode(NodeName),
    /// It exists already and is another one than asked for.
    #[error("{what} exists already, but {difference}")]
    Differs {
        /// What exists.
        what: String,
        /// In what it differs.
        difference: String,
    },
    /// No size fits.
    #[error(transparent)]
    Size(#[from] OutOfRange),
    /// No such performance.
    #[error(transparent)]
    Performance(#[from] Impossible),
    /// No such place.
    #[error(transparent)]
    Topology(#[from] Unsatisfiable),
    /// There is no room for it in the places that were asked for.
    #[error("{0}")]
    NoRoom(String),
    /// The disk is in use on another machine, and nobody may take it away from there.
    #[error(
        "volume {disk} is attached to {place}: it has to be detached there before node {node} can have it"
    )]
    Held {
        /// The disk.
        disk: DiskUri,
        /// Where it is.
        place: String,
        /// Who wants it.
        node: NodeName,
    },
    /// The present state forbids it.
    #[error("{0}")]
    State(String),
    /// Something that takes longer is going on.
    #[error("{0}")]
    Going(String),
    /// A token that this driver did not hand out, or that is out of date.
    #[error("starting_token '{0}' is not valid: start again without one")]
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
    /// Azure accepted it and then failed; something of it exists, so the caller must not forget it.
    #[error("{doing} failed half-way: it is tried again with the next call")]
    HalfWay {
        /// What was tried.
        doing: String,
        /// Azure's answer.
        #[source]
        source: ArmError,
    },
    /// A disk of a machine.
    #[error("volume {disk} on node {node}")]
    Attach {
        /// The disk.
        disk: DiskUri,
        /// The node.
        node: String,
        /// What happened.
        #[source]
        source: Box<AttachError>,
    },
    /// A disk could not be taken off a node. Nobody may give up here: the disk may still be there.
    #[error(transparent)]
    StillThere(Box<ControllerError>),
    /// A lookup in Kubernetes or Azure.
    #[error(transparent)]
    Port(#[from] PortError),
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

    /// The same failure of an unpublish. CSI knows no final answer for it but a request that is
    /// wrong, and a caller that gives up would leave the disk where it is.
    #[must_use]
    pub fn still_there(self) -> Self {
        match self {
            Self::Field(_) | Self::Refused(_) => self,
            other => Self::StillThere(Box::new(other)),
        }
    }
}

impl Faulty for ControllerError {
    fn fault(&self) -> Fault {
        match self {
            Self::Field(error) => error.fault(),
            Self::Parameter(_) | Self::Access(_) | Self::Refused(_) => Fault::Invalid,
            Self::NoSuchId { .. } | Self::Absent { .. } | Self::NoNode(_) => Fault::NotFound,
            Self::Differs { .. } => Fault::Exists,
            Self::Size(_) | Self::Performance(_) => Fault::OutOfRange,
            Self::Topology(_) | Self::NoRoom(_) => Fault::Exhausted,
            Self::State(_) | Self::Held { .. } => Fault::Precondition,
            Self::Going(_) | Self::Token(_) => Fault::InProgress,
            Self::Azure { source, .. } => source.fault(),
            Self::HalfWay { .. } => Fault::Unavailable,
            Self::Attach { source, .. } => source.fault(),
            Self::StillThere(error) => match error.fault() {
                fault @ (Fault::Denied
                | Fault::Unauthenticated
                | Fault::InProgress
                | Fault::Deadline) => fault,
                _ => Fault::Unavailable,
            },
            Self::Port(error) => error.fault(),
        }
    }
}

#[cfg(test)]
mod tests {
    use azcsi_types::fault::{Fault, Faulty};

    use super::ControllerError;

    #[test]
    fn an_unpublish_is_given_up_only_for_a_request_that_is_wrong() {
        let fault = |error: ControllerError| error.still_there().fault();
        assert_eq!(
            fault(ControllerError::Refused("x".to_owned())),
            Fault::Invalid
        );
        assert_eq!(
            fault(ControllerError::State("x".to_owned())),
            Fault::Unavailable
        );
        assert_eq!(
            fault(ControllerError::Absent {
                what: "x".to_owned()
            }),
            Fault::Unavailable
        );
        assert_eq!(
            fault(ControllerError::Going("x".to_owned())),
            Fault::InProgress
        );
    }
}
