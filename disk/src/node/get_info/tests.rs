//! Names, zones and limits of machines of several kinds.

use azcsi_types::keys;
use azcsi_types::topology::Place;

use super::{Known, flaw, id, place, segments, volumes};
use crate::node::NodeConfig;
use crate::node::machine::{Labels, MachineFacts, Unanswered};

fn machine(zone: &str) -> MachineFacts {
    MachineFacts {
        name: "vm1".to_owned(),
        size: "Standard_D2s_v3".to_owned(),
        location: "West Europe".to_owned(),
        zone: zone.to_owned(),
        ..MachineFacts::default()
    }
}

#[test]
fn a_zone_is_region_and_number() {
    assert_eq!(place(&machine("1")).label(), "westeurope-1");
    for none in ["", "0", "x"] {
        assert_eq!(place(&machine(none)), Place::Regional);
    }
}

#[test]
fn the_driver_s_key_is_always_there_and_the_common_one_never_collides_id_10() {
    let zonal = place(&machine("1"));
    let both = segments(&zonal, Some("westeurope-1"));
    assert_eq!(both.len(), 2);
    assert_eq!(segments(&zonal, None), both);
    let own = segments(&zonal, Some("0"));
    assert_eq!(own.keys().collect::<Vec<_>>(), [keys::DISK_TOPOLOGY_ZONE]);
    let regional = segments(&Place::Regional, None);
    assert_eq!(regional[keys::DISK_TOPOLOGY_ZONE], "");
    assert_eq!(regional.len(), 1);
}

#[test]
fn metadata_counts_before_labels_unless_told_otherwise() {
    let labels = Labels {
        zone: Some("westeurope-2".to_owned()),
        instance_type: Some("Standard_D4s_v3".to_owned()),
    };
    let silent = Unanswered {
        source_name: "metadata",
        source: "no".into(),
    };
    let facts = machine("1");
    let config = NodeConfig::default();
    let from_labels = NodeConfig {
        info_from_labels: true,
        ..NodeConfig::default()
    };
    let place = |config: &NodeConfig, machine, labels| {
        Known::choose(config, machine, labels).map(|known| known.place.label())
    };
    for (config, machine, labels, expected) in [
        (&config, Ok(&facts), Some(&labels), Some("westeurope-1")),
        (&config, Err(&silent), Some(&labels), Some("westeurope-2")),
        (&config, Err(&silent), None, None),
        (
            &from_labels,
            Ok(&facts),
            Some(&labels),
            Some("westeurope-2"),
        ),
        (&from_labels, Ok(&facts), None, Some("westeurope-1")),
    ] {
        assert_eq!(place(config, machine, labels).as_deref(), expected);
    }
    let no_zones = NodeConfig {
        zones: false,
        ..NodeConfig::default()
    };
    assert_eq!(place(&no_zones, Ok(&facts), None).as_deref(), Some(""));
}

#[test]
fn the_limit_follows_the_size_or_the_flag() {
    let with = |limit, reserved| NodeConfig {
        attach_limit: limit,
        reserved,
        ..NodeConfig::default()
    };
    assert_eq!(volumes(&with(None, 0), "Standard_D2s_v3", 0), 4);
    assert_eq!(volumes(&with(None, 1), "Standard_D2s_v3", 1), 2);
    assert_eq!(volumes(&with(None, 9), "Standard_D2s_v3", 0), 1);
    assert_eq!(volumes(&with(None, 0), "Standard_Future", 0), 16);
    assert_eq!(volumes(&with(Some(0), 3), "Standard_D2s_v3", 0), 0);
    assert_eq!(volumes(&with(Some(7), 3), "Standard_D2s_v3", 0), 7);
}

#[test]
fn a_size_that_the_table_lacks_gets_the_wanted_limit_and_is_told_of_nd_20() {
    let config = NodeConfig {
        unknown_size: 9,
        ..NodeConfig::default()
    };
    assert_eq!(volumes(&config, "Standard_Future", 2), 7);
    assert_eq!(volumes(&config, "Standard_D2s_v3", 2), 2);
    let told = flaw(&config, "Standard_Future").unwrap();
    assert!(told.contains("'Standard_Future'") && told.contains('9'));
    assert_eq!(flaw(&config, "Standard_D2s_v3"), None);
    let fixed = NodeConfig {
        attach_limit: Some(3),
        ..config
    };
    assert_eq!(volumes(&fixed, "Standard_Future", 2), 3);
    assert_eq!(flaw(&fixed, "Standard_Future"), None);
}

#[test]
fn a_scale_set_instance_has_the_name_of_its_computer() {
    let config = |node_id: &str, id_from_metadata| NodeConfig {
        node_id: node_id.to_owned(),
        id_from_metadata,
        ..NodeConfig::default()
    };
    let mut facts = machine("");
    assert_eq!(id(&config("node", false), Some(&facts)), "node");
    assert_eq!(id(&config("node", true), Some(&facts)), "vm1");
    assert_eq!(id(&config("node", true), None), "node");
    facts.in_scale_set = true;
    for (name, expected) in [
        ("vm_0", "vm000000"),
        ("vm_35", "vm00000z"),
        ("vm_36", "vm000010"),
        ("a_b_1", "node"),
    ] {
        facts.name = name.to_owned();
        assert_eq!(id(&config("node", true), Some(&facts)), expected);
    }
}
