//! What a StorageClass says of the way to the account.

use azcsi_types::params::{BadParam, ParamMap};

use crate::model::protocol::{text, word};

/// How nodes reach the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// As everybody does.
    Public,
    /// From subnets that the account's firewall names.
    ServiceEndpoint,
    /// At an address in the virtual network.
    PrivateEndpoint,
}

/// Who sees to the name of a private endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DnsMode {
    /// The driver: a private zone, its link to the network, and the endpoint's records.
    Managed,
    /// The driver writes the endpoint's records into a zone that is there.
    ExistingZone,
    /// Somebody else: the driver makes the endpoint only.
    None,
}

/// What is asked of the network. `None` means that nothing was said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NetworkParams {
    /// How nodes reach the account; `None` for what the protocol needs.
    pub reach: Option<Reach>,
    /// `publicNetworkAccess` of the account.
    pub public: Option<&'static str>,
    /// Resource group of the network.
    pub group: Option<String>,
    /// The network.
    pub network: Option<String>,
    /// Its subnets; empty for the default.
    pub subnets: Vec<String>,
    /// Name of the link between zone and network.
    pub link: Option<String>,
    /// Who sees to names.
    pub dns: DnsMode,
    /// Resource group of the private zone.
    pub zone_group: Option<String>,
    /// The suffix of the account's host, if it is not the cloud's.
    pub suffix: Option<String>,
}

const REACH: [(&str, Reach); 2] = [
    ("privateEndpoint", Reach::PrivateEndpoint),
    ("serviceEndpoint", Reach::ServiceEndpoint),
];
const PUBLIC: [(&str, &str); 3] = [
    ("Enabled", "Enabled"),
    ("Disabled", "Disabled"),
    ("SecuredByPerimeter", "SecuredByPerimeter"),
];
const DNS: [(&str, DnsMode); 3] = [
    ("managed", DnsMode::Managed),
    ("existingZone", DnsMode::ExistingZone),
    ("none", DnsMode::None),
];

pub(super) fn take(map: &mut ParamMap) -> Result<NetworkParams, BadParam> {
    let reach = word(map, &["networkEndpointType"], &REACH)?;
    let private = reach == Some(Reach::PrivateEndpoint);
    let dns = word(map, &["dnsMode"], &DNS)?;
    let zone_group = text(map, "privateDNSZoneResourceGroup");
    for (key, given) in [
        ("dnsMode", dns.is_some()),
        ("privateDNSZoneResourceGroup", zone_group.is_some()),
    ] {
        if given && !private {
            let problem = "needs networkEndpointType privateEndpoint".to_owned();
            return Err(BadParam::Conflict { key, problem });
        }
    }
    Ok(NetworkParams {
        reach,
        public: word(map, &["publicNetworkAccess"], &PUBLIC)?,
        group: text(map, "vnetResourceGroup"),
        network: text(map, "vnetName"),
        subnets: subnets(map, private)?,
        link: text(map, "vnetLinkName"),
        dns: dns.unwrap_or(DnsMode::Managed),
        zone_group,
        suffix: suffix(map)?,
    })
}

fn subnets(map: &mut ParamMap, private: bool) -> Result<Vec<String>, BadParam> {
    let Some(param) = map.take("subnetName") else {
        return Ok(Vec::new());
    };
    let value = param.value.trim();
    if value.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = value
        .split(',')
        .map(|name| name.trim().to_owned())
        .collect();
    let bad = |name: &String| name.is_empty() || name.contains('/') || name.as_str() == "..";
    if names.iter().any(bad) {
        return Err(param.refuse("names of subnets with ',' between them"));
    }
    if private && names.len() > 1 {
        return Err(param.refuse("one subnet: a private endpoint is in one"));
    }
    Ok(names)
}

fn suffix(map: &mut ParamMap) -> Result<Option<String>, BadParam> {
    let Some(param) = map.take("storageEndpointSuffix") else {
        return Ok(None);
    };
    let value = param.value.trim().to_ascii_lowercase();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    match value.as_str() {
        "" => Ok(None),
        _ if value.chars().all(word) && !value.starts_with('.') => Ok(Some(value)),
        _ => Err(param.refuse("the suffix of a host, such as core.windows.net")),
    }
}
