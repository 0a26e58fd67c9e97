//! NodeGetStorageHealth: whether this node can serve volumes at all.

use std::path::Path;
use std::sync::Arc;

use azcsi_host::liveness::Liveness;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;
use futures_util::future::join_all;
use v1::StorageHealthErrorType as Status;
use v1::node_get_storage_health_response::StorageBackendHealth;

use super::Node;
use super::error::NodeError;
use super::volume_health::WAIT;

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
        let table = match node.powers.table.read() {
            Ok(table) => table,
            Err(error) => {
                return Ok(vec![Trouble {
                    status: Status::StorageUnreachable,
                    reason: "MountTableUnreadable",
                    message: azcsi_types::fault::report(&error),
                }]);
            }
        };
        let records = node.records.all();
        let mounted: Vec<&str> = records
            .iter()
            .flat_map(|record| record.targets.iter().chain([&record.staging_path]))
            .map(String::as_str)
            .filter(|path| !path.is_empty() && table.top(Path::new(path)).is_some())
            .collect();
        let asked = mounted
            .iter()
            .map(|path| node.powers.shares.ask(Path::new(path), WAIT));
        let lives = join_all(asked).await;
        Ok(judge(&lives).into_iter().collect())
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

/// All shares lost is the network's fault; some lost is theirs.
fn judge(lives: &[Liveness]) -> Option<Trouble> {
    let lost = lives.iter().filter(|life| !life.is_alive()).count();
    if lost == 0 {
        return None;
    }
    let all = lives.len();
    let status = if lost == all && all > 1 {
        Status::StorageUnreachable
    } else {
        Status::StorageDegraded
    };
    Some(Trouble {
        status,
        reason: "SharesUnresponsive",
        message: format!("{lost} of {all} mounted shares do not answer on this node."),
    })
}

#[cfg(test)]
mod tests {
    use azcsi_host::liveness::Liveness::{Alive, Dead, Silent};

    use super::{Status, judge};

    #[test]
    fn some_shares_are_not_all_shares() {
        assert_eq!(judge(&[]), None);
        assert_eq!(judge(&[Alive, Alive]), None);
        let status = |lives: &[_]| judge(lives).unwrap().status;
        assert_eq!(status(&[Alive, Silent]), Status::StorageDegraded);
        assert_eq!(status(&[Dead(5)]), Status::StorageDegraded);
        assert_eq!(status(&[Dead(5), Silent]), Status::StorageUnreachable);
    }
}
