//! Tests of `accounts` and `account_body`.

use azcsi_types::fault::{Fault, Faulty};

use crate::testing::{Script, account, answer, answer_with, azure, op};
use crate::{
    AccountCreate, AccountSettings, AccountUpdate, GroupScope, NetworkAcls, StorageSku, Tags,
    VirtualNetworkRule,
};

const OPERATION: &str = "https://management.azure.com/subscriptions/s/providers/Microsoft.Storage/locations/eastus/asyncoperations/1?monitor=true&api-version=2024-01-01&s=x";
const SUBNET: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n";

/// As Azure answers it, with members that nobody here knows.
const ACCOUNT: &str = r#"{"sku":{"name":"Premium_LRS","tier":"Premium"},"kind":"FileStorage",
 "id":"/subscriptions/s/resourceGroups/G/providers/Microsoft.Storage/storageAccounts/acct1","name":"acct1",
 "type":"Microsoft.Storage/storageAccounts","location":"eastus","tags":{"a":"b"},"unknown":1,
 "properties":{"provisioningState":"Succeeded","creationTime":"2026-01-01T00:00:00.0000000Z",
  "keyCreationTime":{"key1":"x"},"minimumTlsVersion":"TLS1_2","allowSharedKeyAccess":false,
  "largeFileSharesState":"enabled","supportsHttpsTrafficOnly":false,"isHnsEnabled":null,
  "networkAcls":{"ipv6Rules":[{"value":"::1"}],"bypass":"AzureServices","resourceAccessRules":[],
   "virtualNetworkRules":[{"id":"/subscriptions/S/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/V/subnets/n","action":"allow","state":"Succeeded"}],
   "ipRules":[{"value":"1.2.3.4","action":"Allow"}],"defaultAction":"Deny"},
  "encryption":{"requireInfrastructureEncryption":true,"keySource":"Microsoft.Storage","services":{"file":{"enabled":true}}},
  "azureFilesIdentityBasedAuthentication":{"directoryServiceOptions":"None","smbOAuthSettings":{"isSmbOAuthEnabled":true}},
  "privateEndpointConnections":[{"id":"x","properties":{"privateEndpoint":{"id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/privateEndpoints/p"},"privateLinkServiceConnectionState":{"status":"Approved"}}},{"properties":null}],
  "primaryEndpoints":{"file":"https://acct1.file.core.windows.net/","web":"https://w/"}}}"#;

