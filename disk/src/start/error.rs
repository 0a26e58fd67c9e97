//! Why the program does not start. Each becomes one line, with the remedy where there is one.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use azcsi_cloud::config::ConfigError;
use azcsi_cloud::environment::EnvironmentError;
use azcsi_cloud::pipeline::transport::TransportStartError;
use azcsi_host::HostError;
use azcsi_kube::{ConnectError, KubeError};
use azcsi_rpc::listener::BindError;
use azcsi_rpc::server::ServeError;

/// A part that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The system gives no signals.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// The socket.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The connection to the cluster.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A request to the cluster.
    #[error(transparent)]
    Kube(#[from] KubeError),
    /// Metrics.
    #[error("cannot serve metrics and health on {address}")]
    Metrics {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// Serving failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A file cannot be read.
    #[error("cannot read {what} {}", path.display())]
    File {
        /// What it is.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// There is no cloud configuration.
    #[error(
        "there is no cloud configuration: {looked}; give --cloud-config, or create one of these"
    )]
    NoCloud {
        /// Where it was looked for.
        looked: String,
    },
    /// The cloud configuration is wrong.
    #[error(transparent)]
    Cloud(#[from] ConfigError),
    /// A key that the controller needs.
    #[error("key '{key}' of the cloud configuration is missing: the controller needs it")]
    CloudKey {
        /// The key.
        key: &'static str,
    },
    /// The region.
    #[error("key 'location' of the cloud configuration is wrong")]
    Location(#[from] azcsi_types::topology::NotARegion),
    /// The cloud is not known or not reachable.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The CA bundle or TLS.
    #[error("the connection to Azure cannot be set up, CA bundle {bundle}")]
    Transport {
        /// The file, or a word for none.
        bundle: String,
        /// The reason.
        source: TransportStartError,
    },
    /// The clients of Azure.
    #[error(transparent)]
    Azure(#[from] azcsi_cloud::StartError),
    /// The node service without root.
    #[error("the node service must run as root: it mounts filesystems and opens devices")]
    NotRoot,
    /// A folder that has to be there.
    #[error("--{flag} {} is no folder", path.display())]
    NoFolder {
        /// The flag.
        flag: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// The node's state.
    #[error(transparent)]
    Host(#[from] HostError),
}
