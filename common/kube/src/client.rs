//! The connection: who to talk to, how fast, how long to wait for an answer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azcsi_types::clock::Clock;
use http::{HeaderValue, Method, Request, header};
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use serde::de::DeserializeOwned;

use crate::error::KubeError;

/// Time for one request and its answer. A watch is not bound by it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How to connect.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A kubeconfig file; without one, the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// Requests per second in the long run; 0 leaves pacing to the priority and fairness of the API
    /// server.
    pub qps: f64,
    /// Requests at once before `qps` begins to count.
    pub burst: u32,
    /// What the server's audit log shows.
    pub user_agent: String,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig {} cannot be used", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: KubeconfigError,
    },
    /// This is a pod, but its service account cannot be used.
    #[error("the service account of this pod cannot be used")]
    ServiceAccount(#[source] InClusterError),
    /// The user agent has characters that HTTP does not allow.
    #[error("'{0}' cannot be a user agent: only visible ASCII characters and spaces")]
    UserAgent(String),
    /// The API server is to be checked against the system's certificates, and there are none.
    #[error(
        "the certificate of {server} cannot be checked: this machine has no CA certificates; name them \
         in the kubeconfig (certificate-authority), or install the package ca-certificates"
    )]
    NoRoots {
        /// The API server.
        server: String,
        /// What the client said.
        source: Box<kube::Error>,
    },
    /// TLS or authentication cannot be set up.
    #[error("the client of the Kubernetes API cannot be set up")]
    Client(#[source] Box<kube::Error>),
}

/// A client of the Kubernetes API. Cheap to clone; all clones share connections and pace.
#[derive(Clone)]
pub struct Kube {
    client: kube::Client,
    pace: Arc<Pace>,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Kube {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kube").finish_non_exhaustive()
    }
}

impl Kube {
    /// Connects as `options` say; `None` if there is neither a kubeconfig nor a pod's service
    /// account, so that the process runs outside Kubernetes. No request is sent.
    ///
    /// # Errors
    /// What is given cannot be used.
    pub async fn connect(
        options: &Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Option<Self>, ConnectError> {
        let Some(mut config) = config(options).await? else {
            return Ok(None);
        };
        let agent = HeaderValue::from_str(&options.user_agent)
            .map_err(|_| ConnectError::UserAgent(options.user_agent.clone()))?;
        config.headers.push((header::USER_AGENT, agent));
        let (server, roots) = (config.cluster_url.to_string(), roots(&config));
        if roots == Roots::Unused {
            // Otherwise the client looks for the system's, and a machine without any has no client.
            config.root_cert = Some(Vec::new());
        }
        let client = kube::Client::try_from(config).map_err(|source| {
            let source = Box::new(source);
            match (roots, source.as_ref()) {
                (
                    Roots::System,
                    kube::Error::RustlsTls(kube::client::RustlsTlsError::AddRootCertificate(_)),
                ) => ConnectError::NoRoots { server, source },
                _ => ConnectError::Client(source),
            }
        })?;
        let pace = Pace::new(options.qps, options.burst);
        Ok(Some(Self {
            client,
            pace: Arc::new(pace),
            clock,
        }))
    }

    /// A client over a connection that exists already, without a pace.
    #[must_use]
    pub fn over(client: kube::Client, clock: Arc<dyn Clock>) -> Self {
        Self {
            client,
            pace: Arc::new(Pace::new(0.0, 0)),
            clock,
        }
    }

    /// The clock of this client.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) async fn client(&self) -> &kube::Client {
        let wait = self.pace.claim(self.clock.now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        &self.client
    }

    /// Sends one request. `what` completes "cannot …".
    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        what: &str,
        request: Request<Vec<u8>>,
    ) -> Result<T, KubeError> {
        let client = self.client().await;
        // The future of the client library is large.
        let answer = Box::pin(client.request::<T>(request));
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer.map_err(|error| KubeError::from_kube(what.to_owned(), error)),
            Err(_) => Err(KubeError::Slow {
                what: what.to_owned(),
                patience: PATIENCE,
            }),
        }
    }

    /// Reads an object, or a page of a list.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        what: &str,
        path: &str,
    ) -> Result<T, KubeError> {
        let request = request(what, Method::GET, path, None)?;
        self.send(what, request).await
    }

    /// Writes an object.
    pub(crate) async fn write<T: DeserializeOwned>(
        &self,
        what: &str,
        path: &str,
        write: Write<'_>,
    ) -> Result<T, KubeError> {
        let method = match write {
            Write::Create(_) => Method::POST,
            Write::MergePatch(_) | Write::JsonPatch(_) => Method::PATCH,
        };
        let request = request(what, method, path, Some(write))?;
        self.send(what, request).await
    }
}

