//! `privateDnsZones`: kept and counted; the records are those of the zone groups that name one.

use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::error::ArmError;
use crate::network::life::{self, Write};
use crate::network::model::Linked;
use crate::network::view;
use crate::state::State;
use crate::world::key;

const KIND: &str = "privateDnsZones";

fn show(state: &State, zone: &Linked) -> Value {
    let id = key(&zone.id);
    let below = format!("{id}/virtualnetworklinks/");
    let links = state.world.network.range(below.clone()..);
    let links: Vec<&Linked> = links
        .take_while(|(id, _)| id.starts_with(&below))
        .map(|(_, link)| link)
        .collect();
    let registering = links.iter().filter(|link| {
        link.property("registrationEnabled")
            .and_then(Value::as_bool)
            == Some(true)
    });
    let groups = state.world.network.values();
    let records = groups
        .filter_map(|group| group.property("privateDnsZoneConfigs")?.as_array())
        .flatten()
        .filter(|config| {
            let named = config
                .pointer("/properties/privateDnsZoneId")
                .and_then(Value::as_str);
            named.is_some_and(|named| key(named) == id)
        });
    let mut shown = view::show(zone);
    if let Some(properties) = shown.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, value) in [
            ("maxNumberOfRecordSets", 25_000),
            ("maxNumberOfVirtualNetworkLinks", 1000),
            ("maxNumberOfVirtualNetworkLinksWithRegistration", 100),
            ("numberOfRecordSets", 1 + records.count()),
            ("numberOfVirtualNetworkLinks", links.len()),
            (
                "numberOfVirtualNetworkLinksWithRegistration",
                registering.count(),
            ),
        ] {
            properties.insert(name.into(), json!(value));
        }
    }
    shown
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let found = life::get(state, call, KIND)?;
    Ok(Reply::ok(show(state, &found)).tagged(found.etag))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    let found = state.world.network.iter();
    let found = found.filter(|(id, linked)| linked.kind == KIND && id.starts_with(&scope));
    Ok(call.page(state, found, |zone| show(state, zone)))
}

/// Private DNS is nowhere in particular.
pub(crate) fn global(call: &Call) -> Result<(), ArmError> {
    let location = call
        .body
        .get("location")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if location.eq_ignore_ascii_case("global") {
        return Ok(());
    }
    let message = format!(
        "The provided location '{location}' is not available for resource type 'Microsoft.Network/privateDnsZones'. List of available regions for the resource type is 'global'."
    );
    Err(ArmError::bad_request(
        "LocationNotAvailableForResourceType",
        message,
    ))
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    global(call)?;
    let body = life::fields(&call.body);
    let write = Write {
        kind: KIND,
        location: "global".to_owned(),
        body,
        takes: "private.dns",
    };
    life::put(state, call, write)
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    let below = format!("{}/", key(&call.id));
    if let Some((nested, _)) = state
        .world
        .network
        .range(below.clone()..)
        .next()
        .filter(|(id, _)| id.starts_with(&below))
    {
        let message = format!(
            "Cannot delete resource while nested resources exist. Some existing nested resource IDs include: '{nested}'. Please delete all nested resources before deleting this resource."
        );
        return Err(ArmError::conflict("CannotDeleteResource", message));
    }
    life::delete(state, call, "private.dns")
}
