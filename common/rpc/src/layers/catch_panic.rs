//! A panic in a handler becomes INTERNAL; the process lives.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll};

use azcsi_types::fault::{Fault, Faulty};
use futures_util::FutureExt as _;
use http::{Request, Response};
use tonic::body::Body;
use tower::{Layer, Service};

use super::{AnswerFuture, Inner};
use crate::method::Method;
use crate::operations::OperationError;
use crate::status::{status, unmatched};

/// A panic outside of any method.
#[derive(Debug, thiserror::Error)]
#[error("the request failed because of a defect; the log has the details")]
struct Defect;

impl Faulty for Defect {
    fn fault(&self) -> Fault {
        Fault::Internal
    }
}

/// Turns panics into answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct CatchPanicLayer;

impl<S> Layer<S> for CatchPanicLayer {
    type Service = CatchPanic<S>;

    fn layer(&self, inner: S) -> CatchPanic<S> {
        CatchPanic { inner }
    }
}

/// The service of [`CatchPanicLayer`].
#[derive(Clone, Debug)]
pub struct CatchPanic<S> {
    inner: S,
}

impl<S: Inner> Service<Request<Body>> for CatchPanic<S> {
    type Response = S::Response;
    type Error = Infallible;
    type Future = AnswerFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> AnswerFuture {
        let method = Method::from_path(request.uri().path());
        let started = std::panic::catch_unwind(AssertUnwindSafe(|| self.inner.call(request)));
        Box::pin(async move {
            let Ok(answer) = started else {
                return Ok(defect(method));
            };
            match AssertUnwindSafe(answer).catch_unwind().await {
                Ok(answer) => answer,
                Err(_) => Ok(defect(method)),
            }
        })
    }
}

fn defect(method: Option<Method>) -> Response<Body> {
    let status = match method {
        Some(method) => status(method, &OperationError::Panicked(method)),
        None => unmatched(&Defect),
    };
    status.into_http()
}
