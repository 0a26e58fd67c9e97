//! Resources that are kept and shown but decide little here: disk encryption sets, disk accesses;
//! and what a subscription knows of itself: groups, regions, SKUs, usage, operations.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Links, Reply};
use crate::compute::skus;
use crate::error::ArmError;
use crate::lro::{Start, Work, begin};
use crate::state::State;
use crate::world::{Kept, key, leaf, region};

/// The table of a kind.
fn table<'a>(state: &'a mut State, id: &str) -> (&'static str, &'a mut BTreeMap<String, Kept>) {
    if key(id).contains("/diskencryptionsets") {
        ("diskEncryptionSets", &mut state.world.encryption_sets)
    } else {
        ("diskAccesses", &mut state.world.disk_accesses)
    }
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let (kind, table) = table(state, &call.id);
    let found = table.get(&key(&call.id)).ok_or_else(|| call.absent(kind))?;
    Ok(Reply::ok(Value::Object(found.body.clone())))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    let (_, table) = table(state, &call.path);
    let table = table.clone();
    let found = table.iter().filter(|(key, _)| key.starts_with(&scope));
    Ok(call.page(state, found, |kept| Value::Object(kept.body.clone())))
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    let location = crate::compute::placement::location(state, &call.body)?;
    let unique = state.guid();
    let Value::Object(mut body) = call.body.clone() else {
        return Err(ArmError::bad_request(
            "InvalidRequestContent",
            "The body is no object.",
        ));
    };
    let (kind, table) = table(state, &call.id);
    let isnew = !table.contains_key(&key(&call.id));
    body.insert("name".into(), json!(leaf(&call.id)));
    body.insert("id".into(), json!(call.id));
    body.insert("type".into(), json!(format!("Microsoft.Compute/{kind}")));
    let properties = body
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert("provisioningState".into(), json!("Succeeded"));
        if kind == "diskEncryptionSets" {
            let default = json!("EncryptionAtRestWithCustomerKey");
            properties.entry("encryptionType").or_insert(default);
        }
    }
    if let Some(identity) = body.get_mut("identity").and_then(Value::as_object_mut) {
        identity.entry("principalId").or_insert(json!(unique));
    }
    table.insert(
        key(&call.id),
        Kept {
            id: call.id.clone(),
            body: body.clone(),
        },
    );
    let takes = state.takes("kept.write");
    let start = Start {
        family: "DiskOperations",
        target: &call.id,
        location: &location,
        work: Work::Nothing,
        takes,
    };
    let operation = begin(state, start);
    let status = if isnew {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    Ok(Reply::new(status, Some(Value::Object(body))).with(operation, Links::Both))
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    let (_, table) = table(state, &call.id);
    let removed = table.remove(&key(&call.id));
    let Some(removed) = removed else {
        return Ok(Reply::new(StatusCode::NO_CONTENT, None));
    };
    let location = removed
        .body
        .get("location")
        .and_then(Value::as_str)
        .map(region);
    let takes = state.takes("kept.write");
    let location = location.unwrap_or_default();
    let start = Start {
        family: "DiskOperations",
        target: &removed.id,
        location: &location,
        work: Work::Nothing,
        takes,
    };
    Ok(Reply::accepted(begin(state, start), None))
}

/// A resource group.
pub(crate) fn group(state: &mut State, call: &Call) -> Answer {
    let id = format!(
        "/subscriptions/{}/resourceGroups/{}",
        call.subscription,
        call.group.as_deref().unwrap_or_default()
    );
    let group = state.world.groups.get(&key(&id));
    let group = group
        .ok_or_else(|| crate::front_door::no_group(call.group.as_deref().unwrap_or_default()))?;
    Ok(Reply::ok(look_group(&call.subscription, group)))
}

