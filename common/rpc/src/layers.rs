//! What every call passes, in this order: trace, metrics, catch_panic, limit.
//!
//! Outermost first: a call that is refused or that panics is still traced and counted.

mod catch_panic;
mod limit;
mod metrics;
mod trace;

use std::convert::Infallible;
use std::pin::Pin;

use tonic::body::Body;

pub use catch_panic::CatchPanicLayer;
pub use limit::LimitLayer;
pub use metrics::MetricsLayer;
pub use trace::TraceLayer;

/// The future of every layer here.
pub type AnswerFuture =
    Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

/// A gRPC server's inner service, as the layers see it.
pub trait Inner:
    tower::Service<
        http::Request<Body>,
        Response = http::Response<Body>,
        Error = Infallible,
        Future: Send + 'static,
    >
{
}

impl<S> Inner for S where
    S: tower::Service<
            http::Request<Body>,
            Response = http::Response<Body>,
            Error = Infallible,
            Future: Send + 'static,
        >
{
}

/// The code of an answer. It stands in a header if the call failed before a message was sent, as
/// every failed unary call does; without that header the call succeeded.
fn code_of(response: &http::Response<Body>) -> tonic::Code {
    match response.headers().get("grpc-status") {
        Some(code) => tonic::Code::from_bytes(code.as_bytes()),
        None => tonic::Code::Ok,
    }
}

#[cfg(test)]
mod tests;