/// What is written, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Write<'a> {
    /// POST of a new object.
    Create(&'a serde_json::Value),
    /// PATCH by RFC 7386.
    MergePatch(&'a serde_json::Value),
    /// PATCH by RFC 6902.
    JsonPatch(&'a serde_json::Value),
}

pub(crate) fn request(
    what: &str,
    method: Method,
    path: &str,
    body: Option<Write<'_>>,
) -> Result<Request<Vec<u8>>, KubeError> {
    let (kind, body) = match body {
        None => (None, Vec::new()),
        Some(Write::Create(body)) => (Some("application/json"), body.to_string().into_bytes()),
        Some(Write::MergePatch(body)) => (
            Some("application/merge-patch+json"),
            body.to_string().into_bytes(),
        ),
        Some(Write::JsonPatch(body)) => (
            Some("application/json-patch+json"),
            body.to_string().into_bytes(),
        ),
    };
    let mut builder = Request::builder().method(method).uri(path);
    if let Some(kind) = kind {
        builder = builder.header(header::CONTENT_TYPE, kind);
    }
    builder
        .body(body)
        .map_err(|error| KubeError::from_kube(what.to_owned(), kube::Error::HttpError(error)))
}

/// Escapes one segment of a path or one value of a query (RFC 3986, unreserved characters stay).
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

async fn config(options: &Options) -> Result<Option<kube::Config>, ConnectError> {
    if let Some(path) = &options.kubeconfig {
        let wrong = |source| ConnectError::Kubeconfig {
            path: path.clone(),
            source,
        };
        let file = Kubeconfig::read_from(path).map_err(wrong)?;
        let context = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(file, &context);
        return Box::pin(config).await.map(Some).map_err(wrong);
    }
    match kube::Config::incluster() {
        Ok(config) => Ok(Some(config)),
        // The variables that kubelet sets in every pod are missing.
        Err(InClusterError::ReadEnvironmentVariable(_)) => Ok(None),
        Err(error) => Err(ConnectError::ServiceAccount(error)),
    }
}

/// Which certificates the API server is checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Roots {
    /// None: it is spoken to without TLS.
    Unused,
    /// Those that the configuration names.
    Named,
    /// The system's.
    System,
}

fn roots(config: &kube::Config) -> Roots {
    let is_plain = |url: &http::Uri| url.scheme() == Some(&http::uri::Scheme::HTTP);
    let proxy = config.proxy_url.as_ref();
    if is_plain(&config.cluster_url) && proxy.is_none_or(is_plain) {
        Roots::Unused
    } else if config.root_cert.is_some() {
        Roots::Named
    } else {
        Roots::System
    }
}

/// Spaces requests so that they keep a rate, with some at once first.
#[derive(Debug)]
struct Pace {
    step: Duration,
    slack: Duration,
    due: Mutex<Duration>,
}

impl Pace {
    fn new(qps: f64, burst: u32) -> Self {
        let step = if qps > 0.0 {
            Duration::try_from_secs_f64(1.0 / qps).unwrap_or(Duration::ZERO)
        } else {
            Duration::ZERO
        };
        Self {
            step,
            slack: step.saturating_mul(burst.saturating_sub(1)),
            due: Mutex::default(),
        }
    }

    /// Takes the next place; the time to wait for it.
    fn claim(&self, now: Duration) -> Duration {
        if self.step.is_zero() {
            return Duration::ZERO;
        }
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = now.saturating_sub(self.slack);
        *due = (*due).max(earliest);
        let wait = due.saturating_sub(now);
        *due = due.saturating_add(self.step);
        wait
    }
}

#[cfg(test)]
mod tests;
