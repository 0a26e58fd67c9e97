//! `privateEndpoints/privateDnsZoneGroups`: which zones have the records of an endpoint.

use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::error::ArmError;
use crate::network::life::{self, Write};
use crate::network::model::Linked;
use crate::network::{private_endpoints, view};
use crate::state::State;
use crate::world::{key, leaf};

const KIND: &str = "privateEndpoints/privateDnsZoneGroups";

fn endpoint(call: &Call) -> String {
    key(&call.id)
        .split('/')
        .take(9)
        .collect::<Vec<_>>()
        .join("/")
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let found = life::get(state, call, KIND)?;
    Ok(Reply::ok(view::show(&found)))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let below = format!("{}/privatednszonegroups/", endpoint(call));
    life::list(state, call, (KIND, &below))
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    life::delete(state, call, "network.delete")
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    let parent = state.world.network.get(&endpoint(call)).cloned();
    let parent = parent.ok_or_else(|| life::dangling(call, &endpoint(call)))?;
    let mut body = life::fields(&call.body);
    let given = body
        .get("properties")
        .and_then(|properties| properties.get("privateDnsZoneConfigs"));
    let given = given.and_then(Value::as_array).cloned().unwrap_or_default();
    let configs: Result<Vec<Value>, ArmError> = given
        .iter()
        .map(|given| config(state, call, (&parent, given)))
        .collect();
    let configs = configs?;
    if configs.is_empty() {
        return Err(ArmError::bad_request(
            "InvalidRequestFormat",
            "The zone group has no zone.",
        ));
    }
    body.insert(
        "properties".into(),
        json!({"privateDnsZoneConfigs": configs}),
    );
    let write = Write {
        kind: KIND,
        location: parent.location,
        body,
        takes: "network.write",
    };
    life::put(state, call, write)
}

/// A zone of the group, with the record it gets.
fn config(
    state: &State,
    call: &Call,
    (parent, given): (&Linked, &Value),
) -> Result<Value, ArmError> {
    let text = |pointer: &str| {
        let value = given.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_default()
    };
    let (name, zone) = (text("/name"), text("/properties/privateDnsZoneId"));
    if !state.world.network.contains_key(&key(zone)) {
        return Err(life::dangling(call, zone));
    }
    let account = private_endpoints::account(parent).unwrap_or_default();
    Ok(json!({
        "name": name,
        "id": format!("{}/privateDnsZoneConfigs/{name}", call.id),
        "type": "Microsoft.Network/privateEndpoints/privateDnsZoneGroups/privateDnsZoneConfigs",
        "properties": {
            "provisioningState": "Succeeded",
            "privateDnsZoneId": zone,
            "recordSets": [{
                "recordType": "A", "recordSetName": account,
                "fqdn": format!("{account}.{}", leaf(zone)), "ttl": 10,
                "ipAddresses": [private_endpoints::address(parent).unwrap_or_default()],
                "provisioningState": "Succeeded",
            }],
        },
    }))
}
