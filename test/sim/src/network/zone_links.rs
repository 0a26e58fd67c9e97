//! `privateDnsZones/virtualNetworkLinks`: which networks resolve names in a zone.

use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::error::ArmError;
use crate::network::life::{self, Write};
use crate::network::private_zones::global;
use crate::network::view;
use crate::state::State;
use crate::world::{key, leaf};

const KIND: &str = "privateDnsZones/virtualNetworkLinks";

fn zone(id: &str) -> String {
    key(id).split('/').take(9).collect::<Vec<_>>().join("/")
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let found = life::get(state, call, KIND)?;
    Ok(Reply::ok(view::show(&found)).tagged(found.etag))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let below = format!("{}/virtualnetworklinks/", zone(&call.id));
    life::list(state, call, (KIND, &below))
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    life::delete(state, call, "private.dns")
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    global(call)?;
    let mut body = life::fields(&call.body);
    let properties = body.get("properties").cloned().unwrap_or_default();
    let network = properties
        .pointer("/virtualNetwork/id")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !state.world.network.contains_key(&key(network)) {
        return Err(life::dangling(call, network));
    }
    let own = key(&call.id);
    let name = leaf(&zone(&call.id)).to_owned();
    let overlaps = state.world.network.iter().any(|(id, other)| {
        *id != own
            && other.kind == KIND
            && leaf(&zone(id)) == name
            && other
                .reference("virtualNetwork")
                .is_some_and(|other| key(other) == key(network))
    });
    if overlaps {
        let message = format!(
            "A virtual network cannot be linked to multiple zones with overlapping namespaces. You tried to link virtual network with '{name}' and '{name}' zones."
        );
        return Err(ArmError::bad_request("BadRequest", message));
    }
    let registers = properties
        .get("registrationEnabled")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    body.insert("properties".into(), json!({
        "registrationEnabled": registers,
        "resolutionPolicy": properties.get("resolutionPolicy").cloned().unwrap_or_else(|| json!("Default")),
        "virtualNetwork": {"id": network},
        "virtualNetworkLinkState": "Completed",
    }));
    let write = Write {
        kind: KIND,
        location: "global".to_owned(),
        body,
        takes: "private.dns",
    };
    life::put(state, call, write)
}
