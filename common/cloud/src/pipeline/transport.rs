//! The one seam between this crate and the network.
//!
//! Everything that leaves the process goes through a [`Transport`]: ARM calls, token requests, the
//! metadata service. So a test puts a service in its place, and proxy, CA bundle and timeouts are
//! set in one place.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::uri::Scheme;
use tower::{Service, ServiceExt};

/// Sends one request and reads the whole answer. Does not retry, does not follow redirects.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Sends the request. An answer with an error status is still an answer.
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>>;
}

/// Why there is no answer. What the peer did with the request is not known, unless the connection
/// itself failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct TransportError {
    text: String,
    connected: bool,
    #[source]
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl TransportError {
    /// No connection came about, so the peer has not seen the request.
    pub fn connect(host: &str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            text: format!("cannot connect to {host}"),
            connected: false,
            source: Some(Arc::from(source.into())),
        }
    }

    /// The connection broke or fell silent; the peer may have seen the request.
    pub fn broken(host: &str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            text: format!("no answer from {host}"),
            connected: true,
            source: Some(Arc::from(source.into())),
        }
    }

    /// No answer within the time given to the request.
    #[must_use]
    pub fn silent(host: &str, after: Duration) -> Self {
        Self {
            text: format!("no answer from {host} within {} s", after.as_secs_f64()),
            connected: true,
            source: None,
        }
    }

    /// Whether the peer may have seen the request.
    #[must_use]
    pub const fn may_have_arrived(&self) -> bool {
        self.connected
    }
}

/// How [`HttpTransport`] connects.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// PEM certificates to trust in addition to those of the system.
    pub ca_bundle: Option<Vec<u8>>,
    /// Whether `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` count. Never for the metadata service.
    pub proxy: Proxy,
    /// Limit for making a connection.
    pub connect_timeout: Duration,
    /// Limit for one request with its answer.
    pub request_timeout: Duration,
}

/// Whether a proxy may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// As the process environment says.
    System,
    /// None, whatever the environment says.
    Never,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            ca_bundle: None,
            proxy: Proxy::System,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
        }
    }
}

/// The network, over HTTP/1.1 and HTTP/2 with rustls.
#[derive(Clone, Debug)]
pub struct HttpTransport {
    client: reqwest::Client,
    trust: Trust,
}

/// Whether there is anybody to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// The system's certificates, and those of the bundle.
    Given,
    /// The system has no certificates and no bundle was given: plain HTTP works, as for the metadata
    /// service, and nothing else.
    Nobody,
}

/// Why a request over TLS is not even tried.
#[derive(Debug, thiserror::Error)]
#[error(
    "this machine has no CA certificates: install the package ca-certificates, or name a bundle with \
     --ca-bundle"
)]
struct NoRoots;

/// Why no [`HttpTransport`] can be made.
#[derive(Debug, thiserror::Error)]
pub enum TransportStartError {
    /// The CA bundle is not a list of PEM certificates.
    #[error("the CA bundle is not a list of PEM certificates")]
    CaBundle(#[source] reqwest::Error),
    /// The CA bundle holds nothing.
    #[error("the CA bundle holds no PEM certificate")]
    EmptyCaBundle,
    /// The TLS set-up failed.
    #[error("cannot set up the HTTP client")]
    Client(#[source] reqwest::Error),
}

/// Makes `ring` the crypto provider of this process. To be called once, before the first TLS use;
/// a second call changes nothing.
pub fn install_crypto_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Lost only to another thread that has installed the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

impl HttpTransport {
    /// Sets the client up; does not connect.
    ///
    /// # Errors
    /// If the CA bundle cannot be read or TLS cannot be set up.
    pub fn new(options: &HttpOptions) -> Result<Self, TransportStartError> {
        let first = Self::build(options, Trust::Given);
        match first {
            // Also what a system without certificates leads to; no use of plain HTTP needs any.
            Err(TransportStartError::Client(_)) if options.ca_bundle.is_none() => {
                Self::build(options, Trust::Nobody).or(first)
            }
            made => made,
        }
    }

    fn build(options: &HttpOptions, trust: Trust) -> Result<Self, TransportStartError> {
        install_crypto_provider();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(options.connect_timeout)
            .timeout(options.request_timeout)
            .pool_idle_timeout(Duration::from_secs(90))
            .tls_version_min(reqwest::tls::Version::TLS_1_2)
            .http2_keep_alive_interval(Duration::from_secs(30))
            .http2_keep_alive_timeout(Duration::from_secs(15));
        if let Some(pem) = &options.ca_bundle {
            let certificates = reqwest::Certificate::from_pem_bundle(pem)
                .map_err(TransportStartError::CaBundle)?;
            if certificates.is_empty() {
                return Err(TransportStartError::EmptyCaBundle);
            }
            builder = builder.tls_certs_merge(certificates);
        }
        if options.proxy == Proxy::Never {
            builder = builder.no_proxy();
        }
        if trust == Trust::Nobody {
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(TransportStartError::Client)?;
        Ok(Self { client, trust })
    }
}

fn host_of(uri: &http::Uri) -> String {
    uri.authority()
        .map_or_else(String::new, ToString::to_string)
}

fn classify(host: &str, error: reqwest::Error) -> TransportError {
    let connect = error.is_connect() || error.is_builder();
    // The URL can carry a signature.
    let error = error.without_url();
    if connect {
        TransportError::connect(host, error)
    } else {
        TransportError::broken(host, error)
    }
}

impl Transport for HttpTransport {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let host = host_of(request.uri());
            if self.trust == Trust::Nobody && request.uri().scheme() != Some(&Scheme::HTTP) {
                return Err(TransportError::connect(&host, NoRoots));
            }
            let request =
                reqwest::Request::try_from(request).map_err(|error| classify(&host, error))?;
            let answer = self
                .client
                .execute(request)
                .await
                .map_err(|error| classify(&host, error))?;
            let mut reply = http::Response::builder().status(answer.status());
            if let Some(headers) = reply.headers_mut() {
                headers.clone_from(answer.headers());
            }
            let body = answer
                .bytes()
                .await
                .map_err(|error| classify(&host, error))?;
            reply
                .body(body)
                .map_err(|error| TransportError::broken(&host, error))
        })
    }
}

/// Any tower service as a transport: a server in the same process, or a layer around one.
#[derive(Clone)]
pub struct ServiceTransport<S>(S);

impl<S> ServiceTransport<S> {
    /// Wraps the service; each request goes to a clone of it.
    pub const fn new(service: S) -> Self {
        Self(service)
    }
}

impl<S> fmt::Debug for ServiceTransport<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceTransport")
    }
}

impl<S> Transport for ServiceTransport<S>
where
    S: Service<http::Request<Bytes>, Response = http::Response<Bytes>>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
{
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        let service = self.0.clone();
        Box::pin(async move {
            let host = host_of(request.uri());
            service
                .oneshot(request)
                .await
                .map_err(|error| TransportError::broken(&host, error))
        })
    }
}

#[cfg(test)]
mod tests;
