//! The way of every call: gate, decode, join or start, wait, encode.

use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::fault::{Fault, Faulty, report};
use azcsi_types::op::Op;
use tonic::{Request, Response, Status};

use crate::capability::Gate;
use crate::deadline;
use crate::handler::{Handler, Measure, Scope};
use crate::method::{Loudness, Method};
use crate::metrics::Metrics;
use crate::operations::{Key, OperationError, Operations};
use crate::redact;
use crate::status::{NotOffered, status};

/// How much may go on, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time that an operation may take, however long its call waits.
    pub operation: Duration,
    /// Time that a call waits if the client sets no timeout.
    pub call: Duration,
    /// Most operations that run at once.
    pub operations: usize,
}

impl Default for Limits {
    /// 20 minutes for an operation (the longest timeout of a sidecar), 10 for a call, 4096 at once
    /// (the attacher alone has 1000 workers).
    fn default() -> Self {
        Self {
            operation: Duration::from_secs(20 * 60),
            call: Duration::from_secs(10 * 60),
            operations: 4096,
        }
    }
}

/// A failure that is none; it cannot be built.
#[derive(Debug, thiserror::Error)]
#[error("a successful result was taken for a failure")]
struct Mixed;

impl Faulty for Mixed {
    fn fault(&self) -> Fault {
        Fault::Internal
    }
}

/// Runs handlers. Cheap to clone; all clones share one registry of operations.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    clock: Arc<dyn Clock>,
    limits: Limits,
    operations: Operations,
    gate: Arc<Gate>,
    metrics: Option<Arc<Metrics>>,
}

impl Dispatcher {
    /// A dispatcher that lets every method through and counts nothing.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let operations = Operations::new(Arc::clone(&clock), limits.operations);
        Self {
            clock,
            limits,
            operations,
            gate: Arc::new(Gate::open()),
            metrics: None,
        }
    }

    /// The same, answering UNIMPLEMENTED for what `gate` does not let through.
    #[must_use]
    pub fn with_gate(self, gate: Gate) -> Self {
        Self {
            gate: Arc::new(gate),
            ..self
        }
    }

    /// The same, counting operations in `metrics`.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<Metrics>) -> Self {
        Self {
            metrics: Some(metrics),
            ..self
        }
    }

    /// How many operations are running.
    #[must_use]
    pub fn running(&self) -> usize {
        self.operations.running()
    }

    /// Waits until no operation is running, at most for `time`. Returns how many are left.
    pub async fn drain(&self, time: Duration) -> usize {
        let _ = tokio::time::timeout(time, self.operations.idle()).await;
        self.running()
    }

    /// Answers one call.
    ///
    /// # Errors
    /// The status for the handler's error, or for an operation that could not be started or waited
    /// for.
    pub async fn unary<H: Handler>(
        &self,
        ctx: &Arc<H::Ctx>,
        request: Request<H::Wire>,
    ) -> Result<Response<H::WireReply>, Status> {
        let deadline = deadline::of_call(request.metadata(), &*self.clock, self.limits.call);
        let wire = request.into_inner();
        log_message(H::METHOD, H::METHOD.request(), &wire);
        let answer = self.answer::<H>(ctx, wire, deadline).await;
        match answer {
            Ok(reply) => {
                let reply = H::encode(reply);
                log_message(H::METHOD, H::METHOD.response(), &reply);
                Ok(Response::new(reply))
            }
            Err(error) => {
                log_error(H::METHOD, error.as_faulty());
                Err(status(H::METHOD, error.as_faulty()))
            }
        }
    }

    async fn answer<H: Handler>(
        &self,
        ctx: &Arc<H::Ctx>,
        wire: H::Wire,
        deadline: Deadline,
    ) -> Result<H::Reply, Failure<H>> {
        if !self.gate.allows(H::METHOD) {
            return Err(Failure::Gate(NotOffered(H::METHOD)));
        }
        let request = H::decode(ctx, wire).map_err(Failure::Own)?;
        match H::scope(&request) {
            Scope::Read => self.read::<H>(ctx, request, deadline).await,
            Scope::Operation {
                guards,
                fingerprint,
            } => {
                let key = Key::new(H::METHOD, guards, fingerprint);
                self.operate::<H>(ctx, request, key, deadline).await
            }
        }
    }

    async fn read<H: Handler>(
        &self,
        ctx: &Arc<H::Ctx>,
        request: H::Request,
        deadline: Deadline,
    ) -> Result<H::Reply, Failure<H>> {
        let op = Op::start(uuid::Uuid::new_v4().to_string(), deadline);
        let work = H::run(Arc::clone(ctx), request, op);
        match tokio::time::timeout(deadline.remaining(&*self.clock), work).await {
            Ok(result) => result.map_err(Failure::Own),
            Err(_) => Err(Failure::Operation(OperationError::Slow(H::METHOD))),
        }
    }

    async fn operate<H: Handler>(
        &self,
        ctx: &Arc<H::Ctx>,
        request: H::Request,
        key: Key,
        deadline: Deadline,
    ) -> Result<H::Reply, Failure<H>> {
        let (ctx, clock, metrics) = (
            Arc::clone(ctx),
            Arc::clone(&self.clock),
            self.metrics.clone(),
        );
        let work = |op| async move {
            let mut stopwatch = Stopwatch {
                measure: H::measure(&request),
                started: clock.now(),
                succeeded: false,
                clock,
                metrics,
            };
            let result = H::run(ctx, request, op).await;
            stopwatch.succeeded = result.is_ok();
            result
        };
        let ticket = self
            .operations
            .join_or_start::<Result<H::Reply, H::Error>, _, _>(key, self.limits.operation, work)
            .map_err(Failure::Operation)?;
        if ticket.joined() {
            if let Some(metrics) = &self.metrics {
                metrics.joined();
            }
            tracing::info!(method = %H::METHOD, "joined the running operation");
        }
        let result = ticket
            .wait(&*self.clock, deadline)
            .await
            .map_err(Failure::Operation)?;
        match &*result {
            Ok(reply) => Ok(reply.clone()),
            Err(_) => Err(Failure::Shared(result)),
        }
    }
}

