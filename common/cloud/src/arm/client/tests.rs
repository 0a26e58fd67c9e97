//! Tests of `client`.

use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::node::VmRef;

use crate::arm::error::ErrorKind;
use crate::testing::{Line, Script, answer, answer_with, azure, op};
use crate::{
    AttachDisk, CreationData, DataDiskChanges, DiskCreate, DiskCreateProperties, GroupScope,
};

const DISK: &str = r#"{"id":"/subscriptions/s/resourceGroups/G/providers/Microsoft.Compute/disks/d","name":"d","location":"eastus2","properties":{"diskSizeGB":10,"provisioningState":"Succeeded"}}"#;
const BUSY_DISK: &str = r#"{"id":"/subscriptions/s/resourceGroups/G/providers/Microsoft.Compute/disks/d","properties":{"provisioningState":"Updating"}}"#;
const OPERATION: &str = "https://management.azure.com/subscriptions/s/providers/Microsoft.Compute/locations/l/DiskOperations/1?p=x&s=y";
const RESULT: &str = "https://management.azure.com/subscriptions/s/providers/Microsoft.Compute/locations/l/DiskOperations/1?monitor=true";
const RUNNING: &str = r#"{"status":"InProgress"}"#;
const NOT_FOUND: &str =
    r#"{"error":{"code":"ResourceNotFound","message":"The Resource was not found."}}"#;
const PARENT: &str = r#"{"error":{"code":"ParentResourceNotFound","message":"no parent"}}"#;

fn disk() -> DiskUri {
    DiskUri::new("s", "g", "d").unwrap()
}

fn create() -> DiskCreate {
    DiskCreate {
        location: "eastus2".to_owned(),
        extended_location: None,
        sku: azcsi_types::sku::DiskSku::PremiumLrs.into(),
        zones: vec!["1".to_owned()],
        tags: crate::Tags::new(),
        properties: DiskCreateProperties {
            creation_data: CreationData::empty(),
            disk_size_gb: Some(10),
            ..DiskCreateProperties::default()
        },
    }
}

fn accepted() -> Line {
    let headers = [("azure-asyncoperation", OPERATION), ("location", RESULT)];
    (
        "PUT /disks/d?api-version=2025-01-02",
        answer_with(202, &headers, BUSY_DISK),
    )
}

