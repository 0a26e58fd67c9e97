//! The operation on whose behalf Azure or the kernel is called.
//!
//! A call that changes something must not live inside a future that the client can cancel. So every
//! such call demands an [`Op`], and only the operation registry of `azcsi-rpc` starts one: in a task
//! of its own that outlives the request.

use std::sync::Arc;

use crate::clock::Deadline;

/// One running operation: its name for logs, and until when it may work.
#[derive(Clone, Debug)]
pub struct Op {
    id: Arc<str>,
    deadline: Deadline,
}

impl Op {
    /// Starts an operation. `id` is sent to Azure as the correlation id, so it should be a UUID.
    ///
    /// For the operation registry, for background tasks and for tests; a request handler is handed
    /// its operation.
    #[must_use]
    pub fn start(id: impl Into<Arc<str>>, deadline: Deadline) -> Self {
        Self {
            id: id.into(),
            deadline,
        }
    }

    /// The correlation id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Until when the operation may work.
    #[must_use]
    pub const fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// The same operation with a nearer deadline, for a step that must not use up all the time.
    #[must_use]
    pub fn within(&self, deadline: Deadline) -> Self {
        Self {
            id: Arc::clone(&self.id),
            deadline: self.deadline.or_sooner(deadline),
        }
    }
}
