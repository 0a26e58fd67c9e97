//! What the drivers advertise, what they must advertise, and which skip that excuses.
//!
//! The suite skips a spec when a capability is missing. Here a skip passes only if its message is
//! known and the capability that it names is truly absent. What must not go absent is listed.

use std::collections::BTreeSet;

use anyhow::Result;
use azcsi_proto::csi::v1::controller_service_capability::{Type as ControllerType, rpc as crpc};
use azcsi_proto::csi::v1::identity_client::IdentityClient;
use azcsi_proto::csi::v1::node_client::NodeClient;
use azcsi_proto::csi::v1::node_service_capability::{Type as NodeType, rpc as nrpc};
use azcsi_proto::csi::v1::plugin_capability::{Type as PluginType, service, volume_expansion};
use azcsi_proto::csi::v1::{
    ControllerGetCapabilitiesRequest, GetPluginCapabilitiesRequest, NodeGetCapabilitiesRequest,
};
use azcsi_rig::csi::{Driver, reply};
use tonic::transport::Channel;

/// Capabilities by name: `plugin/…`, `controller/…`, `node/…`.
pub type Advertised = BTreeSet<String>;

/// What the Disk driver is known to do. Not in it: read-only publishing, and group snapshots, which
/// Azure does not have.
pub const DISK: &[&str] = &[
    "plugin/CONTROLLER_SERVICE",
    "plugin/VOLUME_ACCESSIBILITY_CONSTRAINTS",
    "plugin/SNAPSHOT_ACCESSIBILITY_CONSTRAINTS",
    "plugin/expansion/ONLINE",
    "controller/CREATE_DELETE_VOLUME",
    "controller/PUBLISH_UNPUBLISH_VOLUME",
    "controller/LIST_VOLUMES",
    "controller/LIST_VOLUMES_PUBLISHED_NODES",
    "controller/GET_CAPACITY",
    "controller/CREATE_DELETE_SNAPSHOT",
    "controller/LIST_SNAPSHOTS",
    "controller/GET_SNAPSHOT",
    "controller/CLONE_VOLUME",
    "controller/EXPAND_VOLUME",
    "controller/GET_VOLUME",
    "controller/GET_VOLUME_HEALTH",
    "controller/LIST_VOLUME_HEALTH",
    "controller/SINGLE_NODE_MULTI_WRITER",
    "controller/MODIFY_VOLUME",
    "node/STAGE_UNSTAGE_VOLUME",
    "node/GET_VOLUME_STATS",
    "node/EXPAND_VOLUME",
    "node/SINGLE_NODE_MULTI_WRITER",
    "node/GET_VOLUME_HEALTH",
    "node/GET_STORAGE_HEALTH",
];

/// What the File driver is known to do.
pub const FILE: &[&str] = &[
    "plugin/CONTROLLER_SERVICE",
    "plugin/expansion/ONLINE",
    "controller/CREATE_DELETE_VOLUME",
    "controller/GET_CAPACITY",
    "controller/CREATE_DELETE_SNAPSHOT",
    "controller/LIST_SNAPSHOTS",
    "controller/GET_SNAPSHOT",
    "controller/CLONE_VOLUME",
    "controller/EXPAND_VOLUME",
    "controller/GET_VOLUME",
    "controller/GET_VOLUME_HEALTH",
    "controller/SINGLE_NODE_MULTI_WRITER",
    "controller/MODIFY_VOLUME",
    "node/STAGE_UNSTAGE_VOLUME",
    "node/GET_VOLUME_STATS",
    "node/SINGLE_NODE_MULTI_WRITER",
    "node/GET_VOLUME_HEALTH",
    "node/GET_STORAGE_HEALTH",
];

/// Messages of the suite's skips (v5.6.0), and the capabilities whose absence explains them. A
/// message that is not here, such as one about a flag that was not given, is never an excuse.
const EXCUSES: &[(&str, &str)] = &[
    ("GetCapacity not supported", "controller/GET_CAPACITY"),
    ("ListVolumes not supported", "controller/LIST_VOLUMES"),
    (
        "CreateVolume not supported",
        "controller/CREATE_DELETE_VOLUME",
    ),
    (
        "DeleteVolume not supported",
        "controller/CREATE_DELETE_VOLUME",
    ),
    (
        "Snapshot not supported",
        "controller/CREATE_DELETE_SNAPSHOT",
    ),
    (
        "CreateSnapshot not supported",
        "controller/CREATE_DELETE_SNAPSHOT",
    ),
    (
        "DeleteSnapshot not supported",
        "controller/CREATE_DELETE_SNAPSHOT",
    ),
    ("ListSnapshots not supported", "controller/LIST_SNAPSHOTS"),
    ("GetSnapshot not supported", "controller/GET_SNAPSHOT"),
    ("Volume Cloning not supported", "controller/CLONE_VOLUME"),
    ("Modify volume not supported", "controller/MODIFY_VOLUME"),
    ("Modify Volume not supported", "controller/MODIFY_VOLUME"),
    (
        "ControllerModifyVolume not supported",
        "controller/MODIFY_VOLUME",
    ),
    (
        "ControllerPublishVolume not supported",
        "controller/PUBLISH_UNPUBLISH_VOLUME",
    ),
    (
        "ControllerUnpublishVolume not supported",
        "controller/PUBLISH_UNPUBLISH_VOLUME",
    ),
    (
        "Controller Publish, UnpublishVolume not supported",
        "controller/PUBLISH_UNPUBLISH_VOLUME",
    ),
    (
        "ControllerPublishVolume.readonly field not supported",
        "controller/PUBLISH_READONLY",
    ),
    (
        "ControllerExpandVolume not supported",
        "controller/EXPAND_VOLUME",
    ),
    (
        "ControllerGetVolumeHealth not supported",
        "controller/GET_VOLUME_HEALTH",
    ),
    (
        "ControllerListVolumeHealth not supported",
        "controller/LIST_VOLUME_HEALTH",
    ),
    (
        "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS not supported",
        "plugin/SNAPSHOT_ACCESSIBILITY_CONSTRAINTS",
    ),
    (
        "GroupControllerService not supported",
        "plugin/GROUP_CONTROLLER_SERVICE",
    ),
    (
        "Service does not have single node multi writer capability",
        "node/SINGLE_NODE_MULTI_WRITER",
    ),
    ("NodeStageVolume not supported", "node/STAGE_UNSTAGE_VOLUME"),
    (
        "NodeUnstageVolume not supported",
        "node/STAGE_UNSTAGE_VOLUME",
    ),
    ("NodeGetVolume not supported", "node/GET_VOLUME_STATS"),
    ("NodeExpandVolume not supported", "node/EXPAND_VOLUME"),
    (
        "NodeGetVolumeHealth not supported",
        "node/GET_VOLUME_HEALTH",
    ),
    (
        "NodeGetStorageHealth not supported",
        "node/GET_STORAGE_HEALTH",
    ),
    (
        "Controller Service not provided: CreateVolume not supported",
        "plugin/CONTROLLER_SERVICE",
    ),
];

