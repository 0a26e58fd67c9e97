//! Tests of `volumes`.

use serde_json::json;

use super::{Handles, PersistentVolume};
use crate::watch::Collection as _;

fn volume(name: &str, spec: &serde_json::Value) -> PersistentVolume {
    let metadata = json!({"name": name, "resourceVersion": "1"});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

#[test]
fn handles_are_found_whatever_the_case_and_the_plugin() {
    let mut handles = Handles::of("disk.csi.azure.com");
    let csi = json!({"driver": "disk.csi.azure.com", "volumeHandle": "/S/D"});
    let first = volume("one", &json!({"csi": csi, "capacity": {"storage": "1Gi"}}));
    handles.put(first.clone());
    handles.put(volume(
        "two",
        &json!({"azureDisk": {"diskName": "d", "diskURI": "/s/d"}}),
    ));
    let other = json!({"driver": "file.csi.azure.com", "volumeHandle": "/S/D"});
    handles.put(volume("three", &json!({"csi": other})));
    let mut names: Vec<&str> = handles.names("/s/D").map(|name| &**name).collect();
    names.sort_unstable();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(handles.handle("one").map(|handle| &**handle), Some("/S/D"));
    assert_eq!(handles.handle("three"), None);
    handles.remove(&first);
    assert_eq!(handles.names("/s/d").count(), 1);
}
