//! Networks, as far as private and subnet-bound storage accounts need them: virtual networks,
//! subnets with their service endpoints, private endpoints, private DNS.

pub mod client;
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
/// If a part is empty, `.` or `..`, or holds a `/`.
pub fn network_id(
    subscription: &str,
    resource_group: &str,
    kind: &str,
    name: &str,
) -> Result<ResourceId, NotAResourceId> {
    let [subscription, resource_group, kind, name] =
        [subscription, resource_group, kind, name].map(segment);
    ResourceId::new(subscription, resource_group, (NETWORK, kind), name)
}

/// The id of a part of a resource, such as one of the `subnets` of a network.
///
/// # Errors
/// If a part is empty, `.` or `..`, or holds a `/`.
pub fn child_id(parent: &ResourceId, kind: &str, name: &str) -> Result<ResourceId, NotAResourceId> {
    let [kind, name] = [kind, name].map(segment);
    format!("{parent}/{kind}/{name}").parse()
}

/// What would name something else becomes empty, which no id accepts: a slash names a part of the
/// part, and dots alone lead an HTTP client to another address.
fn segment(text: &str) -> &str {
    if text == "." || text == ".." || text.contains('/') {
        ""
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{child_id, network_id};

    #[test]
    fn no_part_leads_to_something_else() {
        let network = network_id("s", "g", "virtualNetworks", "v").unwrap();
        for name in ["", ".", "..", "a/b", "a/b/c", "/", "a/"] {
            assert!(child_id(&network, "subnets", name).is_err(), "{name}");
            assert!(
                network_id("s", "g", "virtualNetworks", name).is_err(),
                "{name}"
            );
            assert!(
                network_id("s", name, "virtualNetworks", "v").is_err(),
                "{name}"
            );
            assert!(
                network_id(name, "g", "virtualNetworks", "v").is_err(),
                "{name}"
            );
        }
    }
}
