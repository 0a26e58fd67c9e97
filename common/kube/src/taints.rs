//! Removal of the taint that keeps pods away until the driver is there.
//!
//! Operators put `<driver>/agent-not-ready` on new nodes. It may go once kubelet has registered the
//! driver, together with the limit of volumes: before that, the scheduler would place pods as if the
//! node took any number of them. Level-triggered: each round looks again, an error ends nothing.

use std::time::Duration;

use azcsi_types::fault::report;
use azcsi_types::node::NodeName;
use serde_json::json;

use crate::client::{Kube, Write, escaped};
use crate::csinodes::Registration;
use crate::error::KubeError;
use crate::nodes::{Node, Taint};

/// Whether the driver reports a limit of volumes for its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It reports one, so the taint stays until kubelet has published it.
    Reported,
    /// It reports none, so kubelet will never publish one.
    None,
}

/// Whether to go on once the node is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The taint may come back, for example with a node that is re-used.
    Forever,
    /// Once is enough.
    UntilFree,
}

/// What to remove, from where, and when.
#[derive(Clone, Debug)]
pub struct Removal {
    /// The driver; its name begins the taint's key.
    pub driver: String,
    /// The node.
    pub node: NodeName,
    /// What kubelet is going to publish.
    pub limit: Limit,
    /// Whether to go on.
    pub repeat: Repeat,
    /// Time before the first look.
    pub delay: Duration,
}

/// What one look has found and done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// There is no such taint (any more).
    Free,
    /// There is one, but the driver is not ready on this node.
    NotYet,
}

const QUICK: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
const SLOW: Duration = Duration::from_secs(300);

/// The taint's key.
#[must_use]
pub fn key(driver: &str) -> String {
    format!("{driver}/agent-not-ready")
}

/// The JSON patch that removes every taint of this key; `None` if there is none.
///
/// It tests the list that it replaces, so a taint that somebody adds meanwhile is never lost.
fn patch(taints: &[Taint], key: &str) -> Option<serde_json::Value> {
    let rest: Vec<&Taint> = taints.iter().filter(|taint| taint.key != key).collect();
    (rest.len() < taints.len()).then(|| {
        json!([
            {"op": "test", "path": "/spec/taints", "value": taints},
            {"op": "replace", "path": "/spec/taints", "value": rest},
        ])
    })
}

impl Removal {
    /// Looks once and acts.
    ///
    /// # Errors
    /// If the node or its registration cannot be read, or the node cannot be patched.
    pub async fn round(&self, kube: &Kube) -> Result<Round, KubeError> {
        let node = kube.node(&self.node).await?;
        let Some(patch) = patch(node.taints(), &key(&self.driver)) else {
            return Ok(Round::Free);
        };
        let ready = match kube.registration(&self.node, &self.driver).await? {
            Registration::Absent => false,
            Registration::Unlimited => self.limit == Limit::None,
            Registration::Limited(_) => true,
        };
        if !ready {
            return Ok(Round::NotYet);
        }
        let path = format!("/api/v1/nodes/{}", escaped(node.name()));
        let what = format!("remove the taint of node {}", self.node);
        let _: Node = kube.write(&what, &path, Write::JsonPatch(&patch)).await?;
        tracing::info!(node = %self.node, "removed the taint {}", key(&self.driver));
        Ok(Round::Free)
    }

    /// Looks again and again; ends only if it is not to be repeated.
    pub async fn run(self, kube: Kube) {
        tokio::time::sleep(self.delay).await;
        let mut pause = QUICK.0;
        loop {
            match self.round(&kube).await {
                Ok(Round::Free) if self.repeat == Repeat::UntilFree => return,
                Ok(Round::Free) => {
                    pause = QUICK.0;
                    tokio::time::sleep(SLOW).await;
                    continue;
                }
                Ok(Round::NotYet) => tracing::debug!(node = %self.node, "not registered yet"),
                Err(error) => {
                    tracing::warn!(retry = ?pause, "not-ready taint: {}", report(&error));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(QUICK.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{Limit, Removal, Repeat, Round};
    use crate::testing::{Server, answer};

    const DRIVER: &str = "disk.csi.azure.com";

    fn removal(limit: Limit) -> Removal {
        Removal {
            driver: DRIVER.to_owned(),
            node: "n1".parse().unwrap(),
            limit,
            repeat: Repeat::UntilFree,
            delay: Duration::from_secs(30),
        }
    }

    /// A server with one tainted node, whose registration is `drivers`.
    fn server(drivers: Value) -> Server {
        let taints = json!([
            {"key": "other", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
            {"key": "disk.csi.azure.com/agent-not-ready", "effect": "NoSchedule"},
        ]);
        Server::new(
            move |request| match (request.method().as_str(), request.uri().path()) {
                ("GET", "/api/v1/nodes/n1") => answer(
                    200,
                    &json!({"metadata": {"name": "n1"}, "spec": {"taints": taints}}),
                ),
                ("PATCH", "/api/v1/nodes/n1") => answer(200, &json!({"metadata": {"name": "n1"}})),
                ("GET", "/apis/storage.k8s.io/v1/csinodes/n1") => {
                    answer(200, &json!({"spec": {"drivers": drivers}}))
                }
                _ => answer(404, &json!({"kind": "Status", "code": 404})),
            },
        )
    }

    #[tokio::test]
    async fn the_taint_waits_for_the_limit_unless_there_is_none_nd_19() {
        let bare = json!([{"name": DRIVER, "nodeID": "n1"}]);
        let limited = json!([{"name": DRIVER, "allocatable": {"count": 16}}]);
        let other = json!([{"name": "file.csi.azure.com", "allocatable": {"count": 1}}]);
        for (drivers, limit, round) in [
            (json!([]), Limit::Reported, Round::NotYet),
            (other, Limit::None, Round::NotYet),
            (bare.clone(), Limit::Reported, Round::NotYet),
            (bare, Limit::None, Round::Free),
            (limited, Limit::Reported, Round::Free),
        ] {
            let server = server(drivers.clone());
            let found = removal(limit).round(&server.kube()).await.unwrap();
            assert_eq!(found, round, "{drivers} {limit:?}");
            let patched = server.bodies("PATCH");
            assert_eq!(
                patched.len(),
                usize::from(round == Round::Free),
                "{drivers}"
            );
        }
    }

    #[tokio::test]
    async fn the_patch_keeps_every_other_taint_and_tests_what_it_replaces() {
        let server = server(json!([{"name": DRIVER, "allocatable": {"count": 16}}]));
        removal(Limit::Reported)
            .round(&server.kube())
            .await
            .unwrap();
        let patch = server.bodies("PATCH").remove(0);
        assert_eq!(patch[0]["op"], "test");
        assert_eq!(patch[0]["value"].as_array().unwrap().len(), 2);
        assert_eq!(patch[1]["op"], "replace");
        assert_eq!(patch[1]["value"].as_array().unwrap().len(), 1);
        assert_eq!(patch[1]["value"][0]["timeAdded"], "2026-01-01T00:00:00Z");
    }

    #[tokio::test(start_paused = true)]
    async fn errors_do_not_end_the_loop() {
        let server = Server::failing(
            3,
            server(json!([{"name": DRIVER, "allocatable": {"count": 1}}])),
        );
        removal(Limit::Reported).run(server.kube()).await;
        assert_eq!(server.bodies("PATCH").len(), 1);
    }
}
