//! Tests of `metadata`.

use std::sync::Arc;

use azcsi_types::fault::{Fault, Faulty};

use super::InstanceMetadata;
use crate::ServiceTransport;
use crate::testing::{Line, Script, answer};

fn metadata(lines: Vec<Line>) -> (InstanceMetadata, Script) {
    let script = Script::new(lines);
    let transport = Arc::new(ServiceTransport::new(script.clone()));
    (
        InstanceMetadata::new("http://127.0.0.1:9/", transport),
        script,
    )
}

const DOCUMENT: &str = r#"{"compute":{"location":"eastus2","name":"set_0","vmSize":"Standard_D4s_v5","zone":1,"platformFaultDomain":"0","tagsList":[],
  "resourceId":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/set/virtualMachines/0",
  "osProfile":{"computerName":"set000000"},
  "storageProfile":{"dataDisks":[
    {"lun":"2","name":"a","managedDisk":{"id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/a"}},
    {"lun":3,"name":"b","managedDisk":{"id":""}},
    {"lun":"4","managedDisk":null}]}},"network":{}}"#;

#[tokio::test(start_paused = true)]
async fn the_document_is_read_with_texts_and_numbers() {
    let (metadata, script) = metadata(vec![
        ("GET /metadata/instance", answer(429, "")),
        ("GET /metadata/instance", answer(410, "")),
        (
            "GET http://127.0.0.1:9/metadata/instance?api-version=2021-10-01&format=json",
            answer(200, DOCUMENT),
        ),
    ]);
    let instance = metadata.instance().await.unwrap();
    assert_eq!(instance.compute.zone, "1");
    assert_eq!(instance.vm().unwrap().scale_set(), Some("set"));
    let luns: Vec<u8> = instance.data_disks().iter().map(|d| d.lun.get()).collect();
    assert_eq!(luns, [2, 3, 4]);
    assert_eq!(
        instance.data_disks()[0].disk_id.as_ref().unwrap().name(),
        "a"
    );
    assert_eq!(instance.data_disks()[1].disk_id, None);
    assert_eq!(script.seen.lock().unwrap()[0].headers()["metadata"], "true");
}

#[tokio::test(start_paused = true)]
async fn a_lasting_refusal_is_not_repeated() {
    let (first, _) = metadata(vec![("GET /metadata", answer(403, "blocked"))]);
    let error = first.instance().await.unwrap_err();
    assert!(
        error.to_string().contains("403 Forbidden: blocked"),
        "{error}"
    );
    assert_eq!(error.fault(), Fault::Unavailable);
    let (second, _) = metadata(vec![(
        "GET /metadata",
        answer(
            200,
            r#"{"compute":{"storageProfile":{"dataDisks":[{"lun":"99"}]}}}"#,
        ),
    )]);
    let error = second.instance().await.unwrap_err();
    assert!(error.to_string().contains("dataDisks[0].lun"), "{error}");
}
