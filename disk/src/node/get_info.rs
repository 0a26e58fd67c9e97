//! NodeGetInfo.

use std::collections::BTreeMap;
use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::keys;
use azcsi_types::node::computer_name_of_imds;
use azcsi_types::op::Op;
use azcsi_types::topology::{Place, Region, Zone};

use super::error::NodeError;
use super::limits;
use super::machine::{Labels, Look, MachineFacts, Unanswered};
use super::{Node, NodeConfig};

/// The RPC.
#[derive(Debug)]
pub struct NodeGetInfo;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The name of the node.
    pub id: String,
    /// How many volumes it takes; 0 for no limit.
    pub volumes: u32,
    /// Where it is.
    pub segments: BTreeMap<String, String>,
}

impl Handler for NodeGetInfo {
    type Ctx = Node;
    type Wire = v1::NodeGetInfoRequest;
    type WireReply = v1::NodeGetInfoResponse;
    type Request = ();
    type Reply = Info;
    type Error = NodeError;
    const METHOD: Method = Method::NodeGetInfo;

    fn decode(_: &Node, _: Self::Wire) -> Result<(), NodeError> {
        Ok(())
    }

    fn scope((): &()) -> Scope {
        Scope::Read
    }

    async fn run(node: Arc<Node>, (): (), _: Op) -> Result<Info, NodeError> {
        // What the machine holds is compared with what is attached now: an older answer would count
        // a volume that has left as somebody else's disk, and the limit would be too low.
        let machine = node.machine.facts(Look::Fresh).await;
        let labels = node.labels.labels().await;
        let known = Known::choose(&node.config, machine.as_deref(), labels.as_ref().ok());
        let Some(known) = known else {
            let neither = labels.err().or(machine.err());
            let neither = neither.unwrap_or_else(|| Unanswered {
                source_name: "Node object",
                source: "it has no labels".into(),
            });
            return Err(NodeError::NodeFacts(neither));
        };
        if let Some(text) = flaw(&node.config, &known.size) {
            node.tell_of_node("UnknownMachineSize", &text);
        }
        let foreign = match (machine.as_deref(), node.labels.attached().await) {
            (Ok(facts), Some(ours)) => foreign(facts, &ours),
            _ => 0,
        };
        let label = labels
            .as_ref()
            .ok()
            .and_then(|labels| labels.zone.as_deref());
        Ok(Info {
            id: id(&node.config, machine.as_deref().ok()),
            volumes: volumes(&node.config, &known.size, foreign),
            segments: segments(&known.place, label),
        })
    }

    fn encode(info: Info) -> Self::WireReply {
        v1::NodeGetInfoResponse {
            node_id: info.id,
            max_volumes_per_node: i64::from(info.volumes),
            accessible_topology: Some(v1::Topology {
                segments: info.segments.into_iter().collect(),
            }),
        }
    }
}

/// Size and place, from whoever knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    size: String,
    place: Place,
}

impl Known {
    /// The metadata counts first, unless the labels are wanted.
    fn choose(
        config: &NodeConfig,
        machine: Result<&MachineFacts, &Unanswered>,
        labels: Option<&Labels>,
    ) -> Option<Self> {
        let by_labels = labels.map(|labels| Self {
            size: labels.instance_type.clone().unwrap_or_default(),
            place: Place::from_label(labels.zone.as_deref().unwrap_or_default()),
        });
        let by_machine = machine.ok().map(|facts| Self {
            size: facts.size.clone(),
            place: place(facts),
        });
        let known = if config.info_from_labels {
            by_labels.or(by_machine)
        } else {
            by_machine.or(by_labels)
        };
        let no_zones = config.zones;
        known.map(|known| Self {
            place: if no_zones {
                known.place
            } else {
                Place::Regional
            },
            ..known
        })
    }
}

/// The zone of a machine. Without a zone number there is none; the fault domain is not one.
fn place(facts: &MachineFacts) -> Place {
    let zone = || {
        let region: Region = facts.location.parse().ok()?;
        Zone::new(region, facts.zone.trim().parse().ok()?)
    };
    zone().map_or(Place::Regional, Place::Zonal)
}

/// The segments. Kubelet makes labels of them and refuses to register the driver when a label says
/// something else already, so the common key is left out then.
fn segments(place: &Place, label: Option<&str>) -> BTreeMap<String, String> {
    let value = place.label();
    let mut segments = BTreeMap::new();
    let collides = label.is_some_and(|label| label != value);
    if matches!(place, Place::Zonal(_)) && !collides {
        segments.insert(keys::TOPOLOGY_ZONE.to_owned(), value.clone());
    }
    segments.insert(keys::DISK_TOPOLOGY_ZONE.to_owned(), value);
    segments
}

fn id(config: &NodeConfig, machine: Option<&MachineFacts>) -> String {
    let from_machine = machine
        .filter(|_| config.id_from_metadata || config.node_id.is_empty())
        .and_then(|facts| {
            if facts.in_scale_set {
                computer_name_of_imds(&facts.name)
            } else {
                Some(facts.name.clone())
            }
        });
    match from_machine {
        Some(name) if !name.is_empty() => name,
        _ if config.node_id.is_empty() => machine.map_or_else(String::new, |m| m.name.clone()),
        _ => config.node_id.clone(),
    }
}

/// How many attached disks are not volumes of this driver.
fn foreign(facts: &MachineFacts, ours: &[azcsi_types::disk_uri::DiskUri]) -> u32 {
    let is_foreign = |disk: &&Option<azcsi_types::disk_uri::DiskUri>| {
        disk.as_ref().is_none_or(|disk| !ours.contains(disk))
    };
    let count = facts.disks.values().filter(is_foreign).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn volumes(config: &NodeConfig, size: &str, foreign: u32) -> u32 {
    if let Some(limit) = config.attach_limit {
        return limit;
    }
    let disks = limits::data_disks(size).unwrap_or(config.unknown_size);
    limits::volumes(disks, config.reserved, foreign)
}

/// What users are told when the limit is only assumed.
fn flaw(config: &NodeConfig, size: &str) -> Option<String> {
    let is_assumed = config.attach_limit.is_none() && limits::data_disks(size).is_none();
    is_assumed.then(|| {
        format!(
            "the machine size '{size}' is not known: {} data disks are assumed; set \
             --unknown-size-attach-limit or --volume-attach-limit if it takes another number",
            config.unknown_size
        )
    })
}

#[cfg(test)]
mod tests;
