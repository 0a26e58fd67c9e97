//! Waiting until a node that is being emptied has no attachments left.
//!
//! A node plugin that ends while its node is being drained leaves attachments behind that Kubernetes
//! only gives up after six minutes. So a pre-stop hook waits for them, but only then: an update of
//! the DaemonSet must not be delayed.

use std::time::Duration;

use azcsi_types::fault::report;
use azcsi_types::node::NodeName;

use crate::client::Kube;
use crate::error::KubeError;
use crate::nodes::Node;

/// Taints of a node that is being emptied: cordoned, cluster autoscaler, Karpenter's two.
const DRAINING: [&str; 4] = [
    "node.kubernetes.io/unschedulable",
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
];

/// Time between two looks.
const STEP: Duration = Duration::from_secs(2);

/// Errors in a row before the wait is given up.
const TRIES: u32 = 5;

/// How the wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// The node is not being emptied; nothing was waited for.
    NotDraining,
    /// No attachment of the driver is left.
    Empty,
}

fn draining(node: &Node) -> bool {
    node.unschedulable()
        || node
            .taints()
            .iter()
            .any(|taint| DRAINING.contains(&taint.key.as_str()))
}

/// Waits until `node` has no attachment of `driver`, if it is being emptied or already gone.
///
/// There is no limit of time: the caller is ended by kubelet when the grace period is over.
///
/// # Errors
/// If the API server does not answer several times in a row.
pub async fn wait(kube: &Kube, driver: &str, node: &NodeName) -> Result<Drained, KubeError> {
    match retried(async || kube.node(node).await).await {
        Ok(found) if !draining(&found) => return Ok(Drained::NotDraining),
        Ok(_) => {}
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    loop {
        let all = retried(async || kube.attachments(driver).await).await?;
        let left = all.iter().filter(|one| one.node == *node).count();
        if left == 0 {
            return Ok(Drained::Empty);
        }
        tracing::info!(%node, left, "waiting for volumes to be detached");
        tokio::time::sleep(STEP).await;
    }
}

async fn retried<T>(ask: impl AsyncFn() -> Result<T, KubeError>) -> Result<T, KubeError> {
    let mut tries = 1;
    loop {
        match ask().await {
            Ok(value) => return Ok(value),
            Err(error) if error.is_not_found() || tries == TRIES => return Err(error),
            Err(error) => tracing::warn!("{}", report(&error)),
        }
        tries += 1;
        tokio::time::sleep(STEP).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::{Value, json};

    use super::{Drained, wait};
    use crate::testing::{Server, answer};

    const DRIVER: &str = "disk.csi.azure.com";

    fn attachment(driver: &str) -> Value {
        json!({"metadata": {"name": driver}, "spec": {"attacher": driver, "nodeName": "n1",
            "source": {"persistentVolumeName": "pv"}}})
    }

    /// A node with this spec, and one attachment that is gone at the third look.
    fn server(spec: Value) -> Server {
        let looks = AtomicU32::new(0);
        Server::new(move |request| match request.uri().path() {
            "/api/v1/nodes/n1" if spec.is_null() => {
                answer(404, &json!({"kind": "Status", "code": 404}))
            }
            "/api/v1/nodes/n1" => answer(200, &json!({"metadata": {"name": "n1"}, "spec": spec})),
            _ => {
                let mut items = vec![attachment("file.csi.azure.com")];
                if looks.fetch_add(1, Ordering::SeqCst) < 2 {
                    items.push(attachment(DRIVER));
                }
                answer(200, &json!({"metadata": {}, "items": items}))
            }
        })
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_node_that_is_being_emptied_is_waited_for() {
        let tainted = |key| json!({"taints": [{"key": key, "effect": "NoSchedule"}]});
        for (spec, outcome, looks) in [
            (json!({}), Drained::NotDraining, 0),
            (tainted("something/else"), Drained::NotDraining, 0),
            (json!({"unschedulable": true}), Drained::Empty, 3),
            (tainted("ToBeDeletedByClusterAutoscaler"), Drained::Empty, 3),
            (tainted("karpenter.sh/disrupted"), Drained::Empty, 3),
            (Value::Null, Drained::Empty, 3),
        ] {
            let server = server(spec.clone());
            let found = wait(&server.kube(), DRIVER, &"n1".parse().unwrap()).await;
            assert_eq!(found.unwrap(), outcome, "{spec}");
            assert_eq!(
                server.count("/apis/storage.k8s.io/v1/volumeattachments"),
                looks,
                "{spec}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stays_away_ends_the_wait_with_an_error() {
        let server = Server::failing(u32::MAX, server(json!({})));
        let failed = wait(&server.kube(), DRIVER, &"n1".parse().unwrap()).await;
        assert!(failed.is_err());
    }
}
