//! `privateEndpoints` of storage accounts.

use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Reply};
use crate::compute::placement;
use crate::error::ArmError;
use crate::network::life::{self, Write};
use crate::network::model::Linked;
use crate::network::reach::{Range, leads_to};
use crate::network::{subnets, view};
use crate::state::State;
use crate::world::{Provisioning, guid_of, key, leaf};

const KIND: &str = "privateEndpoints";
/// Services of an account that an endpoint can lead to.
const GROUPS: [&str; 6] = ["file", "blob", "table", "queue", "dfs", "web"];

/// The connections of an account, as the account shows them.
pub(crate) fn connections(state: &State, account: &str) -> Vec<Value> {
    let endpoints = state.world.network.values();
    let leading = endpoints.filter(|endpoint| endpoint.kind == KIND && leads_to(endpoint, account));
    let show = |endpoint: &Linked| {
        let name = format!("{}.{}", leaf(&endpoint.id), guid_of(&endpoint.id));
        json!({
            "id": format!("{account}/privateEndpointConnections/{name}"),
            "name": name,
            "type": "Microsoft.Storage/storageAccounts/privateEndpointConnections",
            "properties": {
                "provisioningState": "Succeeded",
                "privateEndpoint": {"id": endpoint.id},
                "privateLinkServiceConnectionState": {
                    "status": "Approved", "description": "Auto-Approved", "actionRequired": "None",
                },
            },
        })
    };
    leading.map(show).collect()
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let found = life::get(state, call, KIND)?;
    let etag = format!("W/\"{}\"", found.etag);
    Ok(Reply::ok(view::show(&found)).tagged(etag))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    life::list(state, call, (KIND, &scope))
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    life::delete(state, call, "network.delete")
}

/// The name of the account that an endpoint leads to.
pub(crate) fn account(endpoint: &Linked) -> Option<&str> {
    let connections = endpoint
        .property("privateLinkServiceConnections")?
        .as_array()?;
    let target = connections
        .first()?
        .pointer("/properties/privateLinkServiceId")?;
    Some(leaf(target.as_str()?))
}

/// Its address.
pub(crate) fn address(endpoint: &Linked) -> Option<&str> {
    endpoint
        .property("customDnsConfigs/0/ipAddresses/0")
        .and_then(Value::as_str)
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    let location = placement::location(state, &call.body)?;
    life::matched(state, call)?;
    let mut body = life::fields(&call.body);
    let properties = body
        .get("properties")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let subnet = usable(state, call, &properties)?;
    let (connections, target) = connected(state, call, &properties)?;
    let old = state
        .world
        .network
        .get(&key(&call.id))
        .and_then(address)
        .and_then(|text| text.parse().ok());
    let address = old
        .or_else(|| free(state, &key(&subnet)))
        .unwrap_or(Ipv4Addr::new(10, 224, 255, 250));
    let nic = interface(state, call, (&location, &subnet, address));
    let manual = properties
        .get("manualPrivateLinkServiceConnections")
        .cloned();
    body.insert("properties".into(), json!({
        "resourceGuid": guid_of(&format!("{}#endpoint", call.id)),
        "privateLinkServiceConnections": connections,
        "manualPrivateLinkServiceConnections": manual.unwrap_or_else(|| json!([])),
        "customNetworkInterfaceName": properties.get("customNetworkInterfaceName").cloned().unwrap_or_else(|| json!("")),
        "subnet": {"id": subnet},
        "ipConfigurations": [],
        "networkInterfaces": [{"id": nic}],
        "customDnsConfigs": [{
            "fqdn": format!("{}.file.core.windows.net", leaf(&target)),
            "ipAddresses": [address.to_string()],
        }],
    }));
    life::put(
        state,
        call,
        Write {
            kind: KIND,
            location,
            body,
            takes: "private.endpoint",
        },
    )
}

/// The subnet that a body names; it must be ready.
fn usable(state: &State, call: &Call, properties: &Map<String, Value>) -> Result<String, ArmError> {
    let subnet = properties.get("subnet").and_then(|subnet| subnet.get("id"));
    let subnet = subnet.and_then(Value::as_str).unwrap_or_default();
    let Some(found) = state.world.network.get(&key(subnet)) else {
        return Err(life::dangling(call, subnet));
    };
    if found.provisioning != Provisioning::Updating {
        return Ok(subnet.to_owned());
    }
    let message = format!(
        "Cannot proceed with operation because resource {subnet} used by resource {} is not in Succeeded state.",
        call.id
    );
    Err(ArmError::conflict(
        "ReferencedResourceNotProvisioned",
        message,
    ))
}