/// Counts one operation when it is dropped, so also if the operation panics.
struct Stopwatch {
    measure: Option<Measure>,
    started: Duration,
    succeeded: bool,
    clock: Arc<dyn Clock>,
    metrics: Option<Arc<Metrics>>,
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        if let (Some(metrics), Some(measure)) = (&self.metrics, &self.measure) {
            let elapsed = self.clock.now().saturating_sub(self.started);
            metrics.operation(measure, self.succeeded, elapsed);
        }
    }
}

/// What a call can end with instead of a reply.
enum Failure<H: Handler> {
    Gate(NotOffered),
    Operation(OperationError),
    Own(H::Error),
    /// An error that other retries of the call may hold as well.
    Shared(Arc<Result<H::Reply, H::Error>>),
}

impl<H: Handler> Failure<H> {
    fn as_faulty(&self) -> &dyn Faulty {
        match self {
            Self::Gate(error) => error,
            Self::Operation(error) => error,
            Self::Own(error) => error,
            Self::Shared(result) => match &**result {
                Err(error) => error,
                Ok(_) => &Mixed,
            },
        }
    }
}

fn log_message(method: Method, name: &'static str, message: &impl prost::Message) {
    match method.loudness() {
        Loudness::Event if tracing::enabled!(tracing::Level::INFO) => {
            match redact::render(name, message).as_str() {
                // Nothing in it: that the call ended well is said by the trace layer.
                "{}" => tracing::trace!(%method, "{name} {{}}"),
                text => tracing::info!(%method, "{name} {text}"),
            }
        }
        Loudness::Poll if tracing::enabled!(tracing::Level::TRACE) => {
            tracing::trace!(%method, "{name} {}", redact::render(name, message));
        }
        Loudness::Event | Loudness::Poll => {}
    }
}

fn log_error(method: Method, error: &dyn Faulty) {
    tracing::error!(%method, fault = ?error.fault(), "{}", report(error));
}

#[cfg(test)]
mod tests;
