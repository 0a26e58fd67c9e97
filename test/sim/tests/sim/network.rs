//! Networks, private endpoints and private DNS, and whom an account's rules let in.

use std::time::Duration;

use azcsi_sim::Profile;
use http::HeaderValue;
use serde_json::{Value, json};

use crate::storage_support::{GROUP, Plane, account, body, signed};
use crate::support::{Got, Lab};

const NET: &str = "api-version=2024-05-01";

fn id(path: &str) -> String {
    format!("{GROUP}/providers/Microsoft.Network/{path}")
}

fn at(path: &str) -> String {
    let version = if path.starts_with("privateDns") {
        "api-version=2024-06-01"
    } else {
        NET
    };
    format!("{}?{version}", id(path))
}

/// A network with two subnets; the first has a service endpoint.
async fn network(lab: &Lab) {
    let made = lab
        .send("PUT", &at("virtualNetworks/net"), json!({
            "location": "eastus2", "properties": {
                "addressSpace": {"addressPrefixes": ["10.1.0.0/16"]},
                "subnets": [
                    {"name": "open", "properties": {"addressPrefix": "10.1.0.0/24", "serviceEndpoints": [{"service": "Microsoft.Storage"}]}},
                    {"name": "plain", "properties": {"addressPrefix": "10.1.1.0/24"}},
                ]},
        }))
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    lab.clock.advance(Duration::from_secs(120));
}

