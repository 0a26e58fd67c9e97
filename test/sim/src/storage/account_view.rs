//! How an account looks in answers, and what the service fills in.

use serde_json::{Map, Value, json};

use crate::network::private_endpoints;
use crate::stamp::stamp;
use crate::state::State;
use crate::storage::model::Account;
use crate::world::Provisioning;

/// What an account has when a body does not say otherwise.
pub(crate) fn defaults(kind: &str, sku: &str) -> Map<String, Value> {
    let mut defaults = json!({
        "minimumTlsVersion": "TLS1_2",
        "allowBlobPublicAccess": false,
        "allowCrossTenantReplication": false,
        "supportsHttpsTrafficOnly": true,
        "networkAcls": {
            "ipv6Rules": [], "bypass": "AzureServices", "virtualNetworkRules": [],
            "ipRules": [], "defaultAction": "Allow",
        },
        "encryption": {
            "services": {
                "file": {"keyType": "Account", "enabled": true},
                "blob": {"keyType": "Account", "enabled": true},
            },
            "keySource": "Microsoft.Storage",
        },
    });
    let tier = match kind {
        "StorageV2" | "BlobStorage" if sku.starts_with("Standard") => Some("Hot"),
        _ => None,
    };
    if let (Some(fields), Some(tier)) = (defaults.as_object_mut(), tier) {
        fields.insert("accessTier".into(), json!(tier));
    }
    match defaults {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Takes over what a body says; blocks such as the network rules are replaced whole.
pub(crate) fn merge(into: &mut Map<String, Value>, wanted: &Map<String, Value>) {
    for (name, value) in wanted {
        match value {
            Value::Null => {}
            Value::Object(_) if name == "networkAcls" => {
                into.insert(name.clone(), rules(value));
            }
            Value::Object(fields) => {
                let mut old = match into.get(name) {
                    Some(Value::Object(old)) => old.clone(),
                    _ => Map::new(),
                };
                merge(&mut old, fields);
                into.insert(name.clone(), Value::Object(old));
            }
            _ => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

fn rules(wanted: &Value) -> Value {
    let list = |name: &str| {
        wanted
            .get(name)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let stated = |mut rule: Value| {
        if let Some(fields) = rule.as_object_mut() {
            fields.entry("action").or_insert(json!("Allow"));
            fields.insert("state".into(), json!("Succeeded"));
        }
        rule
    };
    let networks: Vec<Value> = list("virtualNetworkRules")
        .into_iter()
        .map(stated)
        .collect();
    let addresses = list("ipRules").into_iter().map(|mut rule| {
        if let Some(fields) = rule.as_object_mut() {
            fields.entry("action").or_insert(json!("Allow"));
        }
        rule
    });
    let text = |name: &str, default: &str| {
        json!(wanted.get(name).and_then(Value::as_str).unwrap_or(default))
    };
    json!({
        "ipv6Rules": list("ipv6Rules"),
        "bypass": text("bypass", "AzureServices"),
        "virtualNetworkRules": networks,
        "ipRules": addresses.collect::<Vec<_>>(),
        "defaultAction": text("defaultAction", "Allow"),
    })
}

/// The account as GET answers it.
pub(crate) fn show(state: &State, account: &Account) -> Value {
    let mut properties = account.properties.clone();
    properties.remove("dnsEndpointType");
    let mut more = json!({
        "provisioningState": provisioning(account.provisioning),
        "creationTime": stamp(account.created_ms),
        "keyCreationTime": {
            "key1": stamp(account.keys[0].created_ms),
            "key2": stamp(account.keys[1].created_ms),
        },
        "privateEndpointConnections": private_endpoints::connections(state, &account.id),
        "primaryEndpoints": endpoints(state, account),
        "primaryLocation": account.location,
        "statusOfPrimary": "available",
    });
    if let Some(more) = more.as_object_mut() {
        properties.append(more);
    }
    if let Some(second) = secondary(account) {
        properties.insert("secondaryLocation".into(), json!(second));
        properties.insert("statusOfSecondary".into(), json!("available"));
    }
    json!({
        "sku": {"name": account.sku, "tier": tier(account)},
        "kind": account.kind,
        "id": account.id,
        "name": account.name,
        "type": "Microsoft.Storage/storageAccounts",
        "location": account.location,
        "tags": account.tags,
        "properties": properties,
    })
}

/// Accounts have words of their own for where they stand.
const fn provisioning(state: Provisioning) -> &'static str {
    match state {
        Provisioning::Creating => "Creating",
        Provisioning::Updating => "ResolvingDNS",
        other => other.text(),
    }
}

fn tier(account: &Account) -> &'static str {
    if account.is_ssd() {
        "Premium"
    } else {
        "Standard"
    }
}

fn secondary(account: &Account) -> Option<&'static str> {
    let twice = ["GRS", "GZRS"]
        .iter()
        .any(|word| account.sku.contains(word));
    twice.then_some(match account.location.as_str() {
        "eastus" => "westus",
        "eastus2" => "centralus",
        "westus2" => "westcentralus",
        "westeurope" => "northeurope",
        _ => "southcentralus",
    })
}

/// The service's address of an account, with a slash at the end.
pub(crate) fn endpoint(state: &State, account: &str, service: &str) -> String {
    match (&state.file_endpoint, service) {
        (Some(base), "file") => format!("{base}/{account}/"),
        _ => format!("https://{account}.{service}.core.windows.net/"),
    }
}

fn endpoints(state: &State, account: &Account) -> Value {
    let services: &[&str] = match account.kind.as_str() {
        "FileStorage" => &["file"],
        "BlockBlobStorage" | "BlobStorage" => &["blob", "dfs"],
        _ => &["dfs", "web", "blob", "queue", "table", "file"],
    };
    let mut found = Map::new();
    for service in services {
        let host = if *service == "web" {
            "z13.web"
        } else {
            service
        };
        found.insert(
            (*service).to_owned(),
            json!(endpoint(state, &account.name, host)),
        );
    }
    Value::Object(found)
}
