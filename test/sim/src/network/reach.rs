//! Who can reach an account's data plane: its network rules, and private endpoints.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::state::State;
use crate::storage::model::Account;
use crate::world::{Provisioning, World, key};

/// A range of IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: u32,
    last: u32,
}

impl Range {
    /// `10.0.0.0/16`, `10.0.0.1` or `10.0.0.1-10.0.0.9`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((first, last)) = text.split_once('-') {
            let (first, last) = (bits(first)?, bits(last)?);
            return (first <= last).then_some(Self { first, last });
        }
        let Some((base, length)) = text.split_once('/') else {
            let one = bits(text)?;
            return Some(Self {
                first: one,
                last: one,
            });
        };
        let (base, length) = (bits(base)?, length.parse::<u32>().ok()?);
        let hosts = match length {
            0 => u32::MAX,
            1..=32 => u32::MAX.checked_shr(length).unwrap_or(0),
            _ => return None,
        };
        Some(Self {
            first: base & !hosts,
            last: base | hosts,
        })
    }

    /// Whether an address is in it.
    #[must_use]
    pub fn holds(self, address: Ipv4Addr) -> bool {
        (self.first..=self.last).contains(&u32::from(address))
    }

    /// The address so many before the last.
    #[must_use]
    pub fn last(self, back: u32) -> Option<Ipv4Addr> {
        let address = self.last.checked_sub(back)?;
        (address > self.first).then(|| Ipv4Addr::from(address))
    }
}

fn bits(text: &str) -> Option<u32> {
    text.trim().parse::<Ipv4Addr>().ok().map(u32::from)
}

/// Where a caller of the data plane is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its address.
    pub address: Ipv4Addr,
    /// ARM id of its subnet; none for the public internet.
    pub subnet: Option<String>,
}

impl Default for Place {
    /// Somewhere on the internet, at an address that is kept for documentation.
    fn default() -> Self {
        Self {
            address: Ipv4Addr::new(203, 0, 113, 7),
            subnet: None,
        }
    }
}

/// Whether the account lets this caller in.
pub(crate) fn may(state: &State, account: &Account, place: &Place) -> bool {
    if privately(&state.world, account, place) {
        return true;
    }
    if matches!(
        account.text("publicNetworkAccess"),
        Some("Disabled" | "SecuredByPerimeter")
    ) {
        return false;
    }
    if account.text("networkAcls/defaultAction") != Some("Deny") {
        return true;
    }
    let rules = |name: &str| {
        account
            .setting(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    if let Some(subnet) = &place.subnet {
        let open = state
            .world
            .network
            .get(&key(subnet))
            .is_some_and(crate::network::model::Linked::has_storage_endpoint);
        if open {
            // Through a service endpoint the caller has no public address.
            return rules("networkAcls/virtualNetworkRules").any(|rule| {
                let id = rule.get("id").and_then(Value::as_str).unwrap_or_default();
                key(id) == key(subnet)
            });
        }
    }
    rules("networkAcls/ipRules").any(|rule| {
        let value = rule
            .get("value")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Range::parse(value).is_some_and(|range| range.holds(place.address))
    })
}

/// The virtual network of a subnet.
pub(crate) fn network_of(subnet: &str) -> String {
    key(subnet).split('/').take(9).collect::<Vec<_>>().join("/")
}

/// Whether a private endpoint of the caller's network leads to the account, and the name of the
/// account is resolved to it there: a zone group of the endpoint names a zone that is linked to the
/// network.
fn privately(world: &World, account: &Account, place: &Place) -> bool {
    let Some(subnet) = &place.subnet else {
        return false;
    };
    let network = network_of(subnet);
    let endpoints = world.network.iter().filter(|(_, endpoint)| {
        endpoint.kind == "privateEndpoints"
            && endpoint.provisioning == Provisioning::Succeeded
            && endpoint
                .reference("subnet")
                .is_some_and(|id| network_of(id) == network)
            && leads_to(endpoint, &account.id)
    });
    endpoints
        .into_iter()
        .any(|(id, _)| resolved(world, id, &network))
}

/// Whether a private endpoint has an approved connection to a resource.
pub(crate) fn leads_to(endpoint: &crate::network::model::Linked, target: &str) -> bool {
    let connections = [
        "privateLinkServiceConnections",
        "manualPrivateLinkServiceConnections",
    ];
    connections.iter().any(|name| {
        let list = endpoint.property(name).and_then(Value::as_array);
        list.into_iter().flatten().any(|connection| {
            let text = |pointer: &str| connection.pointer(pointer).and_then(Value::as_str);
            let id = text("/properties/privateLinkServiceId").unwrap_or_default();
            let status = text("/properties/privateLinkServiceConnectionState/status");
            key(id) == key(target) && status == Some("Approved")
        })
    })
}

fn resolved(world: &World, endpoint: &str, network: &str) -> bool {
    let groups = format!("{endpoint}/privatednszonegroups/");
    let below = world.network.range(groups.clone()..);
    let mut zones = below
        .take_while(|(id, _)| id.starts_with(&groups))
        .filter_map(|(_, group)| group.property("privateDnsZoneConfigs")?.as_array())
        .flatten()
        .filter_map(|config| config.pointer("/properties/privateDnsZoneId")?.as_str())
        .map(key);
    zones.any(|zone| {
        let links = format!("{zone}/virtualnetworklinks/");
        let below = world.network.range(links.clone()..);
        below
            .take_while(|(id, _)| id.starts_with(&links))
            .any(|(_, link)| {
                link.reference("virtualNetwork")
                    .is_some_and(|id| key(id) == network)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_they_say() {
        for (range, address, holds) in [
            ("10.0.0.0/16", "10.0.255.255", true),
            ("10.0.0.0/16", "10.1.0.0", false),
            ("1.2.3.4", "1.2.3.4", true),
            ("1.2.3.4-1.2.3.9", "1.2.3.9", true),
            ("0.0.0.0/0", "9.9.9.9", true),
            ("1.2.3.4/32", "1.2.3.5", false),
        ] {
            let range = Range::parse(range).expect("a range");
            assert_eq!(range.holds(address.parse().expect("an address")), holds);
        }
        for text in ["", "10.0.0.0/33", "x", "2.2.2.2-1.1.1.1"] {
            assert_eq!(Range::parse(text), None, "{text}");
        }
    }
}
