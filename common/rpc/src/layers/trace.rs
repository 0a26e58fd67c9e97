//! A span for each call, and one line when it ends.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use azcsi_types::clock::Clock;
use http::Request;
use tonic::Code;
use tonic::body::Body;
use tower::{Layer, Service};
use tracing::Instrument as _;

use super::{AnswerFuture, Inner, code_of};
use crate::method::{Loudness, Method};

/// Traces every call.
#[derive(Clone, Debug)]
pub struct TraceLayer {
    clock: Arc<dyn Clock>,
}

impl TraceLayer {
    /// Measures with this clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace {
            inner,
            clock: Arc::clone(&self.clock),
        }
    }
}

/// The service of [`TraceLayer`].
#[derive(Clone, Debug)]
pub struct Trace<S> {
    inner: S,
    clock: Arc<dyn Clock>,
}

impl<S: Inner> Service<Request<Body>> for Trace<S> {
    type Response = S::Response;
    type Error = Infallible;
    type Future = AnswerFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> AnswerFuture {
        let method = Method::from_path(request.uri().path());
        let call = uuid::Uuid::new_v4();
        let span = match method {
            Some(method) => tracing::info_span!("call", %method, id = %call),
            None => tracing::info_span!("call", path = request.uri().path(), id = %call),
        };
        let clock = Arc::clone(&self.clock);
        let started = clock.now();
        let answer = span.in_scope(|| self.inner.call(request));
        let waiting = Waiting;
        let traced = async move {
            let response = answer.await?;
            waiting.end();
            let elapsed = clock.now().saturating_sub(started);
            let code = code_of(&response);
            match method.map(Method::loudness) {
                Some(Loudness::Poll) if code == Code::Ok => {
                    tracing::trace!(?code, ?elapsed, "call ended");
                }
                _ => tracing::info!(?code, ?elapsed, "call ended"),
            }
            Ok(response)
        };
        Box::pin(traced.instrument(span))
    }
}

/// A client that waits. Says so if it is dropped before the end, which happens inside the call's
/// span.
struct Waiting;

impl Waiting {
    fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        tracing::info!("the client gave the call up; an operation that it began goes on");
    }
}
