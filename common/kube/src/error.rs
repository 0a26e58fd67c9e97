//! What the API server answered, as kinds.

use std::time::Duration;

use azcsi_types::fault::{Fault, Faulty};

/// A request to the Kubernetes API failed. `what` reads like "get node aks-1".
#[derive(Debug, thiserror::Error)]
pub enum KubeError {
    /// The object does not exist (404).
    #[error("cannot {what}: Kubernetes has no such object")]
    NotFound {
        /// What was asked.
        what: String,
    },
    /// The service account may not do this (403).
    #[error("cannot {what}: the service account has no permission; check its ClusterRole")]
    Denied {
        /// What was asked.
        what: String,
        /// The server's words.
        source: Box<kube::Error>,
    },
    /// The token or certificate is not valid (401).
    #[error("cannot {what}: the API server does not accept the credentials")]
    Unauthenticated {
        /// What was asked.
        what: String,
        /// The server's words.
        source: Box<kube::Error>,
    },
    /// Somebody else changed the object meanwhile, or it exists already (409, or a JSON patch whose
    /// test failed).
    #[error("cannot {what}: the object was changed meanwhile")]
    Conflict {
        /// What was asked.
        what: String,
        /// The server's words.
        source: Box<kube::Error>,
    },
    /// The version that a watch wanted to begin at is no longer kept (410).
    #[error("cannot {what}: the history does not reach back that far")]
    Gone {
        /// What was asked.
        what: String,
    },
    /// The server refuses the request as wrong (4xx).
    #[error("cannot {what}: the API server refuses the request")]
    Invalid {
        /// What was asked.
        what: String,
        /// The server's words.
        source: Box<kube::Error>,
    },
    /// The server cannot answer now (429, 5xx), or it cannot be reached.
    #[error("cannot {what}: the API server does not answer properly")]
    Unavailable {
        /// What was asked.
        what: String,
        /// The reason.
        source: Box<kube::Error>,
    },
    /// The answer is not what the API promises.
    #[error("cannot {what}: the answer of the API server cannot be read")]
    Malformed {
        /// What was asked.
        what: String,
        /// The reason; it never shows values of Secrets.
        reason: String,
    },
    /// No answer within the time that is given to one request.
    #[error("cannot {what}: no answer within {patience:?}")]
    Slow {
        /// What was asked.
        what: String,
        /// How long it was waited for.
        patience: Duration,
    },
}

impl KubeError {
    /// Sorts an error of the client library.
    pub(crate) fn from_kube(what: String, error: kube::Error) -> Self {
        let code = match &error {
            kube::Error::Api(status) => status.code,
            kube::Error::SerdeError(error) => {
                let reason = format!("at line {}, column {}", error.line(), error.column());
                return Self::Malformed { what, reason };
            }
            _ => {
                let source = Box::new(error);
                return Self::Unavailable { what, source };
            }
        };
        let source = Box::new(error);
        match code {
            404 => Self::NotFound { what },
            401 => Self::Unauthenticated { what, source },
            403 => Self::Denied { what, source },
            409 => Self::Conflict { what, source },
            410 => Self::Gone { what },
            429 | 500.. => Self::Unavailable { what, source },
            _ => Self::Invalid { what, source },
        }
    }

    /// Whether somebody else changed the object meanwhile.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Whether the server proved that the object does not exist.
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

impl Faulty for KubeError {
    fn fault(&self) -> Fault {
        match self {
            Self::NotFound { .. } => Fault::NotFound,
            Self::Denied { .. } => Fault::Denied,
            Self::Unauthenticated { .. } => Fault::Unauthenticated,
            Self::Conflict { .. } | Self::Gone { .. } | Self::Unavailable { .. } => {
                Fault::Unavailable
            }
            Self::Slow { .. } => Fault::Unavailable,
            Self::Invalid { .. } | Self::Malformed { .. } => Fault::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use azcsi_types::fault::{Fault, Faulty as _};
    use kube::core::Status;

    use super::KubeError;

    #[test]
    fn every_code_has_a_kind() {
        for (code, fault) in [
            (400, Fault::Internal),
            (401, Fault::Unauthenticated),
            (403, Fault::Denied),
            (404, Fault::NotFound),
            (409, Fault::Unavailable),
            (410, Fault::Unavailable),
            (422, Fault::Internal),
            (429, Fault::Unavailable),
            (500, Fault::Unavailable),
            (503, Fault::Unavailable),
        ] {
            let status = Status::failure("words", "reason").with_code(code).boxed();
            let error = KubeError::from_kube("get x".to_owned(), kube::Error::Api(status));
            assert_eq!(error.fault(), fault, "{code}");
            assert_eq!(error.is_not_found(), code == 404, "{code}");
            assert_eq!(error.is_conflict(), code == 409, "{code}");
            assert!(error.to_string().starts_with("cannot get x: "), "{error}");
        }
    }
}
