//! Sockets: accepts connections, speaks HTTP/1 and HTTP/2, with or without TLS, and hands whole
//! requests to a [`Site`].

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::CONTENT_LENGTH;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Bodies above this are refused; the largest real one is a file range of 4 MiB.
const BODY_LIMIT: usize = 8 << 20;

/// How the client reached a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Plain.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// As it stands in a URL.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// The connection is to be cut without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was cut on purpose")]
pub struct Cut;

/// A response of a site.
pub type SiteBody = UnsyncBoxBody<Bytes, Infallible>;

/// What a site gives back.
pub type Answer = Result<Response<SiteBody>, Cut>;

/// Something that answers requests.
pub trait Site: std::fmt::Debug + Send + Sync + 'static {
    /// Answers one. The scheme is among the request's extensions.
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Answer>;
}

/// A bound socket that a site is served on.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Binds an address of this machine's loopback interface.
    ///
    /// # Errors
    /// When the address is not a loopback one or is taken.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the simulator has no protection and listens on loopback addresses only",
            ));
        }
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` becomes true; then every connection is dropped.
    pub async fn serve(
        self,
        tls: Option<TlsAcceptor>,
        site: Arc<dyn Site>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(connection(stream, tls.clone(), Arc::clone(&site)));
                    }
                    // Out of descriptors: the next connection that ends frees one.
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        let _ended = connections.join_next().await;
                    }
                },
                Some(_) = connections.join_next() => {}
                () = ended(&mut stop) => return,
            }
        }
    }
}

/// Resolves when the end was asked for, or the one who could ask is gone.
pub(super) async fn ended(stop: &mut watch::Receiver<bool>) {
    let asked = stop.wait_for(|stop| *stop).await.is_ok();
    tracing::debug!(asked, "a task ends");
}

async fn connection(stream: TcpStream, tls: Option<TlsAcceptor>, site: Arc<dyn Site>) {
    let nodelay = stream.set_nodelay(true);
    if let Err(error) = nodelay {
        tracing::debug!(%error, "TCP_NODELAY");
    }
    match tls {
        None => speak(stream, Scheme::Http, site).await,
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => speak(stream, Scheme::Https, site).await,
            Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
        },
    }
}

async fn speak<S>(stream: S, scheme: Scheme, site: Arc<dyn Site>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let site = Arc::clone(&site);
        async move { whole(request, scheme, site.as_ref()).await }
    });
    let builder = Builder::new(TokioExecutor::new());
    if let Err(error) = builder
        .serve_connection(TokioIo::new(stream), service)
        .await
    {
        tracing::debug!(error = %error, "a connection ended early");
    }
}

async fn whole(request: Request<Incoming>, scheme: Scheme, site: &dyn Site) -> Answer {
    let (mut parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, BODY_LIMIT).collect().await else {
        let mut response = Response::new(Full::new(Bytes::new()).boxed_unsync());
        *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
        return Ok(response);
    };
    parts.extensions.insert(scheme);
    site.answer(Request::from_parts(parts, body.to_bytes()))
        .await
}

/// A response whose body is all there. When its headers promise another length than it has, the
/// connection breaks after it, which is how a truncated body reaches a client.
#[must_use]
pub fn full(response: Response<Bytes>) -> Response<SiteBody> {
    let promised = response.headers().get(CONTENT_LENGTH);
    let promised = promised.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if promised.is_none_or(|length| length == response.body().len()) {
        return response.map(|body| Full::new(body).boxed_unsync());
    }
    // A stream does not tell its length, so the promise stands until it is broken.
    response.map(|body| {
        let frame = Ok::<_, Infallible>(Frame::data(body));
        StreamBody::new(futures_util::stream::iter([frame])).boxed_unsync()
    })
}
