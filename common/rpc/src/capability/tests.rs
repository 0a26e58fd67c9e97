//! Tests of `capability`.

use std::collections::BTreeSet;

use azcsi_proto::csi::v1;

use super::{
    ControllerCapabilities, ControllerCapability, Gate, NodeCapabilities, NodeCapability,
    PluginCapabilities, PluginCapability,
};
use crate::method::{Method, Service};

fn allowed(gate: &Gate) -> BTreeSet<&'static str> {
    let allowed = Method::ALL.iter().filter(|&&method| gate.allows(method));
    allowed.map(|method| method.name()).collect()
}

#[test]
fn without_a_service_only_identity_is_reachable() {
    let gate = Gate::new(None, None);
    let expected = BTreeSet::from(["GetPluginInfo", "GetPluginCapabilities", "Probe"]);
    assert_eq!(allowed(&gate), expected);
    assert!(!gate.serves(Service::Node) && gate.serves(Service::Identity));
}

#[test]
fn a_capability_opens_exactly_its_calls() {
    let bare = allowed(&Gate::new(Some(ControllerCapabilities::default()), None));
    let table: [(ControllerCapability, &[&str]); 5] = [
        (
            ControllerCapability::CreateDeleteVolume,
            &["CreateVolume", "DeleteVolume"],
        ),
        (ControllerCapability::CloneVolume, &[]),
        (
            ControllerCapability::ListVolumesPublishedNodes,
            &["ListVolumes"],
        ),
        (
            ControllerCapability::ListVolumeHealth,
            &["ControllerListVolumeHealth", "ControllerGetVolumeHealth"],
        ),
        (ControllerCapability::GetSnapshot, &["GetSnapshot"]),
    ];
    for (capability, calls) in table {
        let gate = Gate::new(Some([capability].into_iter().collect()), None);
        let opened: BTreeSet<_> = allowed(&gate).difference(&bare).copied().collect();
        assert_eq!(opened, calls.iter().copied().collect(), "{capability:?}");
    }
}

#[test]
fn the_retired_values_are_never_advertised() {
    use ControllerCapability as C;
    let all = [
        C::CreateDeleteVolume,
        C::PublishUnpublishVolume,
        C::ListVolumes,
        C::GetCapacity,
        C::CreateDeleteSnapshot,
        C::ListSnapshots,
        C::CloneVolume,
        C::PublishReadonly,
        C::ExpandVolume,
        C::ListVolumesPublishedNodes,
        C::GetVolume,
        C::SingleNodeMultiWriter,
        C::ModifyVolume,
        C::GetSnapshot,
        C::GetVolumeHealth,
        C::ListVolumeHealth,
    ];
    let wire = all
        .into_iter()
        .collect::<ControllerCapabilities>()
        .to_wire();
    let numbers = wire.capabilities.iter().map(|c| match c.r#type {
        Some(v1::controller_service_capability::Type::Rpc(rpc)) => rpc.r#type,
        None => 0,
    });
    assert_eq!(
        numbers.collect::<Vec<i32>>(),
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17]
    );
}

#[test]
fn the_node_and_the_plugin_advertise_what_they_have_ob_01() {
    let node: NodeCapabilities = [
        NodeCapability::StageUnstageVolume,
        NodeCapability::GetStorageHealth,
    ]
    .into_iter()
    .collect();
    assert_eq!(node.to_wire().capabilities.len(), 2);
    assert!(Gate::new(None, Some(node)).allows(Method::NodeGetStorageHealth));
    let plugin: PluginCapabilities = [
        PluginCapability::ControllerService,
        PluginCapability::OnlineExpansion,
    ]
    .into_iter()
    .collect();
    assert_eq!(plugin.to_wire().capabilities.len(), 2);
}
