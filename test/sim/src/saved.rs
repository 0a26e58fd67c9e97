//! How a world stands in the journal: one key for each resource. Large tables give only what was
//! touched, so that a write costs what it changes and not what there is.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::persist::Change;
use crate::serve::backend::Changes;
use crate::table::Table;
use crate::world::World;

/// Key under which the parts of a world are saved.
const PREFIX: &str = "arm/";
const UNREADABLE: &str = "the saved world cannot be read by this version";
/// The tables that tell what was touched.
const LARGE: [&str; 10] = [
    "disks",
    "snapshots",
    "machines",
    "scale_sets",
    "operations",
    "accounts",
    "shares",
    "deleted_shares",
    "network",
    "file_facts",
];

/// Calls a function for each large table of a world, with its name.
macro_rules! tables {
    (@each $world:ident $call:ident $args:tt $($table:ident)*) => {
        $(tables!(@one $world $call $args $table);)*
    };
    (@one $world:ident $call:ident ($($arg:expr),*) $table:ident) => {
        $call(&mut $world.$table, stringify!($table), $($arg),*)?
    };
    ($world:ident, $call:ident($($arg:expr),*)) => {
        tables!(@each $world $call ($($arg),*)
            disks snapshots machines scale_sets operations
            accounts shares deleted_shares network file_facts)
    };
}

/// What changed since this was last asked; everything at the first time.
pub(crate) fn changes(world: &mut World) -> serde_json::Result<Changes> {
    let mut found = Changes::default();
    tables!(world, touched(&mut found));
    let rest = json!({
        "tenant": world.tenant,
        "subscriptions": world.subscriptions,
        "locations": world.locations,
        "groups": world.groups,
        "encryption_sets": world.encryption_sets,
        "disk_accesses": world.disk_accesses,
        "drawn": world.drawn,
    });
    for (table, value) in rest.as_object().into_iter().flatten() {
        match value {
            Value::Object(items) if !items.is_empty() => {
                for (id, item) in items {
                    let key = format!("{PREFIX}{table}:{id}");
                    found.rest.insert(key, item.clone());
                }
            }
            other => {
                found.rest.insert(format!("{PREFIX}{table}"), other.clone());
            }
        }
    }
    // Not before all of it is in hand.
    tables!(world, told());
    Ok(found)
}

fn touched<T: Serialize>(
    table: &Table<T>,
    name: &str,
    found: &mut Changes,
) -> serde_json::Result<()> {
    let prefix = format!("{PREFIX}{name}:");
    let Some(keys) = table.touched() else {
        // What happened since the world was read is not known, removals least of all: the whole
        // table is compared.
        for (id, item) in table {
            let value = serde_json::to_value(item)?;
            found.rest.insert(format!("{prefix}{id}"), value);
        }
        return Ok(());
    };
    for id in keys {
        let value = table.get(id).map(serde_json::to_value).transpose()?;
        found.touched.push(Change(format!("{prefix}{id}"), value));
    }
    found.covered.push(prefix);
    Ok(())
}

fn told<T>(table: &mut Table<T>, _: &str) -> serde_json::Result<()> {
    table.told();
    Ok(())
}

/// The world of a journal; none when it holds none yet.
///
/// # Errors
/// When a part is missing or is not what this version writes; says which.
pub(crate) fn import(saved: &BTreeMap<String, Value>) -> anyhow::Result<Option<World>> {
    let mut small = serde_json::Map::new();
    let mut large = Vec::new();
    for (key, value) in saved {
        let Some(name) = key.strip_prefix(PREFIX) else {
            continue;
        };
        match name.split_once(':') {
            None => {
                small.insert(name.to_owned(), value.clone());
            }
            Some((table, id)) if LARGE.contains(&table) => large.push((key, table, id, value)),
            Some((table, id)) => {
                let table = small.entry(table).or_insert_with(|| json!({}));
                if let Some(items) = table.as_object_mut() {
                    items.insert(id.to_owned(), value.clone());
                }
            }
        }
    }
    if small.is_empty() && large.is_empty() {
        return Ok(None);
    }
    let mut world: World = serde_json::from_value(Value::Object(small)).context(UNREADABLE)?;
    for (key, table, id, value) in large {
        item(&mut world, table, id, value).with_context(|| format!("{UNREADABLE}: {key}"))?;
    }
    Ok(Some(world))
}

fn item(world: &mut World, table: &str, id: &str, value: &Value) -> serde_json::Result<()> {
    tables!(world, put(table, id, value));
    Ok(())
}

fn put<T: DeserializeOwned>(
    table: &mut Table<T>,
    name: &str,
    wanted: &str,
    id: &str,
    value: &Value,
) -> serde_json::Result<()> {
    if name == wanted {
        table.insert(id.to_owned(), T::deserialize(value)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
