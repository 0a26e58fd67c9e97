//! Facts that must stay empty, whatever clients and faults do.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::world::{World, key};

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which rule.
    pub rule: String,
    /// What happened.
    pub about: String,
    /// On the axis of the clock, in milliseconds.
    #[serde(rename = "atMs")]
    pub at_ms: u64,
}

/// All of them, in order.
#[derive(Debug, Default)]
pub(crate) struct Violations(Vec<Violation>);

impl Violations {
    pub(crate) fn add(&mut self, rule: &str, about: String, now: Duration) {
        let at_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let violation = Violation {
            rule: rule.to_owned(),
            about,
            at_ms,
        };
        let known =
            |other: &Violation| (&other.rule, &other.about) == (&violation.rule, &violation.about);
        if !self.0.iter().any(known) {
            self.0.push(violation);
        }
    }

    /// What was seen so far, and what is wrong in the world now.
    pub(crate) fn all(&self, world: &World, released: &[String], now: Duration) -> Vec<Violation> {
        let mut now_wrong = Self(self.0.clone());
        let left = released.iter().filter_map(|id| world.disks.get(&key(id)));
        for disk in left {
            let about = format!("{} was left behind by its volume", disk.id);
            now_wrong.add("diskWithoutVolume", about, now);
        }
        for (rule, about) in inspect(world) {
            now_wrong.add(rule, about, now);
        }
        now_wrong.0
    }
}

/// What is left behind after its owner is gone: private endpoints of accounts, zone groups of zones.
fn left_behind(world: &World) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for linked in world.network.values() {
        let (list, pointer, rule) = match linked.kind.as_str() {
            "privateEndpoints" => (
                "privateLinkServiceConnections",
                "/properties/privateLinkServiceId",
                "endpointWithoutAccount",
            ),
            "privateEndpoints/privateDnsZoneGroups" => (
                "privateDnsZoneConfigs",
                "/properties/privateDnsZoneId",
                "zoneGroupWithoutZone",
            ),
            _ => continue,
        };
        let items = linked.property(list).and_then(serde_json::Value::as_array);
        for item in items.into_iter().flatten() {
            let id = item.pointer(pointer).and_then(serde_json::Value::as_str);
            let id = id.unwrap_or_default();
            if !world.accounts.contains_key(&key(id)) && !world.network.contains_key(&key(id)) {
                found.push((rule, format!("{} leads to {id}", linked.id)));
            }
        }
    }
    found
}

/// Rules that a world itself shows to be broken.
fn inspect(world: &World) -> Vec<(&'static str, String)> {
    let mut found = left_behind(world);
    let mut owners: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for machine in world.machines.values() {
        let mut luns = BTreeMap::new();
        for entry in machine.data_disks.iter().filter(|entry| entry.attached) {
            if let Some(other) = luns.insert(entry.lun, &entry.disk_id) {
                let about = format!(
                    "{}: {other} and {} at LUN {}",
                    machine.id, entry.disk_id, entry.lun
                );
                found.push(("twoDisksOnOneLun", about));
            }
            owners
                .entry(key(&entry.disk_id))
                .or_default()
                .push(&machine.id);
        }
    }
    for (id, machines) in owners {
        match world.disks.get(&id) {
            None => found.push((
                "attachedButDeleted",
                format!("{id} on {}", machines.join(", ")),
            )),
            Some(disk) if machines.len() > usize::try_from(disk.max_shares).unwrap_or(1) => {
                found.push((
                    "attachedTooOften",
                    format!("{id} on {}", machines.join(", ")),
                ));
            }
            Some(_) => {}
        }
    }
    found
}