pub(crate) fn put_group(state: &mut State, call: &Call) -> Answer {
    let location = crate::compute::placement::location(state, &call.body)?;
    let name = call.group.clone().unwrap_or_default();
    let id = format!("/subscriptions/{}/resourceGroups/{name}", call.subscription);
    let isnew = !state.world.groups.contains_key(&key(&id));
    if isnew {
        state.world.add_group(&call.subscription, &name, &location);
        state.revision += 1;
    }
    let mut reply = group(state, call)?;
    reply.status = if isnew {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok(reply)
}

pub(crate) fn head_group(state: &mut State, call: &Call) -> Answer {
    group(state, call).map(|_| Reply::new(StatusCode::NO_CONTENT, None))
}

fn look_group(subscription: &str, group: &crate::world::Group) -> Value {
    json!({
        "id": format!("/subscriptions/{subscription}/resourceGroups/{}", group.name),
        "name": group.name,
        "type": "Microsoft.Resources/resourceGroups",
        "location": group.location,
        "properties": {"provisioningState": "Succeeded"},
    })
}

pub(crate) fn groups(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    let found = state
        .world
        .groups
        .iter()
        .filter(|(key, _)| key.starts_with(&scope));
    Ok(call.page(state, found, |group| look_group(&call.subscription, group)))
}

pub(crate) fn subscription(_: &mut State, call: &Call) -> Answer {
    Ok(Reply::ok(json!({
        "id": format!("/subscriptions/{}", call.subscription),
        "subscriptionId": call.subscription,
        "displayName": "azcsi-sim",
        "state": "Enabled",
    })))
}

pub(crate) fn locations(state: &mut State, call: &Call) -> Answer {
    let places = state.world.locations.values().map(|place| {
        let zones = place.zones.iter();
        let zones: Vec<Value> = zones
            .map(|zone| json!({"logicalZone": zone, "physicalZone": format!("{}-az{zone}", place.name)}))
            .collect();
        json!({
            "id": format!("/subscriptions/{}/locations/{}", call.subscription, place.name),
            "name": place.name,
            "displayName": place.display_name,
            "availabilityZoneMappings": zones,
            "metadata": {"regionType": "Physical"},
        })
    });
    let places: Vec<Value> = places.collect();
    Ok(Reply::ok(json!({"value": places})))
}

/// The SKU catalogue; only a filter by location is known.
pub(crate) fn sku_list(state: &mut State, call: &Call) -> Answer {
    let filter = call.query.get("$filter").unwrap_or_default();
    let wanted = filter.split('\'').nth(1).map(region);
    let wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
    let places: Vec<_> = state
        .world
        .locations
        .values()
        .filter(|place| wanted(&place.name))
        .collect();
    let mut value = Vec::new();
    for place in places {
        let info = json!([{"location": place.name, "zones": place.zones, "zoneDetails": []}]);
        value.extend(
            skus::vm_sizes()
                .values()
                .map(|size| vm_sku(size, &place.name, &info)),
        );
        value.extend(
            skus::tiers()
                .iter()
                .map(|tier| disk_sku(tier, &place.name, &info)),
        );
    }
    value.sort_by_key(|sku| sku.get("name").map(Value::to_string));
    Ok(Reply::ok(json!({"value": value})))
}

fn capabilities(pairs: &[(&str, String)]) -> Vec<Value> {
    pairs
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect()
}

fn vm_sku(size: &skus::VmSize, place: &str, info: &Value) -> Value {
    let short = size.name.trim_start_matches("Standard_");
    let truth = if size.premium { "True" } else { "False" };
    let can = capabilities(&[
        ("MaxDataDiskCount", size.max_data_disks.to_string()),
        ("PremiumIO", truth.to_owned()),
        ("UltraSSDAvailable", truth.to_owned()),
        ("vCPUs", size.cpus.to_owned()),
        ("DiskControllerTypes", "SCSI".to_owned()),
    ]);
    json!({
        "resourceType": "virtualMachines", "name": size.name, "tier": "Standard", "size": short,
        "family": format!("standard{short}Family"), "locations": [place], "locationInfo": info,
        "capabilities": can, "restrictions": [],
    })
}

fn disk_sku(tier: &skus::Tier, place: &str, info: &Value) -> Value {
    let can = capabilities(&[
        ("MaxSizeGiB", tier.max_gib.to_string()),
        ("MaxIOps", tier.iops.to_string()),
        ("MaxBandwidthMBps", tier.mbps.to_string()),
        ("MaxBurstIops", tier.burst_iops.to_string()),
        ("MaxBurstBandwidthMBps", tier.burst_mbps.to_string()),
        ("MaxValueOfMaxShares", tier.max_shares.to_string()),
    ]);
    json!({
        "resourceType": "disks", "name": tier.sku, "tier": tier.tier, "size": tier.size,
        "locations": [place], "locationInfo": info, "capabilities": can, "restrictions": [],
    })
}

/// A poll: the status document, or with `monitor` the result itself.
pub(crate) fn poll(state: &mut State, call: &Call) -> Answer {
    let operation = crate::lro::find(state, call.name(1))?;
    if !call.query.is("monitor") {
        let mut reply = Reply::ok(operation.document());
        if operation.runs() {
            reply.operation = Some((operation.id.clone(), Links::Async));
        }
        return Ok(reply);
    }
    match &operation.outcome {
        crate::lro::Outcome::Running => Ok(Reply::accepted(operation.id.clone(), None)),
        crate::lro::Outcome::Succeeded => {
            let status = if operation.output.is_some() {
                StatusCode::OK
            } else {
                StatusCode::NO_CONTENT
            };
            Ok(Reply::new(status, operation.output.clone()))
        }
        crate::lro::Outcome::Failed(failure) | crate::lro::Outcome::Canceled(failure) => {
            Err(ArmError::conflict(&failure.code, failure.message.clone()))
        }
    }
}
