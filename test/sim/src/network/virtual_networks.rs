//! `virtualNetworks`; their subnets are kept by themselves and shown inside.

use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::compute::placement;
use crate::error::ArmError;
use crate::network::life::{self, Write};
use crate::network::model::Linked;
use crate::network::{subnets, view};
use crate::state::State;
use crate::world::key;

const KIND: &str = "virtualNetworks";

fn show(state: &State, network: &Linked) -> Value {
    let mut shown = view::show(network);
    let below = format!("{}/subnets/", key(&network.id));
    let inside: Vec<Value> = state
        .world
        .network
        .range(below.clone()..)
        .take_while(|(id, _)| id.starts_with(&below))
        .map(|(_, subnet)| subnets::show(state, subnet))
        .collect();
    if let Some(properties) = shown.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("subnets".into(), json!(inside));
        properties.insert("virtualNetworkPeerings".into(), json!([]));
    }
    shown
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let found = life::get(state, call, KIND)?;
    let etag = format!("W/\"{}\"", found.etag);
    Ok(Reply::ok(show(state, &found)).tagged(etag))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    let found = state.world.network.iter();
    let found = found.filter(|(id, linked)| linked.kind == KIND && id.starts_with(&scope));
    Ok(call.page(state, found, |network| show(state, network)))
}

/// Subnets that stand in the body are made or changed with it.
pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    let location = placement::location(state, &call.body)?;
    let id = key(&call.id);
    life::calm(state, &id, &id)?;
    let mut body = life::fields(&call.body);
    let properties = body.get_mut("properties").and_then(Value::as_object_mut);
    let properties = properties.ok_or_else(|| {
        ArmError::bad_request("InvalidRequestFormat", "Cannot parse the request.")
    })?;
    if properties.get("addressSpace").is_none() {
        return Err(ArmError::bad_request(
            "InvalidRequestFormat",
            "The virtual network has no address space.",
        ));
    }
    let inside = properties.remove("subnets");
    properties.remove("virtualNetworkPeerings");
    for subnet in inside.iter().filter_map(Value::as_array).flatten() {
        subnets::nested(state, call, (&location, subnet))?;
    }
    let write = Write {
        kind: KIND,
        location,
        body,
        takes: "network.write",
    };
    let mut reply = life::put(state, call, write)?;
    if let Some(found) = state.world.network.get(&id) {
        reply.body = Some(show(state, found));
    }
    Ok(reply)
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    subnets::unused(state, &key(&call.id))?;
    life::delete(state, call, "network.delete")
}
