//! Tests of `subnets` and `virtual_networks`.

use azcsi_types::resource_id::ResourceId;

use crate::network::{child_id, network_id};
use crate::testing::{Script, answer, answer_with, azure, op, sent_header};
use crate::{ErrorKind, Subnet};

const SUBNET: &str = r#"{"name":"n","id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n","etag":"W/\"1\"","type":"t",
 "properties":{"provisioningState":"Succeeded","addressPrefix":"10.0.0.0/24","routeTable":{"id":"/r"},"networkSecurityGroup":{"id":"/nsg"},
 "serviceEndpoints":[{"service":"Microsoft.KeyVault","locations":["*"],"provisioningState":"Succeeded"}],"delegations":[{"name":"d"}],
 "privateEndpointNetworkPolicies":"Disabled","ipConfigurations":[{"id":"/ip"}]}}"#;
const OPERATION: &str = "https://management.azure.com/subscriptions/s/providers/Microsoft.Network/locations/l/operations/1";

fn network() -> ResourceId {
    network_id("s", "g", "virtualNetworks", "v").unwrap()
}

fn subnet() -> ResourceId {
    child_id(&network(), "subnets", "n").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_service_endpoint_is_added_and_everything_else_stays() {
    let script = Script::new([
        (
            "GET /virtualNetworks/v/subnets/n?api-version=2025-05-01",
            answer(200, SUBNET),
        ),
        (
            "PUT /virtualNetworks/v/subnets/n?api-version=2025-05-01",
            answer_with(
                200,
                &[("azure-asyncoperation", OPERATION)],
                &SUBNET.replace("Succeeded", "Updating"),
            ),
        ),
        ("GET operations/1", answer(200, r#"{"status":"Succeeded"}"#)),
        ("GET /virtualNetworks/v/subnets/n", answer(200, SUBNET)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let mut found = azure.networks().subnet(&op, &subnet()).await.unwrap();
    assert!(found.add_storage_endpoint("eastus") && !found.add_storage_endpoint("westus"));
    azure.networks().replace_subnet(&op, &found).await.unwrap();
    assert_eq!(sent_header(&script, 1, "if-match"), "W/\"1\"");
    let sent: serde_json::Value = serde_json::from_str(&script.bodies()[1]).unwrap();
    let mut expected: serde_json::Value = serde_json::from_str(SUBNET).unwrap();
    let added = serde_json::json!({"service": "Microsoft.Storage", "locations": ["eastus"]});
    let endpoints = expected["properties"]["serviceEndpoints"]
        .as_array_mut()
        .unwrap();
    endpoints.push(added);
    assert_eq!(sent, expected);
}

#[tokio::test(start_paused = true)]
async fn a_subnet_that_changed_meanwhile_is_not_overwritten() {
    let stale = r#"{"error":{"code":"PreconditionFailed","message":"m"}}"#;
    let busy = r#"{"error":{"code":"AnotherOperationInProgress","message":"m"}}"#;
    let script = Script::new([
        ("PUT /subnets/n", answer(412, stale)),
        ("PUT /subnets/n", answer(409, busy)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let mut found: Subnet = serde_json::from_str(SUBNET).unwrap();
    let refused = azure
        .networks()
        .replace_subnet(&op, &found)
        .await
        .unwrap_err();
    assert!(refused.is_precondition_failed() && refused.is_conflict_retryable());
    let busy = azure
        .networks()
        .replace_subnet(&op, &found)
        .await
        .unwrap_err();
    assert!(busy.is_conflict_retryable());
    for etag in [None, Some(String::new())] {
        found.etag = etag;
        let unguarded = azure
            .networks()
            .replace_subnet(&op, &found)
            .await
            .unwrap_err();
        assert_eq!(unguarded.kind(), ErrorKind::Protocol);
    }
}

#[tokio::test(start_paused = true)]
async fn a_network_and_its_subnets_are_read() {
    let id = network();
    let body = format!(
        r#"{{"id":"{id}","name":"v","location":"eastus","properties":{{"addressSpace":{{}},"subnets":[{SUBNET}]}}}}"#
    );
    let list = format!(r#"{{"value":[{SUBNET}]}}"#);
    let absent = r#"{"error":{"code":"NotFound","message":"Resource x not found."}}"#;
    let script = Script::new([
        (
            "GET /virtualNetworks/v?api-version=2025-05-01",
            answer(200, &body),
        ),
        (
            "GET /virtualNetworks/v/subnets?api-version=2025-05-01",
            answer(200, &list),
        ),
        ("GET /virtualNetworks/v/subnets/n", answer(404, absent)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let found = azure.networks().get(&op, &id).await.unwrap();
    assert_eq!(found.properties.subnets[0].id, subnet());
    assert!(!found.properties.subnets[0].has_storage_endpoint());
    assert_eq!(azure.networks().subnets(&op, &id).await.unwrap().len(), 1);
    let absent = azure.networks().subnet(&op, &subnet()).await;
    assert!(absent.unwrap_err().is_not_found());
}

#[test]
fn only_endpoints_of_storage_count() {
    for (service, counts) in [
        ("Microsoft.Storage", true),
        ("microsoft.storage.global", true),
        ("Microsoft.StorageX", false),
        ("Microsoft.Sql", false),
        ("", false),
    ] {
        let body = SUBNET.replace("Microsoft.KeyVault", service);
        let subnet: Subnet = serde_json::from_str(&body).unwrap();
        assert_eq!(subnet.has_storage_endpoint(), counts, "{service}");
    }
}
