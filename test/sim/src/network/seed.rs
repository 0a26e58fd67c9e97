//! The network that the nodes of a world are in.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use crate::network::model::Linked;
use crate::network::reach::Place;
use crate::world::{Provisioning, World, guid_of, key, region};

/// Its name.
pub(crate) const NETWORK: &str = "nodes-vnet";
/// The one subnet in it.
pub(crate) const SUBNET: &str = "nodes-subnet";

fn network(subscription: &str, group: &str) -> String {
    format!(
        "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/{NETWORK}"
    )
}

/// Adds the network and the subnet, without service endpoints.
pub(crate) fn nodes(world: &mut World, (subscription, group): (&str, &str), location: &str) {
    let id = network(subscription, group);
    let subnet = format!("{id}/subnets/{SUBNET}");
    let spaces = json!({"addressSpace": {"addressPrefixes": ["10.224.0.0/12"]}, "enableDdosProtection": false});
    add(
        world,
        &id,
        "virtualNetworks",
        (
            location,
            json!({"location": region(location), "properties": spaces}),
        ),
    );
    let plain = json!({"properties": {
        "addressPrefix": "10.224.0.0/16", "serviceEndpoints": [], "delegations": [],
        "privateEndpointNetworkPolicies": "Disabled", "privateLinkServiceNetworkPolicies": "Enabled",
    }});
    add(world, &subnet, "virtualNetworks/subnets", (location, plain));
}

fn add(world: &mut World, id: &str, kind: &str, (location, body): (&str, Value)) {
    let linked = Linked {
        id: id.to_owned(),
        kind: kind.to_owned(),
        location: region(location),
        body: body.as_object().cloned().unwrap_or_default(),
        etag: guid_of(id),
        provisioning: Provisioning::Succeeded,
    };
    world.network.insert(key(id), linked);
}

/// Where the node of this number is.
pub(crate) fn place(subscription: &str, group: &str, ordinal: u32) -> Place {
    let host = u32::from(Ipv4Addr::new(10, 224, 0, 4)).saturating_add(ordinal);
    Place {
        address: Ipv4Addr::from(host),
        subnet: Some(format!("{}/subnets/{SUBNET}", network(subscription, group))),
    }
}