async fn from(lab: &Lab, key: &str, place: &[(&'static str, &str)]) -> Got {
    let mut request = signed(("files01", key), "GET", "/?comp=list", Plane::default());
    for (name, value) in place {
        request
            .headers_mut()
            .insert(*name, HeaderValue::try_from(*value).expect("header"));
    }
    lab.raw(request).await.expect("an answer")
}

#[tokio::test]
async fn a_subnet_is_replaced_whole_and_its_etag_guards_it() {
    let lab = Lab::new();
    network(&lab).await;
    let got = lab.get(&at("virtualNetworks/net/subnets/plain")).await;
    let etag = got.header("etag").to_owned();
    assert_eq!(
        (got.status, got.body["etag"].as_str()),
        (200, Some(etag.as_str()))
    );
    assert!(etag.starts_with("W/\""), "{etag}");
    let mut wanted = got.body.clone();
    wanted["properties"]["serviceEndpoints"] =
        json!([{"service": "Microsoft.Storage", "locations": ["eastus2"]}]);
    let put = |tag: &str, body: &Value| {
        let mut request = Lab::request("PUT", &at("virtualNetworks/net/subnets/plain"), body);
        request
            .headers_mut()
            .insert("if-match", HeaderValue::try_from(tag).expect("header"));
        request
    };
    let done = lab.raw(put(&etag, &wanted)).await.expect("an answer");
    assert_eq!(done.status, 200);
    assert_eq!(
        done.body["properties"]["serviceEndpoints"][0]["provisioningState"],
        "Succeeded"
    );
    let late = lab.raw(put(&etag, &wanted)).await.expect("an answer");
    assert_eq!((late.status, late.code()), (412, "PreconditionFailed"));
    lab.clock.advance(Duration::from_secs(60));
    let list = lab.get(&at("virtualNetworks/net")).await.body;
    assert_eq!(
        list["properties"]["subnets"]
            .as_array()
            .expect("subnets")
            .len(),
        2
    );
    let absent = lab.get(&at("virtualNetworks/net/subnets/none")).await;
    assert_eq!((absent.status, absent.code()), (404, "NotFound"));
}

#[tokio::test]
async fn writes_to_one_network_wait_for_each_other() {
    let lab = Lab::with(Profile::Azure);
    network(&lab).await;
    let subnet = |prefix: &str| json!({"properties": {"addressPrefix": prefix}});
    let first = lab
        .send(
            "PUT",
            &at("virtualNetworks/net/subnets/a"),
            subnet("10.1.2.0/24"),
        )
        .await;
    assert_eq!(
        (first.status, &first.body["properties"]["provisioningState"]),
        (201, &json!("Updating"))
    );
    let poll = first.header("azure-asyncoperation").to_owned();
    assert!(
        poll.contains("/providers/Microsoft.Network/locations/eastus2/operations/"),
        "{poll}"
    );
    let second = lab
        .send(
            "PUT",
            &at("virtualNetworks/net/subnets/b"),
            subnet("10.1.3.0/24"),
        )
        .await;
    assert_eq!(
        (second.status, second.code()),
        (429, "RetryableErrorDueToAnotherOperation")
    );
    lab.clock.advance(Duration::from_secs(120));
    assert_eq!(lab.get(&poll).await.body, json!({"status": "Succeeded"}));
    let gone = lab
        .send("DELETE", &at("virtualNetworks/net/subnets/a"), Value::Null)
        .await;
    assert_eq!(gone.status, 202);
    assert!(
        gone.header("location").contains("/operationResults/"),
        "{}",
        gone.header("location")
    );
    lab.clock.advance(Duration::from_secs(120));
    assert_eq!(
        lab.get(&at("virtualNetworks/net/subnets/a")).await.status,
        404
    );
}

#[tokio::test]
async fn network_rules_let_in_whom_they_name() {
    let lab = Lab::new();
    network(&lab).await;
    let open = id("virtualNetworks/net/subnets/open");
    let plain = id("virtualNetworks/net/subnets/plain");
    let mut wanted = body("StorageV2", "Standard_LRS");
    let rules = |subnet: &str| {
        json!({"networkAcls": {"defaultAction": "Deny",
        "virtualNetworkRules": [{"id": subnet}], "ipRules": [{"value": "198.51.100.0/24"}]}})
    };
    wanted["properties"] = rules(&plain);
    let got = lab.send("PUT", &account("files01"), wanted.clone()).await;
    assert_eq!(
        (got.status, got.code()),
        (400, "NetworkAclsValidationFailure"),
        "no service endpoint there"
    );
    wanted["properties"] = rules(&open);
    let key = lab.account("files01", wanted).await;
    for (place, status) in [
        (&[][..], 403),
        (&[("sim-caller-address", "198.51.100.9")][..], 200),
        (&[("sim-caller-address", "192.0.2.1")][..], 403),
        (&[("sim-caller-subnet", open.as_str())][..], 200),
        (&[("sim-caller-subnet", plain.as_str())][..], 403),
    ] {
        let got = from(&lab, &key, place).await;
        assert_eq!(got.status, status, "{place:?}: {}", got.text());
        if status == 403 {
            assert_eq!(got.xml_code(), "AuthorizationFailure");
        }
    }
    let closed = json!({"properties": {"publicNetworkAccess": "Disabled"}});
    lab.send("PATCH", &account("files01"), closed).await;
    assert_eq!(
        from(&lab, &key, &[("sim-caller-subnet", &open)])
            .await
            .status,
        403
    );
}

const ZONE: &str = "privateDnsZones/privatelink.file.core.windows.net";
const PLAIN: &str = "virtualNetworks/net/subnets/plain";

/// A zone that is linked to the network, and an account that only private endpoints lead to; gives
/// its key.
async fn closed(lab: &Lab) -> String {
    network(lab).await;
    let mut wanted = body("FileStorage", "Premium_LRS");
    wanted["properties"] = json!({"publicNetworkAccess": "Disabled"});
    let key = lab.account("files01", wanted).await;
    let made = lab
        .send("PUT", &at(ZONE), json!({"location": "global"}))
        .await;
    assert_eq!((made.status, &made.body), (202, &json!({})));
    let poll = made.header("azure-asyncoperation").to_owned();
    let statuses = "/resourceGroups/rg/providers/Microsoft.Network/privateDnsOperationStatuses/";
    assert!(poll.contains(statuses), "{poll}");
    assert_eq!(lab.get(&poll).await.body, json!({"status": "Succeeded"}));
    let link = json!({"location": "global", "properties": {
        "registrationEnabled": false, "virtualNetwork": {"id": id("virtualNetworks/net")}}});
    let path = at(&format!("{ZONE}/virtualNetworkLinks/l"));
    assert_eq!(lab.send("PUT", &path, link).await.status, 202);
    key
}

/// A private endpoint to the account; gives it as GET shows it.
async fn endpoint(lab: &Lab) -> Value {
    let account = account("files01");
    let target = account.split('?').next().expect("id");
    let connection =
        json!({"name": "c", "properties": {"privateLinkServiceId": target, "groupIds": ["file"]}});
    let wanted = json!({"location": "eastus2", "properties": {
        "subnet": {"id": id(PLAIN)}, "privateLinkServiceConnections": [connection]}});
    let made = lab.send("PUT", &at("privateEndpoints/pe"), wanted).await;
    assert_eq!(made.status, 201, "{}", made.body);
    lab.get(&at("privateEndpoints/pe")).await.body
}

async fn group(lab: &Lab) -> Value {
    let wanted = json!({"properties": {"privateDnsZoneConfigs": [
        {"name": "z", "properties": {"privateDnsZoneId": id(ZONE)}}]}});
    let path = at("privateEndpoints/pe/privateDnsZoneGroups/g");
    let made = lab.send("PUT", &path, wanted).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made.body
}

#[tokio::test]
async fn a_private_endpoint_opens_a_closed_account_once_its_name_resolves() {
    let lab = Lab::new();
    let key = closed(&lab).await;
    let plain = id(PLAIN);
    let there = [("sim-caller-subnet", plain.as_str())];
    endpoint(&lab).await;
    let before = from(&lab, &key, &there).await.status;
    assert_eq!(before, 403, "the name still leads to the public address");
    group(&lab).await;
    assert_eq!(from(&lab, &key, &there).await.status, 200);
    assert_eq!(from(&lab, &key, &[]).await.status, 403);
}

#[tokio::test]
async fn endpoint_interface_record_and_account_tell_of_each_other() {
    let lab = Lab::new();
    closed(&lab).await;
    let shown = endpoint(&lab).await;
    let properties = &shown["properties"];
    let connection = &properties["privateLinkServiceConnections"][0]["properties"];
    let state = &connection["privateLinkServiceConnectionState"];
    assert_eq!(state["status"], "Approved");
    let dns = &properties["customDnsConfigs"][0];
    assert_eq!(dns["fqdn"], "files01.file.core.windows.net");
    let nic = properties["networkInterfaces"][0]["id"].as_str();
    let nic = nic.expect("a NIC").to_owned();
    assert_eq!(lab.get(&format!("{nic}?{NET}")).await.status, 200);
    let made = group(&lab).await;
    let record = &made["properties"]["privateDnsZoneConfigs"][0]["properties"]["recordSets"][0];
    assert_eq!(record["ipAddresses"], dns["ipAddresses"]);
    let zone = lab.get(&at(ZONE)).await.body;
    assert_eq!(zone["properties"]["numberOfRecordSets"], 2);
    assert_eq!(zone["properties"]["numberOfVirtualNetworkLinks"], 1);
    assert_eq!(zone["id"], json!(id(ZONE).to_ascii_lowercase()));
    let account = lab.get(&account("files01")).await.body;
    let connections = &account["properties"]["privateEndpointConnections"];
    let endpoint = &connections[0]["properties"]["privateEndpoint"]["id"];
    assert_eq!(endpoint, &json!(id("privateEndpoints/pe")));
}

#[tokio::test]
async fn what_is_in_use_stays_and_what_is_left_behind_is_told() {
    let lab = Lab::new();
    closed(&lab).await;
    endpoint(&lab).await;
    let mut request = Lab::request("PUT", &at(ZONE), &json!({"location": "global"}));
    let any = HeaderValue::from_static("*");
    request.headers_mut().insert("if-none-match", any);
    assert_eq!(lab.raw(request).await.expect("an answer").status, 412);
    let network = at("virtualNetworks/net");
    let used = lab.send("DELETE", &network, Value::Null).await;
    let told = (used.status, used.code());
    assert_eq!(told, (400, "InUseSubnetCannotBeDeleted"));
    lab.send("DELETE", &account("files01"), Value::Null).await;
    let found = lab.sim.violations().into_iter();
    let rules: Vec<String> = found.map(|found| found.rule).collect();
    assert_eq!(rules, ["endpointWithoutAccount"]);
}