#[tokio::test(start_paused = true)]
async fn a_create_polls_the_status_document_and_takes_the_disk_from_it() {
    let done = format!(r#"{{"status":"Succeeded","properties":{{"output":{DISK}}}}}"#);
    let script = Script::new([
        accepted(),
        ("GET DiskOperations/1?p=x&s=y", answer(200, RUNNING)),
        ("GET DiskOperations/1?p=x&s=y", answer(429, "")),
        ("GET DiskOperations/1?p=x&s=y", answer(200, &done)),
    ]);
    let (azure, clock) = azure(&script);
    let created = azure
        .disks()
        .create(&op(&clock, 60), &disk(), &create())
        .await
        .unwrap();
    assert_eq!(created.size().unwrap().get(), 10);
    assert_eq!(script.left(), 0);
    assert!(script.bodies()[0].contains(r#""creationData":{"createOption":"Empty"}"#));
    assert!(script.bodies()[0].contains(r#""sku":{"name":"Premium_LRS"}"#));
}

#[tokio::test(start_paused = true)]
async fn one_correlation_id_and_one_request_id_per_call() {
    let script = Script::new([
        ("GET /disks/d", answer(503, "")),
        ("GET /disks/d", answer(200, DISK)),
    ]);
    let (azure, clock) = azure(&script);
    azure.disks().get(&op(&clock, 60), &disk()).await.unwrap();
    let seen = script.seen.lock().unwrap();
    let header = |index: usize, name: &str| seen[index].headers()[name].clone();
    assert_eq!(header(0, "x-ms-correlation-request-id"), "corr-1");
    assert_eq!(
        header(0, "x-ms-client-request-id"),
        header(1, "x-ms-client-request-id")
    );
    assert_eq!(header(0, "authorization"), "Bearer token-1");
    assert!(format!("{:?}", seen[0]).contains("Sensitive"));
}

#[tokio::test(start_paused = true)]
async fn a_failed_operation_gives_azures_code() {
    let failed = r#"{"status":"Failed","error":{"code":"ZonalAllocationFailed","message":"no \"room\"\r\nhere"}}"#;
    let script = Script::new([accepted(), ("GET DiskOperations", answer(200, failed))]);
    let (azure, clock) = azure(&script);
    let error = azure
        .disks()
        .create(&op(&clock, 60), &disk(), &create())
        .await
        .unwrap_err();
    assert!(error.is_from_operation());
    assert_eq!(error.code(), "ZonalAllocationFailed");
    assert_eq!(error.fault(), Fault::Exhausted);
}

#[tokio::test(start_paused = true)]
async fn an_endless_operation_ends_with_the_deadline_and_is_uncertain() {
    let polls = (0..100).map(|_| ("GET DiskOperations", answer(200, RUNNING)));
    let script = Script::new(std::iter::once(accepted()).chain(polls));
    let (azure, clock) = azure(&script);
    let error = azure
        .disks()
        .create(&op(&clock, 30), &disk(), &create())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(error.fault(), Fault::Deadline);
    assert!(error.is_uncertain());
    assert!(clock.now() <= Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_operation_is_looked_up_at_the_resource() {
    let script = Script::new([
        accepted(),
        ("GET DiskOperations", answer(404, "")),
        ("GET /disks/d", answer(200, BUSY_DISK)),
        ("GET /disks/d", answer(200, DISK)),
    ]);
    let (azure, clock) = azure(&script);
    azure
        .disks()
        .create(&op(&clock, 60), &disk(), &create())
        .await
        .unwrap();
    assert_eq!(script.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_survives_a_forgotten_delete_is_not_called_deleted() {
    let start = answer_with(202, &[("azure-asyncoperation", OPERATION)], "");
    let script = Script::new([
        ("DELETE /disks/d", start),
        ("GET DiskOperations", answer(410, "")),
        ("GET /disks/d", answer(200, DISK)),
    ]);
    let (azure, clock) = azure(&script);
    let error = azure
        .disks()
        .delete(&op(&clock, 60), &disk())
        .await
        .unwrap_err();
    assert_eq!(error.fault(), Fault::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn deleting_what_is_absent_succeeds_only_on_an_exact_answer() {
    let group = r#"{"error":{"code":"ResourceGroupNotFound","message":"x"}}"#;
    for (status, body, deleted) in [
        (204, "", true),
        (404, NOT_FOUND, true),
        (404, group, true),
        (404, PARENT, false),
        (404, "<html>not here</html>", false),
        (404, "", false),
        (404, r#"{"error":{"code":"SubscriptionNotFound"}}"#, false),
        (410, NOT_FOUND, false),
    ] {
        let script = Script::new([("DELETE /disks/d", answer(status, body))]);
        let (azure, clock) = azure(&script);
        let result = azure.disks().delete(&op(&clock, 60), &disk()).await;
        assert_eq!(result.is_ok(), deleted, "{status} {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_token_never_goes_to_another_host() {
    let elsewhere = [("azure-asyncoperation", "https://evil.example/op")];
    let script = Script::new([("PUT /disks/d", answer_with(202, &elsewhere, BUSY_DISK))]);
    let (first, clock) = azure(&script);
    let error = first
        .disks()
        .create(&op(&clock, 60), &disk(), &create())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert_eq!(script.seen.lock().unwrap().len(), 1);

    let page = r#"{"value":[],"nextLink":"https://evil.example/next"}"#;
    let script = Script::new([("GET /disks?", answer(200, page))]);
    let (second, clock) = azure(&script);
    let scope = GroupScope::Subscription {
        subscription: "s".to_owned(),
    };
    let error = second
        .disks()
        .list(&op(&clock, 60), &scope)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
}

#[tokio::test(start_paused = true)]
async fn pages_are_joined_and_an_empty_link_ends_them() {
    let one = format!(
        r#"{{"value":[{DISK}],"nextLink":"https://management.azure.com/next?$skiptoken=a%2Fb"}}"#
    );
    let two = format!(r#"{{"value":[{DISK}],"nextLink":""}}"#);
    let script = Script::new([
        (
            "GET /subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks?",
            answer(200, &one),
        ),
        ("GET /next?$skiptoken=a%2Fb", answer(200, &two)),
    ]);
    let (azure, clock) = azure(&script);
    let scope = GroupScope::ResourceGroup {
        subscription: "s".to_owned(),
        resource_group: "g".to_owned(),
    };
    assert_eq!(
        azure
            .disks()
            .list(&op(&clock, 60), &scope)
            .await
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_renewed_once_au_07() {
    let script = Script::new([
        ("GET /disks/d", answer(401, "")),
        ("GET /disks/d", answer(200, DISK)),
    ]);
    let (first, clock) = azure(&script);
    first.disks().get(&op(&clock, 60), &disk()).await.unwrap();
    let sent = script.seen.lock().unwrap()[1].headers()["authorization"].clone();
    assert_eq!(sent, "Bearer token-2");

    let script = Script::new([
        ("GET /disks/d", answer(401, "")),
        ("GET /disks/d", answer(401, "")),
    ]);
    let (second, clock) = azure(&script);
    let error = second
        .disks()
        .get(&op(&clock, 60), &disk())
        .await
        .unwrap_err();
    assert_eq!(error.fault(), Fault::Unauthenticated);
}

#[tokio::test(start_paused = true)]
async fn a_long_pause_is_reported_and_the_next_request_is_not_sent() {
    let busy = r#"{"error":{"code":"TooManyRequests","message":"x"}}"#;
    let script = Script::new([
        (
            "GET /disks/d",
            answer_with(429, &[("retry-after", "40")], busy),
        ),
        ("GET /disks/d", answer(200, DISK)),
    ]);
    let (azure, clock) = azure(&script);
    let disks = azure.disks();
    let error = disks.get(&op(&clock, 60), &disk()).await.unwrap_err();
    assert!(error.is_throttled());
    assert_eq!(error.fault(), Fault::Unavailable);
    let error = disks.get(&op(&clock, 60), &disk()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Paused);
    assert_eq!(script.left(), 1);
    tokio::time::advance(Duration::from_secs(40)).await;
    disks.get(&op(&clock, 60), &disk()).await.unwrap();
}

fn vm() -> VmRef {
    VmRef::machine("s", "g", "v").unwrap()
}

fn attach() -> DataDiskChanges {
    DataDiskChanges {
        attach: vec![AttachDisk::new(disk())],
        detach: Vec::new(),
    }
}

const PROFILE: &str = r#"{"dataDisks":[{"lun":3,"managedDisk":{"id":"/subscriptions/s/resourceGroups/G/providers/Microsoft.Compute/disks/D"}}]}"#;

#[tokio::test(start_paused = true)]
async fn the_attach_action_returns_the_slot_in_each_of_its_shapes() {
    let vm_body = format!(
        r#"{{"id":"{}","properties":{{"storageProfile":{PROFILE},"provisioningState":"Succeeded"}}}}"#,
        vm()
    );
    let output = format!(r#"{{"status":"Succeeded","properties":{{"output":{PROFILE}}}}}"#);
    let both = [("azure-asyncoperation", OPERATION), ("location", RESULT)];
    let post = "POST /virtualMachines/v/attachDetachDataDisks?api-version=2025-04-01";
    let get = "GET /virtualMachines/v?";
    let shapes: [Vec<Line>; 6] = [
        vec![(post, answer(200, PROFILE))],
        vec![(post, answer(200, "")), (get, answer(200, &vm_body))],
        vec![
            (post, answer_with(202, &[("location", RESULT)], "")),
            ("GET monitor", answer(202, "")),
            ("GET monitor", answer(200, PROFILE)),
        ],
        vec![
            (post, answer_with(202, &both, "")),
            ("GET p=x", answer(200, &output)),
        ],
        vec![
            (post, answer_with(202, &both, "")),
            ("GET p=x", answer(200, r#"{"status":"Succeeded"}"#)),
            ("GET monitor", answer(200, PROFILE)),
        ],
        vec![
            (post, answer_with(202, &both, "")),
            ("GET p=x", answer(404, "")),
            (get, answer(200, &vm_body)),
            ("GET monitor", answer(404, "")),
            (get, answer(200, &vm_body)),
        ],
    ];
    for (index, lines) in shapes.into_iter().enumerate() {
        let script = Script::new(lines);
        let (azure, clock) = azure(&script);
        let profile = azure
            .vms()
            .attach_detach(&op(&clock, 60), &vm(), &attach())
            .await;
        let lun = profile.unwrap().data_disks.find(&disk()).unwrap().lun;
        assert_eq!((lun.get(), script.left()), (3, 0), "shape {index}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_update_carries_its_version_and_an_empty_list_is_not_sent() {
    let entry = r#"{"lun":0,"name":"x","createOption":"Attach","deleteOption":"Detach","managedDisk":{"id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/x","later":1}}"#;
    let body = format!(
        r#"{{"id":"{}","etag":"\"3\"","properties":{{"storageProfile":{{"dataDisks":[{entry}]}},"provisioningState":"Succeeded"}}}}"#,
        vm()
    );
    let script = Script::new([
        ("GET /virtualMachines/v", answer(200, &body)),
        ("PATCH /virtualMachines/v", answer(200, &body)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let read = azure.vms().get(&op, &vm()).await.unwrap();
    let list = read.data_disks();
    azure
        .vms()
        .update_data_disks(&op, &vm(), list, read.etag.as_ref())
        .await
        .unwrap();
    assert_eq!(
        script.seen.lock().unwrap()[1].headers()["if-match"],
        "\"3\""
    );
    let sent = &script.bodies()[1];
    assert!(
        sent.contains(r#""deleteOption":"Detach""#) && sent.contains(r#""later":1"#),
        "{sent}"
    );
    let empty = crate::DataDiskList::default();
    let refused = azure
        .vms()
        .update_data_disks(&op, &vm(), &empty, None)
        .await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Protocol);
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_updated_by_put_and_a_refresh_names_no_disks() {
    let instance = VmRef::instance("s", "g", "set", "3").unwrap();
    let body = format!(r#"{{"id":"{instance}","properties":{{"provisioningState":"Succeeded"}}}}"#);
    let script = Script::new([(
        "PUT /virtualMachineScaleSets/set/virtualMachines/3?",
        answer(200, &body),
    )]);
    let (azure, clock) = azure(&script);
    azure
        .vms()
        .refresh(&op(&clock, 60), &instance)
        .await
        .unwrap();
    assert_eq!(script.bodies(), [r#"{"properties":{}}"#]);
}
