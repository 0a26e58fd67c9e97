//! Serving: the layers in their order, and a bounded drain at the end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Clock;
use tokio::sync::oneshot;
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tonic::service::Routes;
use tonic::transport::Server;
use tower::ServiceBuilder;

use crate::dispatcher::Dispatcher;
use crate::layers::{CatchPanicLayer, LimitLayer, MetricsLayer, TraceLayer};
use crate::listener::{Bound, Listener};
use crate::metrics::Metrics;

/// Streams on one connection; sidecars send all their calls over one.
const STREAMS: u32 = 4096;

/// Serving failed.
#[derive(Debug, thiserror::Error)]
#[error("serving CSI failed")]
pub struct ServeError(#[from] tonic::transport::Error);

/// How to serve.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Measures calls.
    pub clock: Arc<dyn Clock>,
    /// Counts calls.
    pub metrics: Arc<Metrics>,
    /// Most calls in progress, over all connections.
    pub calls: usize,
    /// Time for calls and operations to end after the signal to stop.
    pub drain: Duration,
}

impl Serving {
    /// 4096 calls, 25 s to drain (kubelet kills after 30).
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, metrics: Arc<Metrics>) -> Self {
        Self {
            clock,
            metrics,
            calls: 4096,
            drain: Duration::from_secs(25),
        }
    }
}

/// Resolves when the process is asked to stop: SIGTERM (kubelet) or SIGINT (a terminal).
///
/// # Errors
/// The handlers cannot be installed.
pub fn terminated() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}

/// Serves `routes` on `listener` until `stop` resolves, then lets calls and the operations of
/// `dispatcher` end.
///
/// # Errors
/// The transport failed.
pub async fn serve(
    listener: Listener,
    routes: Routes,
    dispatcher: &Dispatcher,
    serving: Serving,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let layers = ServiceBuilder::new()
        .layer(TraceLayer::new(Arc::clone(&serving.clock)))
        .layer(MetricsLayer::new(
            Arc::clone(&serving.metrics),
            Arc::clone(&serving.clock),
        ))
        .layer(CatchPanicLayer)
        .layer(LimitLayer::new(serving.calls))
        .into_inner();
    let router = Server::builder()
        .max_concurrent_streams(STREAMS)
        .layer(layers)
        .add_routes(routes);
    let (signal, signalled) = oneshot::channel::<()>();
    let signalled = async {
        let _ = signalled.await;
    };
    match listener.0 {
        Bound::Unix(unix, file) => {
            let incoming = UnixListenerStream::new(unix);
            let served = router.serve_with_incoming_shutdown(incoming, signalled);
            let result = until_drained(served, signal, stop, &serving, dispatcher).await;
            file.remove();
            result
        }
        Bound::Tcp(tcp) => {
            let incoming = TcpListenerStream::new(tcp);
            let served = router.serve_with_incoming_shutdown(incoming, signalled);
            until_drained(served, signal, stop, &serving, dispatcher).await
        }
    }
}

async fn until_drained(
    served: impl Future<Output = Result<(), tonic::transport::Error>>,
    signal: oneshot::Sender<()>,
    stop: impl Future<Output = ()>,
    serving: &Serving,
    dispatcher: &Dispatcher,
) -> Result<(), ServeError> {
    let mut served = pin!(served);
    tokio::select! {
        result = &mut served => return Ok(result?),
        () = stop => {}
    }
    tracing::info!(
        operations = dispatcher.running(),
        "stopping: no new calls are accepted"
    );
    // The receiver is held by `served`; if that is gone, it has stopped already.
    let _ = signal.send(());
    let began = serving.clock.now();
    match tokio::time::timeout(serving.drain, served).await {
        Ok(result) => result?,
        Err(_) => tracing::warn!("calls are still open at the end of the time to drain"),
    }
    let spent = serving.clock.now().saturating_sub(began);
    let left = dispatcher.drain(serving.drain.saturating_sub(spent)).await;
    if left > 0 {
        tracing::warn!(
            left,
            "operations are cut off; their retries find out how far they came"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