/// The capability whose absence explains a skip; `None` if nothing does.
#[must_use]
pub fn excuse(message: &str, advertised: &Advertised) -> Option<&'static str> {
    let (_, capability) = EXCUSES.iter().find(|(known, _)| *known == message.trim())?;
    (!advertised.contains(*capability)).then_some(*capability)
}

/// What must be advertised and is not. Without this a capability that gets lost would only show as
/// one more skip.
#[must_use]
pub fn missing<'a>(required: &[&'a str], advertised: &Advertised) -> Vec<&'a str> {
    let lacks = |name: &&&str| !advertised.contains(**name);
    required.iter().filter(lacks).copied().collect()
}

/// Asks both services for all that they advertise.
///
/// # Errors
/// If a call fails.
pub async fn ask(controller: &Driver, mut node: NodeClient<Channel>) -> Result<Advertised> {
    let mut all = plugin(controller.identity()).await?;
    let request = ControllerGetCapabilitiesRequest {};
    let answer = controller
        .controller()
        .controller_get_capabilities(request)
        .await;
    for entry in reply("ControllerGetCapabilities", answer)?.capabilities {
        if let Some(ControllerType::Rpc(rpc)) = entry.r#type {
            let name = crpc::Type::try_from(rpc.r#type).map(|known| known.as_str_name().to_owned());
            all.insert(format!(
                "controller/{}",
                name.unwrap_or_else(|_| rpc.r#type.to_string())
            ));
        }
    }
    let answer = node
        .node_get_capabilities(NodeGetCapabilitiesRequest {})
        .await;
    for entry in reply("NodeGetCapabilities", answer)?.capabilities {
        if let Some(NodeType::Rpc(rpc)) = entry.r#type {
            let name = nrpc::Type::try_from(rpc.r#type).map(|known| known.as_str_name().to_owned());
            all.insert(format!(
                "node/{}",
                name.unwrap_or_else(|_| rpc.r#type.to_string())
            ));
        }
    }
    Ok(all)
}

/// What one process says of the plugin as a whole. Every process of a plugin must say the same.
///
/// # Errors
/// If the call fails.
pub async fn plugin(mut identity: IdentityClient<Channel>) -> Result<Advertised> {
    let request = GetPluginCapabilitiesRequest {};
    let answer = identity.get_plugin_capabilities(request).await;
    let mut all = Advertised::new();
    for entry in reply("GetPluginCapabilities", answer)?.capabilities {
        let name = match entry.r#type {
            Some(PluginType::Service(of)) => service::Type::try_from(of.r#type).map_or_else(
                |_| of.r#type.to_string(),
                |known| known.as_str_name().to_owned(),
            ),
            Some(PluginType::VolumeExpansion(of)) => volume_expansion::Type::try_from(of.r#type)
                .map_or_else(
                    |_| of.r#type.to_string(),
                    |known| format!("expansion/{}", known.as_str_name()),
                ),
            None => "none".to_owned(),
        };
        all.insert(format!("plugin/{name}"));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advertised(list: &[&str]) -> Advertised {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_skip_is_excused_only_by_a_capability_that_is_absent() {
        let message = "ListVolumes not supported";
        assert_eq!(
            excuse(message, &advertised(&[])),
            Some("controller/LIST_VOLUMES")
        );
        assert_eq!(
            excuse(message, &advertised(&["controller/LIST_VOLUMES"])),
            None
        );
    }

    #[test]
    fn a_flag_that_was_not_given_excuses_nothing() {
        for message in [
            "testnodevolumeattachlimit not enabled",
            "No MaxVolumesPerNode",
            "Required bytes not supported",
            "",
        ] {
            assert_eq!(excuse(message, &advertised(&[])), None, "{message}");
        }
    }

    #[test]
    fn what_gets_lost_is_named() {
        let required = ["node/EXPAND_VOLUME", "node/GET_STORAGE_HEALTH"];
        let mut all = advertised(&required);
        assert!(missing(&required, &all).is_empty());
        all.remove("node/GET_STORAGE_HEALTH");
        assert_eq!(missing(&required, &all), ["node/GET_STORAGE_HEALTH"]);
    }
}
