//! Tests of `document`.

use super::*;

fn only_text(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(items) => items.iter().all(only_text),
        Value::Object(fields) => fields.values().all(only_text),
        _ => false,
    }
}

fn instance() -> Instance {
    Instance {
        name: "pool_0".into(),
        zone: "2".into(),
        location: "eastus2".into(),
        tags: vec![("a".into(), "1".into()), ("b".into(), "2".into())],
        data_disks: vec![DataDisk {
            lun: 3,
            size_gib: 100,
            mbps: 100,
            ..DataDisk::default()
        }],
        ..Instance::default()
    }
}

#[test]
fn every_scalar_is_text() {
    assert!(only_text(&instance().document()));
}

#[test]
fn parts_are_found_by_path_and_given_as_text() {
    let document = instance().document();
    let part = |path: &[&str]| at(&document, path).map(text);
    assert_eq!(part(&["compute", "zone"]).as_deref(), Some("2"));
    assert_eq!(
        part(&["compute", "physicalZone"]).as_deref(),
        Some("eastus2-az2")
    );
    assert_eq!(part(&["compute", "tags"]).as_deref(), Some("a:1;b:2"));
    let disk = [
        "compute",
        "storageProfile",
        "dataDisks",
        "0",
        "diskCapacityBytes",
    ];
    assert_eq!(part(&disk).as_deref(), Some("107374182400"));
    assert_eq!(part(&["network", "interface"]).as_deref(), Some("0/"));
    assert_eq!(part(&["compute", "nothing"]), None);
    assert_eq!(part(&["network", "interface", "7"]), None);
}
