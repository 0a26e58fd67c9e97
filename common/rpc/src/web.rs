//! The HTTP side: `/metrics` for Prometheus, `/healthz` for kubelet.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::metrics::Metrics;

/// Time for a client to send the head of its request.
const HEAD: Duration = Duration::from_secs(10);

/// Time after a failed accept, so that a lack of file handles is not answered with a busy loop.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections that are served at once; more than that wait.
const CONNECTIONS: usize = 64;

/// Answers whether the process can work; if not, why.
pub trait HealthCheck: Send + Sync + 'static {
    /// Checks now. The answer is due within a second.
    fn check(&self) -> BoxFuture<'_, Result<(), String>>;
}

impl HealthCheck for crate::identity::Readiness {
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        use crate::identity::Health;
        let answer = match self.get() {
            Health::Ready => Ok(()),
            Health::Starting => Err("starting".to_owned()),
            Health::Unhealthy(what) => Err(what),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// What the HTTP side answers with.
#[derive(Clone)]
pub struct Pages {
    metrics: Arc<Metrics>,
    health: Arc<dyn HealthCheck>,
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages").finish_non_exhaustive()
    }
}

impl Pages {
    /// Pages for these metrics and this health.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>, health: Arc<dyn HealthCheck>) -> Self {
        Self { metrics, health }
    }

    async fn answer(self, method: Method, path: String) -> Response<Full<Bytes>> {
        if method != Method::GET && method != Method::HEAD {
            return page(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
        }
        match path.as_str() {
            "/metrics" => {
                let mut response = page(StatusCode::OK, self.metrics.render());
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                let kind = header::HeaderValue::from_static(kind);
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                response
            }
            "/healthz" => match self.health.check().await {
                Ok(()) => page(StatusCode::OK, "ok"),
                Err(why) => page(StatusCode::INTERNAL_SERVER_ERROR, why + "\n"),
            },
            _ => page(StatusCode::NOT_FOUND, "try /metrics or /healthz\n"),
        }
    }
}

fn page(code: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = code;
    response
}

/// Serves `pages` on `listener` until `stop` resolves.
pub async fn serve(listener: TcpListener, pages: Pages, stop: impl Future<Output = ()> + Send) {
    let mut stop = pin!(stop);
    let free = Arc::new(tokio::sync::Semaphore::new(CONNECTIONS));
    loop {
        let accepted = async {
            let permit = Arc::clone(&free).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            () = &mut stop => return,
            accepted = accepted => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the metrics endpoint cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let pages = pages.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let (method, path) = (request.method().clone(), request.uri().path().to_owned());
                let answer = pages.clone().answer(method, path);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the metrics endpoint ended early");
            }
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::{Method, StatusCode};
    use http_body_util::BodyExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::oneshot;

    use super::{Pages, serve};
    use crate::identity::{Health, Readiness};
    use crate::metrics::Metrics;

    fn pages() -> (Pages, Readiness) {
        let readiness = Readiness::default();
        let metrics = Metrics::new("azuredisk_csi_driver");
        (Pages::new(metrics, Arc::new(readiness.clone())), readiness)
    }

    async fn get(pages: &Pages, method: Method, path: &str) -> (StatusCode, String) {
        let response = pages.clone().answer(method, path.to_owned()).await;
        let code = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn health_follows_the_readiness() {
        let (pages, readiness) = pages();
        let starting = get(&pages, Method::GET, "/healthz").await;
        assert_eq!(
            starting,
            (StatusCode::INTERNAL_SERVER_ERROR, "starting\n".to_owned())
        );
        readiness.set(Health::Ready);
        let ready = get(&pages, Method::GET, "/healthz").await;
        assert_eq!(ready, (StatusCode::OK, "ok".to_owned()));
        readiness.set(Health::Unhealthy("mkfs.xfs is missing".to_owned()));
        assert_eq!(
            get(&pages, Method::GET, "/healthz").await.1,
            "mkfs.xfs is missing\n"
        );
    }

    #[tokio::test]
    async fn other_paths_and_methods_are_refused() {
        let (pages, _) = pages();
        assert_eq!(get(&pages, Method::GET, "/").await.0, StatusCode::NOT_FOUND);
        let posted = get(&pages, Method::POST, "/metrics").await;
        assert_eq!(posted.0, StatusCode::METHOD_NOT_ALLOWED);
    }

    #[tokio::test]
    async fn metrics_are_served_over_tcp_until_stopped() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(serve(listener, pages().0, async {
            let _ = stopped.await;
        }));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
        assert!(
            text.contains("azuredisk_csi_driver_operations_joined_total 0"),
            "{text}"
        );
        assert!(text.trim_end().ends_with("# EOF"), "{text}");
        drop(stop);
        server.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
