//! Counts every call by method and code, once, in one place.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use azcsi_types::clock::Clock;
use http::Request;
use tonic::Code;
use tonic::body::Body;
use tower::{Layer, Service};

use super::{AnswerFuture, Inner, code_of};
use crate::method::Method;
use crate::metrics::Metrics;

/// Counts every call.
#[derive(Clone, Debug)]
pub struct MetricsLayer {
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
}

impl MetricsLayer {
    /// Counts in `metrics`, measuring with `clock`.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>, clock: Arc<dyn Clock>) -> Self {
        Self { metrics, clock }
    }
}

impl<S> Layer<S> for MetricsLayer {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service of [`MetricsLayer`].
#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    layer: MetricsLayer,
}

impl<S: Inner> Service<Request<Body>> for Counted<S> {
    type Response = S::Response;
    type Error = Infallible;
    type Future = AnswerFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> AnswerFuture {
        let method = Method::from_path(request.uri().path());
        let mut call = Call::begin(self.layer.clone(), method);
        let answer = self.inner.call(request);
        Box::pin(async move {
            let response = answer.await?;
            call.code = Some(code_of(&response));
            drop(call);
            Ok(response)
        })
    }
}

/// One call; counted when it is dropped, so also if the client gives it up.
struct Call {
    layer: MetricsLayer,
    method: Option<Method>,
    started: Duration,
    code: Option<Code>,
}

impl Call {
    fn begin(layer: MetricsLayer, method: Option<Method>) -> Self {
        layer.metrics.call_started(method);
        let started = layer.clock.now();
        Self {
            layer,
            method,
            started,
            code: None,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let elapsed = self.layer.clock.now().saturating_sub(self.started);
        self.layer
            .metrics
            .call_ended(self.method, self.code, elapsed);
    }
}
