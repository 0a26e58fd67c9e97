//! Tests of `private_endpoints`.

use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::resource_id::ResourceId;

use crate::network::network_id;
use crate::testing::{Script, account, answer, answer_with, azure, op};
use crate::{PrivateEndpointCreate, Tags};

const OPERATION: &str = "https://management.azure.com/subscriptions/s/providers/Microsoft.Network/locations/l/operations/1";
const SUBNET: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n";

fn endpoint() -> ResourceId {
    network_id("s", "g", "privateEndpoints", "acct1-pvtendpoint").unwrap()
}

fn body(status: &str) -> String {
    let (id, service) = (endpoint(), account());
    format!(
        r#"{{"id":"{id}","name":"acct1-pvtendpoint","location":"eastus","properties":{{"provisioningState":"Succeeded","subnet":{{"id":"{SUBNET}"}},"privateLinkServiceConnections":[{{"name":"c","properties":{{"privateLinkServiceId":"{service}","groupIds":["file"],"privateLinkServiceConnectionState":{{"status":"{status}"}}}}}}],"manualPrivateLinkServiceConnections":null,"customDnsConfigs":[{{"fqdn":"acct1.file.core.windows.net","ipAddresses":["10.1.0.5"]}}]}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_is_created_and_waited_for() {
    let script = Script::new([
        (
            "PUT /privateEndpoints/acct1-pvtendpoint?api-version=2025-05-01",
            answer_with(
                201,
                &[("azure-asyncoperation", OPERATION)],
                &body("Pending").replace("Succeeded", "Updating"),
            ),
        ),
        (
            "GET operations/1",
            answer(200, r#"{"status":"InProgress"}"#),
        ),
        ("GET operations/1", answer(200, r#"{"status":"Succeeded"}"#)),
        (
            "GET /privateEndpoints/acct1-pvtendpoint",
            answer(200, &body("Approved")),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let create = PrivateEndpointCreate {
        location: "eastus".to_owned(),
        tags: Tags::new(),
        subnet: SUBNET.parse().unwrap(),
        connection: "acct1-pvtsvcconn".to_owned(),
        service: account().id().clone(),
        group: "file".to_owned(),
    };
    let op = op(&clock, 60);
    let made = azure
        .private_endpoints()
        .create(&op, &endpoint(), &create)
        .await
        .unwrap();
    assert!(made.leads_to(account().id()));
    assert!(!made.leads_to(&SUBNET.parse().unwrap()));
    assert_eq!(
        made.properties.custom_dns_configs[0].ip_addresses,
        ["10.1.0.5"]
    );
    let service = account();
    assert_eq!(
        script.bodies()[0],
        format!(
            r#"{{"location":"eastus","properties":{{"subnet":{{"id":"{SUBNET}"}},"privateLinkServiceConnections":[{{"name":"acct1-pvtsvcconn","properties":{{"privateLinkServiceId":"{service}","groupIds":["file"]}}}}]}}}}"#
        )
    );
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_nobody_approved_leads_nowhere() {
    let script = Script::new([("GET /privateEndpoints/", answer(200, &body("Pending")))]);
    let (azure, clock) = azure(&script);
    let found = azure
        .private_endpoints()
        .get(&op(&clock, 60), &endpoint())
        .await
        .unwrap();
    assert!(!found.leads_to(account().id()));
}

#[tokio::test(start_paused = true)]
async fn an_absent_endpoint_counts_as_deleted() {
    let script = Script::new([
        (
            "DELETE /privateEndpoints/",
            answer_with(202, &[("azure-asyncoperation", OPERATION)], ""),
        ),
        ("GET operations/1", answer(200, r#"{"status":"Succeeded"}"#)),
        ("DELETE /privateEndpoints/", answer(204, "")),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    for _ in 0..2 {
        azure
            .private_endpoints()
            .delete(&op, &endpoint())
            .await
            .unwrap();
    }
    assert_eq!(script.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_names_go_into_the_zone() {
    let zone = network_id(
        "s",
        "z",
        "privateDnsZones",
        "privatelink.file.core.windows.net",
    )
    .unwrap();
    let body = format!(
        r#"{{"name":"grp","properties":{{"privateDnsZoneConfigs":[{{"name":"privatelink.file.core.windows.net","properties":{{"privateDnsZoneId":"{zone}"}}}}]}}}}"#
    );
    let script = Script::new([
        (
            "PUT /privateEndpoints/acct1-pvtendpoint/privateDnsZoneGroups/grp",
            answer(200, &body),
        ),
        (
            "GET /privateEndpoints/acct1-pvtendpoint/privateDnsZoneGroups/grp",
            answer(200, &body),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let endpoints = azure.private_endpoints();
    endpoints
        .set_zone_group(&op, &endpoint(), ("grp", &zone))
        .await
        .unwrap();
    let found = endpoints.zone_group(&op, &endpoint(), "grp").await.unwrap();
    let config = &found.properties.private_dns_zone_configs[0];
    assert_eq!(config.properties.private_dns_zone_id, zone);
    assert_eq!(script.bodies()[0], body.replace(r#""name":"grp","#, ""));
    let odd = endpoints
        .zone_group(&op, &endpoint(), "a/b/c")
        .await
        .unwrap_err();
    assert_eq!(odd.fault(), Fault::Invalid);
}
