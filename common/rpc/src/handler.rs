//! The shape of one RPC.

use std::future::Future;
use std::sync::Arc;

use azcsi_types::fault::Faulty;
use azcsi_types::op::Op;

use crate::inflight::GuardKey;
use crate::method::Method;

/// Whether a request only looks, or changes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only looks. It runs inside the call and ends with it.
    Read,
    /// Changes something. It runs in a task of its own, which outlives the call.
    Operation {
        /// What nothing else may change meanwhile. The caller folds case where the thing named is
        /// not case-sensitive.
        guards: Vec<GuardKey>,
        /// Everything of the request that matters. A retry with the same method, guards and
        /// fingerprint joins the running operation; never logged.
        fingerprint: String,
    },
}

/// How an operation shows up in the driver's metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The label `operation`.
    pub operation: &'static str,
    /// The label `storage_account_type`, for the operations that have it.
    pub sku: Option<String>,
}

/// One RPC of a driver. There is one implementation for each, in a file of its own.
///
/// [`crate::Dispatcher::unary`] is the only caller, so no handler can leave out the capability gate,
/// the guards, the deadline or the table of codes.
pub trait Handler: 'static {
    /// The controller or the node.
    type Ctx: Send + Sync + 'static;
    /// The request on the wire.
    type Wire: prost::Message + Default;
    /// The reply on the wire.
    type WireReply: prost::Message;
    /// The request, checked and typed.
    type Request: Clone + Send + Sync + 'static;
    /// The reply.
    type Reply: Clone + Send + Sync + 'static;
    /// What can go wrong.
    type Error: Faulty;

    /// The method of CSI that it answers.
    const METHOD: Method;

    /// Checks every field, without any I/O.
    ///
    /// # Errors
    /// The first field that is wrong, in the order in which CSI wants them checked.
    fn decode(ctx: &Self::Ctx, wire: Self::Wire) -> Result<Self::Request, Self::Error>;

    /// What the request will do.
    fn scope(request: &Self::Request) -> Scope;

    /// Does it.
    fn run(
        ctx: Arc<Self::Ctx>,
        request: Self::Request,
        op: Op,
    ) -> impl Future<Output = Result<Self::Reply, Self::Error>> + Send;

    /// Writes the reply.
    fn encode(reply: Self::Reply) -> Self::WireReply;

    /// How the operation is counted; by default under the name of its method.
    #[must_use]
    fn measure(_request: &Self::Request) -> Option<Measure> {
        Self::METHOD.operation().map(|operation| Measure {
            operation,
            sku: None,
        })
    }
}