/// The connections of a body, approved; and what the first leads to.
fn connected(
    state: &State,
    call: &Call,
    properties: &Map<String, Value>,
) -> Result<(Vec<Value>, String), ArmError> {
    let given = properties
        .get("privateLinkServiceConnections")
        .and_then(Value::as_array);
    let made: Result<Vec<(Value, String)>, ArmError> = given
        .into_iter()
        .flatten()
        .map(|connection| connect(state, call, connection))
        .collect();
    let (made, targets): (Vec<Value>, Vec<String>) = made?.into_iter().unzip();
    let first = targets.into_iter().next().ok_or_else(|| {
        ArmError::bad_request(
            "PrivateEndpointMustHaveConnection",
            "The private endpoint has no private link service connection; manual ones are not there.",
        )
    })?;
    Ok((made, first))
}

/// One connection, approved, and what it leads to.
fn connect(state: &State, call: &Call, connection: &Value) -> Result<(Value, String), ArmError> {
    let text = |pointer: &str| {
        let value = connection.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_default()
    };
    let (name, target) = (text("/name"), text("/properties/privateLinkServiceId"));
    if !state.world.accounts.contains_key(&key(target)) {
        return Err(life::dangling(call, target));
    }
    let groups = connection.pointer("/properties/groupIds").cloned();
    let groups = groups.unwrap_or_default();
    let list = groups.as_array().map_or(&[][..], Vec::as_slice);
    let known = |group: &Value| group.as_str().is_some_and(|group| GROUPS.contains(&group));
    if list.is_empty() || !list.iter().all(known) {
        let message =
            format!("Private link resource {target} does not have the sub-resource {groups}.");
        return Err(ArmError::bad_request(
            "InvalidPrivateLinkServiceConnectionGroupIds",
            message,
        ));
    }
    let made = json!({
        "name": name,
        "id": format!("{}/privateLinkServiceConnections/{name}", call.id),
        "etag": format!("W/\"{}\"", guid_of(&call.id)),
        "type": "Microsoft.Network/privateEndpoints/privateLinkServiceConnections",
        "properties": {
            "provisioningState": "Succeeded",
            "privateLinkServiceId": target,
            "groupIds": groups,
            "requestMessage": text("/properties/requestMessage"),
            "privateLinkServiceConnectionState": {
                "status": "Approved", "description": "Auto-Approved", "actionsRequired": "None",
            },
        },
    });
    Ok((made, target.to_owned()))
}

/// An address of the subnet that nothing has, from its end.
fn free(state: &State, subnet: &str) -> Option<Ipv4Addr> {
    let found = state.world.network.get(subnet)?;
    let prefix = found
        .property("addressPrefix")
        .or_else(|| found.property("addressPrefixes/0"));
    let range = Range::parse(prefix?.as_str()?)?;
    let taken: Vec<&str> = subnets::endpoints(state, subnet)
        .filter_map(address)
        .collect();
    let mut addresses = (1..=250).filter_map(|back| range.last(back));
    addresses.find(|address| !taken.contains(&address.to_string().as_str()))
}

/// The interface of an endpoint.
fn interface(
    state: &mut State,
    call: &Call,
    (location, subnet, address): (&str, &str, Ipv4Addr),
) -> String {
    let group = call.group.as_deref().unwrap_or_default();
    let id = format!(
        "/subscriptions/{}/resourceGroups/{group}/providers/Microsoft.Network/networkInterfaces/{}.nic.{}",
        call.subscription,
        leaf(&call.id),
        guid_of(&format!("{}#nic", call.id))
    );
    let body = json!({"location": location, "properties": {
        "ipConfigurations": [{"name": "privateEndpointIpConfig", "properties": {
            "privateIPAddress": address.to_string(), "privateIPAllocationMethod": "Dynamic",
            "subnet": {"id": subnet}, "primary": true,
        }}],
        "privateEndpoint": {"id": call.id},
    }});
    let nic = Linked {
        id: id.clone(),
        kind: "networkInterfaces".to_owned(),
        location: location.to_owned(),
        body: body.as_object().cloned().unwrap_or_default(),
        etag: state.guid(),
        provisioning: Provisioning::Succeeded,
    };
    state.world.network.insert(key(&id), nic);
    id
}
