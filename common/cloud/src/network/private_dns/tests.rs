//! Tests of `private_dns`.

use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::resource_id::ResourceId;

use super::{ARecord, RecordSetProperties};
use crate::Tags;
use crate::network::network_id;
use crate::testing::{Script, answer, answer_with, azure, op, sent_header};

const OPERATION: &str = "https://management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/privateDnsOperationStatuses/b64";
const ZONE: &str = r#"{"id":"/subscriptions/s/resourcegroups/g/providers/microsoft.network/privatednszones/privatelink.file.core.windows.net","name":"privatelink.file.core.windows.net","etag":"1","location":"global","properties":{"numberOfRecordSets":1}}"#;
const LINK: &str = r#"{"id":"/subscriptions/s/resourcegroups/g/providers/microsoft.network/privatednszones/z/virtualnetworklinks/v-vnetlink","name":"v-vnetlink","properties":{"registrationEnabled":false,"virtualNetwork":{"id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v"},"virtualNetworkLinkState":"Completed","provisioningState":"Succeeded"}}"#;
const STALE: &str = r#"{"code":"PreconditionFailed","message":"The Zone z exists already and hence cannot be created again."}"#;

fn zone() -> ResourceId {
    network_id(
        "s",
        "g",
        "privateDnsZones",
        "privatelink.file.core.windows.net",
    )
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_zone_is_created_or_left_as_it_is() {
    let accepted = answer_with(202, &[("azure-asyncoperation", OPERATION)], "{}");
    let script = Script::new([
        (
            "PUT /privateDnsZones/privatelink.file.core.windows.net?api-version=2024-06-01",
            accepted,
        ),
        (
            "GET privateDnsOperationStatuses/b64",
            answer(200, r#"{"status":"Succeeded"}"#),
        ),
        (
            "GET /privateDnsZones/privatelink.file.core.windows.net",
            answer(200, ZONE),
        ),
        ("PUT /privateDnsZones/", answer(412, STALE)),
        ("GET /privateDnsZones/", answer(200, ZONE)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let dns = azure.private_dns();
    let made = dns.create_zone(&op, &zone(), &Tags::new()).await.unwrap();
    assert!(made.is_new());
    assert_eq!(made.into_inner().id, zone());
    assert_eq!(sent_header(&script, 0, "if-none-match"), "*");
    assert_eq!(script.bodies()[0], r#"{"location":"global"}"#);
    let found = dns.create_zone(&op, &zone(), &Tags::new()).await.unwrap();
    assert!(!found.is_new());
}

#[tokio::test(start_paused = true)]
async fn a_link_registers_no_machines() {
    let network = network_id("s", "g", "virtualNetworks", "v").unwrap();
    let list = format!(r#"{{"value":[{LINK}]}}"#);
    let script = Script::new([
        ("PUT /virtualNetworkLinks/v-vnetlink", answer(201, LINK)),
        ("GET /virtualNetworkLinks/v-vnetlink", answer(200, LINK)),
        ("GET /virtualNetworkLinks?", answer(200, &list)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let dns = azure.private_dns();
    let zone = zone();
    dns.create_link(&op, (&zone, "v-vnetlink"), &network)
        .await
        .unwrap();
    assert_eq!(
        script.bodies()[0],
        format!(
            r#"{{"location":"global","properties":{{"virtualNetwork":{{"id":"{network}"}},"registrationEnabled":false}}}}"#
        )
    );
    let found = dns.link(&op, &zone, "v-vnetlink").await.unwrap();
    assert_eq!(found.properties.virtual_network.unwrap().id, network);
    assert_eq!(dns.links(&op, &zone).await.unwrap().len(), 1);
    let odd = dns.link(&op, &zone, "").await.unwrap_err();
    assert_eq!(odd.fault(), Fault::Invalid);
}

#[tokio::test(start_paused = true)]
async fn records_are_set_read_and_deleted() {
    let record = r#"{"name":"acct1","properties":{"ttl":10,"fqdn":"acct1.z.","aRecords":[{"ipv4Address":"10.1.0.5"}],"isAutoRegistered":false}}"#;
    let absent = r#"{"code":"NotFound","message":"The resource record 'acct1' does not exist."}"#;
    let script = Script::new([
        (
            "PUT /privatelink.file.core.windows.net/A/acct1",
            answer(201, record),
        ),
        (
            "GET /privatelink.file.core.windows.net/A/acct1",
            answer(200, record),
        ),
        (
            "DELETE /privatelink.file.core.windows.net/A/acct1",
            answer(200, ""),
        ),
        (
            "GET /privatelink.file.core.windows.net/A/acct1",
            answer(404, absent),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let dns = azure.private_dns();
    let zone = zone();
    let properties = RecordSetProperties {
        ttl: 10,
        a_records: vec![ARecord {
            ipv4_address: "10.1.0.5".to_owned(),
        }],
        fqdn: None,
    };
    dns.set_a_record(&op, (&zone, "acct1"), &properties)
        .await
        .unwrap();
    assert_eq!(
        script.bodies()[0],
        r#"{"properties":{"ttl":10,"aRecords":[{"ipv4Address":"10.1.0.5"}]}}"#
    );
    let found = dns.a_record(&op, &zone, "acct1").await.unwrap();
    assert_eq!(found.properties.a_records, properties.a_records);
    dns.delete_a_record(&op, &zone, "acct1").await.unwrap();
    let absent = dns.a_record(&op, &zone, "acct1").await.unwrap_err();
    assert!(absent.is_not_found());
}
