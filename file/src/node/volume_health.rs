//! NodeGetVolumeHealth.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use v1::VolumeHealthErrorType as Status;
use v1::volume_health::VolumeHealthEntry;

use super::error::NodeError;
use super::health::{self, Condition, Severity};
use super::share::VolumeKey;
use super::{Node, mounted};

/// Longest wait for a mount: kubelet asks for one volume after another.
pub(super) const WAIT: Duration = Duration::from_secs(1);

/// The RPC.
#[derive(Debug)]
pub struct NodeGetVolumeHealth;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: VolumeKey,
    paths: Vec<PathBuf>,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Reply {
    volume: VolumeKey,
    condition: Option<Condition>,
}

impl Handler for NodeGetVolumeHealth {
    type Ctx = Node;
    type Wire = v1::NodeGetVolumeHealthRequest;
    type WireReply = v1::NodeGetVolumeHealthResponse;
    type Request = Request;
    type Reply = Reply;
    type Error = NodeError;
    const METHOD: Method = Method::NodeGetVolumeHealth;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        let volume = VolumeKey::decode(wire.volume_id)?;
        let published = ("volume_publish_path", wire.volume_publish_path);
        let staged = ("staging_target_path", wire.staging_target_path);
        let mut paths = Vec::new();
        for (field, text) in [published, staged] {
            let path = validate::optional_path(field, &text)?;
            paths.extend(path.map(|path| mounted::resolve(&path).as_path().to_owned()));
        }
        Ok(Request { volume, paths })
    }

    fn scope(_: &Request) -> Scope {
        Scope::Read
    }

    async fn run(node: Arc<Node>, request: Request, _: Op) -> Result<Reply, NodeError> {
        let seen = seen(&node, &request).await?;
        if seen.works {
            node.health.recovered(&request.volume);
        }
        let condition = seen.wrong.or_else(|| node.health.of(&request.volume));
        Ok(Reply {
            volume: request.volume,
            condition,
        })
    }

    fn encode(reply: Reply) -> Self::WireReply {
        let entry = |condition: Condition| VolumeHealthEntry {
            status: match condition.severity {
                Severity::Inaccessible => Status::Inaccessible,
                Severity::Degraded => Status::Degraded,
            }
            .into(),
            reason: condition.reason,
            message: condition.message,
        };
        v1::NodeGetVolumeHealthResponse {
            volume_health: Some(v1::VolumeHealth {
                volume_id: reply.volume.as_str().to_owned(),
                health_statuses: reply.condition.into_iter().map(entry).collect(),
            }),
        }
    }
}

/// What is seen of a volume.
#[derive(Debug)]
struct Sight {
    /// What is wrong.
    wrong: Option<Condition>,
    /// It is mounted, and its server answers at all its mounts.
    works: bool,
}

/// What is seen where the volume is said to be, and where it was mounted.
async fn seen(node: &Node, request: &Request) -> Result<Sight, NodeError> {
    let table = mounted::table(node, request.volume.as_str())?;
    let record = node.records.get(&request.volume);
    let mut paths = request.paths.clone();
    if let Some(record) = &record {
        let known = record.targets.iter().chain([&record.staging_path]);
        paths.extend(known.filter(|path| !path.is_empty()).map(PathBuf::from));
    }
    paths.sort();
    paths.dedup();
    let (mut found, mut works) = (None, false);
    for path in paths.iter().filter(|path| table.top(path).is_some()) {
        let life = node.powers.shares.ask(path, WAIT).await;
        works = life.is_alive();
        found = found.or(health::judge(Some(life)));
    }
    let staging = record.map(|record| record.staging_path);
    let is_lost = |path: &String| !path.is_empty() && table.top(Path::new(path)).is_none();
    let lost = staging.filter(is_lost).map(|_| health::not_mounted());
    let wrong = found.or(lost);
    Ok(Sight {
        works: works && wrong.is_none(),
        wrong,
    })
}
