//! Objects of every kind, legal and broken, from a seed.
//!
//! Three things never come up, because the reference translator answers them by chance, in the
//! order of a map: an object with two sources, attributes whose keys differ only in case, and a
//! class with two zone parameters. Fields that nobody reads are well-typed, because the reference
//! decodes them too.

mod classes;
mod parts;
mod volumes;

use azcsi_migration::request::Direction;
use serde_json::{Value, json};

use self::classes::class;
use self::parts::{Builder, DISK, DISK_DRIVER, FILE, FILE_DRIVER, SHOWN_ZONE, disk_uri};
use self::volumes::{put_source, spec, volume};
use crate::dice::Dice;

pub(crate) use self::volumes::{csi_volume, in_tree_volume};

/// A direction and its input.
pub(crate) fn question(dice: &mut Dice) -> (Direction, Value) {
    match dice.below(9) {
        0 | 1 => (Direction::PvToCsi, in_tree_volume(dice)),
        2 | 3 => (Direction::PvFromCsi, csi_volume(dice)),
        4 | 5 => (Direction::InlineToCsi, inline(dice)),
        6 | 7 => (Direction::StorageClassToCsi, class(dice)),
        _ => (Direction::Topology, operation(dice)),
    }
}

fn inline(dice: &mut Dice) -> Value {
    let namespace = dice.one(&["", "shop", "a#b"]);
    if dice.once_in(200) {
        return json!({"volume": null, "podNamespace": namespace});
    }
    let mut volume = Builder::default();
    volume.put("name", dice.one(&["data", "logs", "a#b"]));
    put_source(dice, &mut volume, "inline");
    json!({"volume": volume.0, "podNamespace": namespace})
}

fn operation(dice: &mut Dice) -> Value {
    let plugin = dice.one(&[DISK, FILE, "kubernetes.io/azurefile", "", DISK_DRIVER]);
    let driver = dice.one(&[DISK_DRIVER, FILE_DRIVER, DISK, "", "File.csi.azure.com"]);
    match dice.below(10) {
        0 => json!({"op": "is_migratable_plugin", "pluginName": plugin}),
        1 => json!({"op": "is_migrated_driver", "driver": driver}),
        2 => json!({"op": "csi_name_from_intree", "pluginName": plugin}),
        3 => json!({"op": "intree_name_from_csi", "driver": driver}),
        4 => json!({
            "op": "repair_volume_handle", "driver": driver, "volumeHandle": disk_uri(dice),
            "nodeID": dice.one(&["", "aks-1"]),
        }),
        5 => json!({"op": "is_pv_migratable", "pv": plain(dice, "spec")}),
        6 => json!({"op": "is_inline_migratable", "volume": plain(dice, "")}),
        7 => json!({
            "op": "plugin_name_from_spec", "pv": plain(dice, "spec"), "volume": plain(dice, ""),
        }),
        n => {
            let op = ["pv_topology_to_csi", "pv_topology_from_csi"][n % 2];
            let spec = spec(dice);
            json!({"op": op, "key": SHOWN_ZONE, "pv": volume(dice, spec)})
        }
    }
}

/// A well-typed volume of some kind, or none; `under` names the member that holds the source.
fn plain(dice: &mut Dice, under: &str) -> Value {
    let source = match dice.below(6) {
        0 => return Value::Null,
        1 => json!({"azureDisk": {"diskName": "d", "diskURI": "u", "kind": "Dedicated"}}),
        2 => json!({"azureDisk": {}}),
        3 => json!({"azureFile": {"secretName": "s", "shareName": "h"}}),
        4 => json!({"azureFile": null, "hostPath": {"path": "/"}}),
        _ => json!({"csi": {"driver": DISK_DRIVER, "volumeHandle": "u"}}),
    };
    match under {
        "" => source,
        member => json!({"metadata": {"name": "p"}, member: source}),
    }
}
