//! How disks look in answers.

use serde_json::{Map, Value, json};

use crate::compute::skus;
use crate::stamp::stamp;
use crate::state::State;
use crate::world::{Disk, Power, key, leaf};

/// The state that follows from owners, their power and SAS.
fn disk_state(state: &State, disk: &Disk, owners: &[String]) -> &'static str {
    if owners.is_empty() {
        let granted = disk.sas_until.is_some_and(|until| until > state.now);
        return if granted { "ActiveSAS" } else { "Unattached" };
    }
    let on = |owner: &String| {
        let machine = state.world.machines.get(&key(owner));
        machine.is_none_or(|machine| machine.power != Power::Deallocated)
    };
    if owners.iter().any(on) {
        "Attached"
    } else {
        "Reserved"
    }
}

pub(crate) fn disk(state: &State, disk: &Disk) -> Value {
    let lag = disk.lag.as_ref().filter(|lag| lag.until > state.now);
    let owners = lag.map_or(&disk.owners, |lag| &lag.owners);
    let tier = skus::tier_of(&disk.sku, disk.gib);
    let mut shown = Map::new();
    shown.insert("name".into(), json!(leaf(&disk.id)));
    shown.insert("id".into(), json!(disk.id));
    shown.insert("type".into(), json!("Microsoft.Compute/disks"));
    shown.insert("location".into(), json!(disk.location));
    if !disk.zones.is_empty() {
        shown.insert("zones".into(), json!(disk.zones));
    }
    shown.insert("tags".into(), json!(disk.tags));
    if let Some(owner) = owners.first() {
        shown.insert("managedBy".into(), json!(owner));
    }
    if disk.max_shares > 1 && !owners.is_empty() {
        shown.insert("managedByExtended".into(), json!(owners));
    }
    let tier_name = tier.map_or("Standard", |tier| tier.tier);
    shown.insert("sku".into(), json!({"name": disk.sku, "tier": tier_name}));
    if let Some(place) = &disk.extended_location {
        shown.insert("extendedLocation".into(), place.clone());
    }
    let properties = properties(state, disk, owners);
    shown.insert("properties".into(), Value::Object(properties));
    Value::Object(shown)
}

fn properties(state: &State, disk: &Disk, owners: &[String]) -> Map<String, Value> {
    let tier = skus::tier_of(&disk.sku, disk.gib);
    let mut properties = disk.more.clone();
    properties.insert(
        "creationData".into(),
        Value::Object(disk.origin.shown.clone()),
    );
    properties.insert("diskSizeGB".into(), json!(disk.gib));
    properties.insert(
        "diskSizeBytes".into(),
        json!((disk.gib << 30) + disk.odd_bytes),
    );
    properties.insert("diskIOPSReadWrite".into(), json!(disk.iops));
    properties.insert("diskMBpsReadWrite".into(), json!(disk.mbps));
    if let Some(tier) = tier.filter(|tier| tier.sku.starts_with("Premium_")) {
        let named = disk.tier.as_deref().unwrap_or(tier.size);
        properties.insert("tier".into(), json!(named));
    }
    if disk.max_shares > 1 {
        properties.insert("maxShares".into(), json!(disk.max_shares));
        let shares: Vec<Value> = owners.iter().map(|owner| json!({"vmUri": owner})).collect();
        properties.insert("shareInfo".into(), json!(shares));
    }
    properties.insert("timeCreated".into(), json!(stamp(disk.created_ms)));
    properties.insert("provisioningState".into(), json!(disk.provisioning.text()));
    properties.insert("diskState".into(), json!(disk_state(state, disk, owners)));
    properties.insert("uniqueId".into(), json!(disk.unique_id));
    if let Some(at) = disk.owned_ms {
        properties.insert("LastOwnershipUpdateTime".into(), json!(stamp(at)));
    }
    if let Some(copying) = disk.copying {
        properties.insert(
            "completionPercent".into(),
            json!(copying.percent(state.now)),
        );
    }
    properties
}
