//! Networks, as far as private and subnet-bound storage accounts need them: virtual networks,
//! subnets with their service endpoints, private endpoints, private DNS.

pub mod private_dns;
pub mod private_endpoints;
pub mod subnets;
pub mod virtual_networks;

use azcsi_types::resource_id::{NotAResourceId, ResourceId};

/// The provider of everything here.
pub const NETWORK: &str = "Microsoft.Network";

/// The id of a network resource that lives in a group, such as a `virtualNetworks`.
///
/// # Errors
/// If a part is empty or holds a `/`.
pub fn network_id(
    subscription: &str,
    resource_group: &str,
    kind: &str,
    name: &str,
) -> Result<ResourceId, NotAResourceId> {
    ResourceId::new(subscription, resource_group, (NETWORK, kind), name)
}

/// The id of a part of a resource, such as one of the `subnets` of a network.
///
/// # Errors
/// If a part is empty or holds a `/`.
pub fn child_id(parent: &ResourceId, kind: &str, name: &str) -> Result<ResourceId, NotAResourceId> {
    if kind.contains('/') || name.contains('/') {
        // It would name a part of the part. An empty segment makes the text no id at all.
        return format!("{parent}/{kind}//{name}").parse();
    }
    format!("{parent}/{kind}/{name}").parse()
}