fn create() -> AccountCreate {
    AccountCreate {
        location: "eastus".to_owned(),
        kind: "FileStorage".to_owned(),
        sku: StorageSku::named("Premium_LRS"),
        tags: Tags::from([("k8s-azure-created-by".to_owned(), "azure".to_owned())]),
        properties: AccountSettings {
            supports_https_traffic_only: Some(false),
            network_acls: Some(NetworkAcls {
                default_action: Some("Deny".to_owned()),
                virtual_network_rules: vec![VirtualNetworkRule::allow(SUBNET.parse().unwrap())],
                ..NetworkAcls::default()
            }),
            ..AccountSettings::default()
        },
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_follows_the_location_to_the_account() {
    let script = Script::new([
        (
            "PUT /storageAccounts/acct1?api-version=2025-01-01",
            answer_with(202, &[("location", OPERATION), ("retry-after", "17")], ""),
        ),
        (
            "GET asyncoperations/1?monitor=true&api-version=2024-01-01&s=x",
            answer(202, ""),
        ),
        ("GET asyncoperations/1", answer(200, ACCOUNT)),
    ]);
    let (azure, clock) = azure(&script);
    let made = azure
        .accounts()
        .create(&op(&clock, 120), &account(), &create())
        .await
        .unwrap();
    assert_eq!(made.id, account());
    assert_eq!(
        script.bodies()[0],
        format!(
            r#"{{"location":"eastus","kind":"FileStorage","sku":{{"name":"Premium_LRS"}},"tags":{{"k8s-azure-created-by":"azure"}},"properties":{{"supportsHttpsTrafficOnly":false,"networkAcls":{{"defaultAction":"Deny","virtualNetworkRules":[{{"id":"{SUBNET}","action":"Allow"}}]}}}}}}"#
        )
    );
}

#[tokio::test(start_paused = true)]
async fn an_account_that_resolves_its_name_is_not_ready() {
    let resolving = ACCOUNT.replace(
        "\"Succeeded\",\"creationTime\"",
        "\"ResolvingDNS\",\"creationTime\"",
    );
    let script = Script::new([
        (
            "PUT /storageAccounts/acct1",
            answer_with(202, &[("location", OPERATION)], ""),
        ),
        ("GET asyncoperations/1", answer(200, &resolving)),
        ("GET asyncoperations/1", answer(200, ACCOUNT)),
    ]);
    let (azure, clock) = azure(&script);
    let made = azure
        .accounts()
        .create(&op(&clock, 60), &account(), &create())
        .await;
    assert_eq!(made.unwrap().name, "acct1");
    assert_eq!(script.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_somebody_else_has_is_told_apart() {
    let taken = r#"{"error":{"code":"StorageAccountAlreadyTaken","message":"The storage account named acct1 is already taken."}}"#;
    let full =
        r#"{"error":{"code":"MaxStorageAccountsCountPerSubscriptionExceeded","message":"m"}}"#;
    let script = Script::new([
        ("PUT /storageAccounts/acct1", answer(409, taken)),
        ("PUT /storageAccounts/acct1", answer(409, full)),
        (
            "POST /subscriptions/s/providers/Microsoft.Storage/checkNameAvailability?api-version=2025-01-01",
            answer(
                200,
                r#"{"nameAvailable":false,"reason":"AlreadyExists","message":"taken"}"#,
            ),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let accounts = azure.accounts();
    let error = accounts
        .create(&op, &account(), &create())
        .await
        .unwrap_err();
    assert!(error.is_account_name_taken());
    let full = accounts
        .create(&op, &account(), &create())
        .await
        .unwrap_err();
    assert_eq!(full.fault(), Fault::Exhausted);
    let name = "acct1".parse().unwrap();
    let answer = accounts.check_name(&op, "s", &name).await.unwrap();
    assert!(!answer.name_available);
    assert_eq!(
        script.bodies()[2],
        r#"{"name":"acct1","type":"Microsoft.Storage/storageAccounts"}"#
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_selection_compares_is_read() {
    let script = Script::new([("GET /storageAccounts/acct1", answer(200, ACCOUNT))]);
    let (azure, clock) = azure(&script);
    let found = azure
        .accounts()
        .get(&op(&clock, 60), &account())
        .await
        .unwrap();
    let properties = &found.properties;
    assert_eq!(
        (found.kind.as_str(), found.sku.name.as_str()),
        ("FileStorage", "Premium_LRS")
    );
    assert!(properties.has_infrastructure_encryption());
    assert!(properties.has_smb_oauth() && properties.has_large_file_shares());
    assert_eq!(properties.allow_shared_key_access, Some(false));
    assert_eq!(
        (
            properties.is_hns_enabled,
            properties.allow_blob_public_access
        ),
        (None, None)
    );
    assert!(properties.admits_subnet(&SUBNET.parse().unwrap()));
    assert!(!properties.admits_subnet(&format!("{SUBNET}2").parse().unwrap()));
    let connections = &properties.private_endpoint_connections;
    let state = connections[0]
        .properties
        .private_link_service_connection_state
        .as_ref();
    assert!(state.unwrap().is_approved());
    assert_eq!(
        properties.primary_endpoints.file.as_deref(),
        Some("https://acct1.file.core.windows.net/")
    );
}

#[tokio::test(start_paused = true)]
async fn rules_that_nobody_here_knows_survive_an_update() {
    let script = Script::new([
        ("GET /storageAccounts/acct1", answer(200, ACCOUNT)),
        ("PATCH /storageAccounts/acct1", answer(200, ACCOUNT)),
        ("PATCH /storageAccounts/acct1", answer(200, ACCOUNT)),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let found = azure.accounts().get(&op, &account()).await.unwrap();
    let mut acls = found.properties.network_acls.unwrap();
    let other = format!("{SUBNET}2").parse().unwrap();
    acls.virtual_network_rules
        .push(VirtualNetworkRule::allow(other));
    let update = AccountUpdate {
        properties: AccountSettings {
            network_acls: Some(acls),
            ..AccountSettings::default()
        },
        ..AccountUpdate::default()
    };
    azure
        .accounts()
        .update(&op, &account(), &update)
        .await
        .unwrap();
    let body: serde_json::Value = serde_json::from_str(&script.bodies()[1]).unwrap();
    let acls = &body["properties"]["networkAcls"];
    assert_eq!(acls["ipv6Rules"][0]["value"], "::1");
    assert_eq!(acls["ipRules"][0]["value"], "1.2.3.4");
    assert_eq!(acls["virtualNetworkRules"].as_array().unwrap().len(), 2);
    assert_eq!(body.as_object().unwrap().len(), 1);
    let tags = AccountUpdate {
        tags: Some(Tags::new()),
        ..AccountUpdate::default()
    };
    azure
        .accounts()
        .update(&op, &account(), &tags)
        .await
        .unwrap();
    assert_eq!(script.bodies()[2], r#"{"tags":{}}"#);
}

#[tokio::test(start_paused = true)]
async fn accounts_are_listed_by_group_and_by_subscription() {
    let next = "https://management.azure.com/subscriptions/s/providers/Microsoft.Storage/storageAccounts?$skip=1";
    let page = format!(r#"{{"value":[{ACCOUNT}],"nextLink":"{next}"}}"#);
    let last = format!(r#"{{"value":[{ACCOUNT}],"nextLink":""}}"#);
    let script = Script::new([
        (
            "GET /subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts?",
            answer(200, r#"{"value":[]}"#),
        ),
        (
            "GET /subscriptions/s/providers/Microsoft.Storage/storageAccounts?api",
            answer(200, &page),
        ),
        ("GET storageAccounts?$skip=1", answer(200, &last)),
        ("GET storageAccounts?api", answer(200, "{}")),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let group = GroupScope::ResourceGroup {
        subscription: "s".to_owned(),
        resource_group: "g".to_owned(),
    };
    let all = GroupScope::Subscription {
        subscription: "s".to_owned(),
    };
    assert!(azure.accounts().list(&op, &group).await.unwrap().is_empty());
    assert_eq!(azure.accounts().list(&op, &all).await.unwrap().len(), 2);
    // An answer without a list is no empty list: another account would be made.
    assert!(azure.accounts().list(&op, &all).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_delete_of_nothing_is_done() {
    let script = Script::new([("DELETE /storageAccounts/acct1", answer(204, ""))]);
    let (azure, clock) = azure(&script);
    azure
        .accounts()
        .delete(&op(&clock, 60), &account())
        .await
        .unwrap();
}
