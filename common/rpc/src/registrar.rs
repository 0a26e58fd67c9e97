//! The plugin makes itself known to kubelet, as the node-driver-registrar sidecar would.
//!
//! The plugin is the server here: kubelet watches a folder for sockets, asks on each one who is there,
//! and tells what became of it.
//!
//! | module | what it holds |
//! |---|---|
//! | `authority` | kubelet's odd `:authority` is replaced before HTTP/2 sees it |
//! | `keeper` | who holds the socket, and what to do about it |
//! | `service` | the two answers |
//! | `settings` | what may be said about it on the command line |
//! | `stream` | a connection with `authority` in its way |
//!
//! It never fights: where another process answers on the socket, a sidecar of the same pod or the plugin
//! of a pod that is not gone yet, this one stays quiet, and looks again.

mod authority;
mod keeper;
mod service;
mod settings;
mod stream;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use tokio::task::JoinHandle;

use crate::listener::SocketFile;
use crate::metrics::Metrics;
use keeper::Keeper;

pub use settings::RegistrarArgs;

/// Time between two looks at the socket. Kubelet notices at once what changes in its folder; this is for
/// what happens to ours: another process let go of the name, or somebody removed it.
const LOOK: Duration = Duration::from_secs(5);

/// What kubelet is told, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registrar {
    /// The driver's name.
    pub driver: String,
    /// Path of the CSI socket, as kubelet sees it.
    pub endpoint: PathBuf,
    /// The folder that kubelet watches, as this process sees it.
    pub folder: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    success: &'static str,
}

/// What is counted about registrations.
#[derive(Clone, Debug, Default)]
struct Counts {
    registered: Gauge,
    notices: Family<Outcome, Counter>,
}

impl Counts {
    fn shown(metrics: &Metrics, prefix: &str) -> Self {
        let own = Self::default();
        metrics.with_registry(|registry| {
            let part = registry.sub_registry_with_prefix(prefix);
            part.register(
                "kubelet_registered",
                "1 while kubelet's last word about this process is that it uses it",
                own.registered.clone(),
            );
            part.register(
                "kubelet_registrations",
                "Kubelet's words about the registration",
                own.notices.clone(),
            );
        });
        own
    }
}

/// The file of the socket while it is this process's.
type Held = Arc<Mutex<Option<SocketFile>>>;

/// A registration that is kept up. When it is dropped, the socket's file goes, and kubelet forgets the
/// driver; unless the file is a successor's by then.
#[derive(Debug)]
pub struct Registered {
    held: Held,
    keeper: JoinHandle<()>,
}

impl Registrar {
    /// Keeps the driver registered until the answer is dropped.
    ///
    /// The CSI socket must be bound: kubelet calls it at once.
    #[must_use]
    pub fn start(self, metrics: &Metrics, prefix: &str) -> Registered {
        let held = Held::default();
        let counts = Counts::shown(metrics, prefix);
        let mut keeper = Keeper::new(self, Arc::clone(&held), counts);
        let keeper = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(LOOK);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                keeper.look().await;
            }
        });
        Registered { held, keeper }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.keeper.abort();
        let held = self.held.lock();
        let held = held
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        if let Some(file) = held {
            file.remove();
        }
    }
}

#[cfg(test)]
mod tests;
