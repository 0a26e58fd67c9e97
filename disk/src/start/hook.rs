//! The pre-stop hook: lets a node that is being emptied finish its detaches.

use std::sync::Arc;

use azcsi_kube::drain::{self, Drained};
use azcsi_kube::{Kube, Options};
use azcsi_rpc::SystemClock;

use super::error::StartError;
use crate::config::PreStop;
use crate::version::VERSION;

/// Waits if the node is being emptied. Kubelet ends the wait with the pod's grace period.
///
/// # Errors
/// If the API server cannot be asked.
pub async fn run(hook: PreStop) -> Result<(), StartError> {
    azcsi_cloud::install_crypto_provider();
    let options = Options {
        kubeconfig: hook.kubernetes.kubeconfig,
        qps: hook.kubernetes.qps,
        burst: hook.kubernetes.burst,
        user_agent: format!("{}/{VERSION}", hook.driver),
    };
    let Some(kube) = Kube::connect(&options, Arc::new(SystemClock::new())).await? else {
        tracing::warn!("there is no Kubernetes here, so there is nothing to wait for");
        return Ok(());
    };
    match drain::wait(&kube, &hook.driver, &hook.node).await? {
        Drained::NotDraining => tracing::info!(node = %hook.node, "the node is not being emptied"),
        Drained::Empty => tracing::info!(node = %hook.node, "no disk is attached any more"),
    }
    Ok(())
}
