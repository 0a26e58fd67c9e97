//! NodeGetStorageHealth: whether this node can serve volumes at all.

use std::sync::Arc;

use azcsi_host::probe::FsKind;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;
use v1::StorageHealthErrorType as Status;
use v1::node_get_storage_health_response::StorageBackendHealth;

use super::Node;
use super::error::NodeError;
use super::machine::Look;

/// The RPC.
#[derive(Debug)]
pub struct NodeGetStorageHealth;

/// One adverse condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    status: Status,
    reason: &'static str,
    message: String,
}

impl Handler for NodeGetStorageHealth {
    type Ctx = Node;
    type Wire = v1::NodeGetStorageHealthRequest;
    type WireReply = v1::NodeGetStorageHealthResponse;
    type Request = ();
    type Reply = Vec<Trouble>;
    type Error = NodeError;
    const METHOD: Method = Method::NodeGetStorageHealth;

    fn decode(_: &Node, _: Self::Wire) -> Result<(), NodeError> {
        Ok(())
    }

    fn scope((): &()) -> Scope {
        Scope::Read
    }

    async fn run(node: Arc<Node>, (): (), _: Op) -> Result<Vec<Trouble>, NodeError> {
        let mut troubles = Vec::new();
        if let Err(error) = node.powers.table.read() {
            troubles.push(Trouble {
                status: Status::StorageUnreachable,
                reason: "MountTableUnreadable",
                message: azcsi_types::fault::report(&error),
            });
        }
        let silent = match node.machine.facts(Look::Recent).await {
            Ok(_) => None,
            Err(error) => Some(azcsi_types::fault::report(&error)),
        };
        troubles.extend(degraded(&node, silent));
        Ok(troubles)
    }

    fn encode(troubles: Vec<Trouble>) -> Self::WireReply {
        let entry = |trouble: Trouble| StorageBackendHealth {
            status: trouble.status.into(),
            reason: trouble.reason.to_owned(),
            message: trouble.message,
            volume_capability: None,
        };
        v1::NodeGetStorageHealthResponse {
            backend_health: troubles.into_iter().map(entry).collect(),
        }
    }
}

/// What makes the node less able; one entry, because Kubernetes keeps one for each status.
fn degraded(node: &Node, silent: Option<String>) -> Option<Trouble> {
    let mut missing: Vec<&str> = FsKind::ALL
        .into_iter()
        .flat_map(|kind| node.powers.tools.missing(kind))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    let (reason, message) = match (silent, missing.as_slice()) {
        (Some(why), _) => (
            "MetadataUnavailable",
            format!("Nobody confirms which disk is which: {why}"),
        ),
        (None, []) => return None,
        (None, missing) => (
            "ToolsMissing",
            format!(
                "Some filesystems cannot be used: {} not installed",
                missing.join(", ")
            ),
        ),
    };
    Some(Trouble {
        status: Status::StorageDegraded,
        reason,
        message,
    })
}
