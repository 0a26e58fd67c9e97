//! `virtualNetworks/subnets`. A PUT replaces the whole subnet: what is not sent is gone.

use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Reply};
use crate::error::ArmError;
use crate::network::life::{self, Write};
use crate::network::model::Linked;
use crate::network::reach::network_of;
use crate::network::view;
use crate::state::State;
use crate::world::{Provisioning, key};

const KIND: &str = "virtualNetworks/subnets";

/// A subnet with what is in it.
pub(crate) fn show(state: &State, subnet: &Linked) -> Value {
    let mut shown = view::show(subnet);
    let uses: Vec<Value> = endpoints(state, &key(&subnet.id))
        .map(|endpoint| json!({"id": endpoint.id}))
        .collect();
    if let Some(properties) = shown.get_mut("properties").and_then(Value::as_object_mut)
        && !uses.is_empty()
    {
        properties.insert("privateEndpoints".into(), json!(uses));
    }
    shown
}

/// Private endpoints in a subnet.
pub(crate) fn endpoints<'a>(state: &'a State, subnet: &'a str) -> impl Iterator<Item = &'a Linked> {
    let all = state.world.network.values();
    all.filter(move |other| {
        other.kind == "privateEndpoints"
            && other
                .reference("subnet")
                .is_some_and(|id| key(id) == subnet)
    })
}

/// Nothing below this id is in use.
pub(crate) fn unused(state: &State, id: &str) -> Result<(), ArmError> {
    let below = format!("{id}/");
    let inside = state.world.network.iter().filter(|(other, found)| {
        found.kind == KIND && (other.as_str() == id || other.starts_with(&below))
    });
    for (subnet, _) in inside {
        if let Some(user) = endpoints(state, subnet).next() {
            let message = format!(
                "Subnet {subnet} is in use by {} and cannot be deleted.",
                user.id
            );
            return Err(ArmError::bad_request("InUseSubnetCannotBeDeleted", message));
        }
    }
    Ok(())
}

/// The body of a subnet with what the service fills in.
fn whole(location: &str, wanted: &Value) -> Result<Map<String, Value>, ArmError> {
    let mut body = life::fields(wanted);
    let Some(properties) = body.get_mut("properties").and_then(Value::as_object_mut) else {
        return Err(ArmError::bad_request(
            "InvalidRequestFormat",
            "Cannot parse the request.",
        ));
    };
    if properties.get("addressPrefix").is_none() && properties.get("addressPrefixes").is_none() {
        return Err(ArmError::bad_request(
            "NetcfgInvalidSubnet",
            "Subnet has no address prefix.",
        ));
    }
    for name in [
        "privateEndpoints",
        "ipConfigurations",
        "provisioningState",
        "purpose",
    ] {
        properties.remove(name);
    }
    properties.entry("delegations").or_insert_with(|| json!([]));
    properties
        .entry("privateEndpointNetworkPolicies")
        .or_insert_with(|| json!("Disabled"));
    properties
        .entry("privateLinkServiceNetworkPolicies")
        .or_insert_with(|| json!("Enabled"));
    let services = properties
        .get_mut("serviceEndpoints")
        .and_then(Value::as_array_mut);
    for service in services.into_iter().flatten() {
        if let Some(fields) = service.as_object_mut() {
            fields
                .entry("locations")
                .or_insert_with(|| json!([location]));
            fields.insert("provisioningState".into(), json!("Succeeded"));
        }
    }
    Ok(body)
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let found = life::get(state, call, KIND)?;
    let etag = format!("W/\"{}\"", found.etag);
    Ok(Reply::ok(show(state, &found)).tagged(etag))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let below = format!("{}/subnets/", network_of(&call.id));
    let found = state.world.network.iter();
    let found = found.filter(|(id, linked)| linked.kind == KIND && id.starts_with(&below));
    Ok(call.page(state, found, |subnet| show(state, subnet)))
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    let network = network_of(&call.id);
    life::calm(state, &network, &key(&call.id))?;
    let location = state
        .world
        .network
        .get(&network)
        .map(|network| network.location.clone());
    let location = location.unwrap_or_default();
    let body = whole(&location, &call.body)?;
    let reply = life::put(
        state,
        call,
        Write {
            kind: KIND,
            location,
            body,
            takes: "network.write",
        },
    )?;
    // The network that it is in has changed too.
    let fresh = state.guid();
    if let Some(network) = state.world.network.get_mut(&network) {
        network.etag = fresh;
    }
    Ok(reply)
}

/// A subnet inside the body of its network.
pub(crate) fn nested(
    state: &mut State,
    call: &Call,
    (location, subnet): (&str, &Value),
) -> Result<(), ArmError> {
    let Some(name) = subnet.get("name").and_then(Value::as_str) else {
        return Err(ArmError::bad_request(
            "InvalidRequestFormat",
            "A subnet has no name.",
        ));
    };
    let id = format!("{}/subnets/{name}", call.id);
    let linked = Linked {
        body: whole(location, subnet)?,
        id: id.clone(),
        kind: KIND.to_owned(),
        location: location.to_owned(),
        etag: state.guid(),
        provisioning: Provisioning::Succeeded,
    };
    state.world.network.insert(key(&id), linked);
    Ok(())
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    unused(state, &key(&call.id))?;
    life::calm(state, &network_of(&call.id), &key(&call.id))?;
    life::delete(state, call, "network.delete")
}
