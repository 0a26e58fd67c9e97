//! A cap on the calls in progress; what exceeds it is refused at once instead of queued.
//!
//! Identity and the capability questions pass freely: liveness must not depend on load.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use azcsi_types::fault::{Fault, Faulty};
use http::Request;
use tokio::sync::Semaphore;
use tonic::body::Body;
use tower::{Layer, Service};

use super::{AnswerFuture, Inner};
use crate::method::{self, Method};
use crate::status::{status, unmatched};

/// The call was refused because too many are in progress.
#[derive(Debug, thiserror::Error)]
#[error("{0} calls are in progress: try again later")]
struct Overloaded(usize);

impl Faulty for Overloaded {
    fn fault(&self) -> Fault {
        Fault::Unavailable
    }
}

/// Caps the calls in progress, over all connections.
#[derive(Clone, Debug)]
pub struct LimitLayer {
    most: usize,
    free: Arc<Semaphore>,
}

impl LimitLayer {
    /// At most `most` calls at once.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            free: Arc::new(Semaphore::new(most)),
        }
    }
}

impl<S> Layer<S> for LimitLayer {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service of [`LimitLayer`].
#[derive(Clone, Debug)]
pub struct Limited<S> {
    inner: S,
    layer: LimitLayer,
}

impl<S: Inner> Service<Request<Body>> for Limited<S> {
    type Response = S::Response;
    type Error = Infallible;
    type Future = AnswerFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> AnswerFuture {
        let method = Method::from_path(request.uri().path());
        if method.is_some_and(is_free) {
            return Box::pin(self.inner.call(request));
        }
        match Arc::clone(&self.layer.free).try_acquire_owned() {
            Ok(permit) => {
                let answer = self.inner.call(request);
                Box::pin(async move {
                    let answer = answer.await;
                    drop(permit);
                    answer
                })
            }
            Err(_) => {
                let error = Overloaded(self.layer.most);
                let status = match method {
                    Some(method) => status(method, &error),
                    None => unmatched(&error),
                };
                Box::pin(std::future::ready(Ok(status.into_http())))
            }
        }
    }
}

fn is_free(method: Method) -> bool {
    method.service() == method::Service::Identity
        || matches!(
            method,
            Method::ControllerGetCapabilities | Method::NodeGetCapabilities
        )
}
