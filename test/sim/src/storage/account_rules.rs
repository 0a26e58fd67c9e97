//! What an account may be: its name, its SKU and kind, and what must not change.

use serde_json::{Map, Value};

use crate::error::ArmError;
use crate::state::State;
use crate::storage::model::Account;
use crate::world::{key, region};

/// SKUs and the kinds that each goes with.
const SKUS: [(&str, &[&str]); 14] = [
    ("Standard_LRS", STANDARD),
    ("Standard_ZRS", STANDARD),
    ("Standard_GRS", STANDARD),
    ("Standard_RAGRS", STANDARD),
    ("Standard_GZRS", &["StorageV2"]),
    ("Standard_RAGZRS", &["StorageV2"]),
    ("Premium_LRS", PREMIUM),
    ("Premium_ZRS", PREMIUM),
    ("PremiumV2_LRS", FILES),
    ("PremiumV2_ZRS", FILES),
    ("StandardV2_LRS", FILES),
    ("StandardV2_ZRS", FILES),
    ("StandardV2_GRS", FILES),
    ("StandardV2_GZRS", FILES),
];
const STANDARD: &[&str] = &["StorageV2", "Storage", "BlobStorage"];
const PREMIUM: &[&str] = &["FileStorage", "BlockBlobStorage", "StorageV2"];
const FILES: &[&str] = &["FileStorage"];
/// Accounts that a subscription may have in one region.
const MOST_ACCOUNTS: usize = 250;
/// Virtual network rules, and IP rules, of one account.
const MOST_RULES: usize = 200;
const CHOICES: [(&str, &[&str]); 6] = [
    (
        "minimumTlsVersion",
        &["TLS1_0", "TLS1_1", "TLS1_2", "TLS1_3"],
    ),
    ("accessTier", &["Hot", "Cool", "Cold", "Premium"]),
    (
        "publicNetworkAccess",
        &["Enabled", "Disabled", "SecuredByPerimeter"],
    ),
    ("largeFileSharesState", &["Enabled", "Disabled"]),
    ("dnsEndpointType", &["Standard", "AzureDnsZone"]),
    ("allowedCopyScope", &["AAD", "PrivateLink"]),
];

/// Three to twenty-four small letters and digits.
pub(crate) fn is_name(name: &str) -> bool {
    (3..=24).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// 400 for any other name.
pub(crate) fn name(name: &str) -> Result<(), ArmError> {
    if is_name(name) {
        return Ok(());
    }
    let message = format!(
        "{name} is not a valid storage account name. Storage account name must be between 3 and 24 characters in length and use numbers and lower-case letters only."
    );
    Err(ArmError::bad_request("AccountNameInvalid", message))
}

/// The SKU as Azure spells it, when it goes with this kind.
pub(crate) fn sku(name: &str, kind: &str) -> Result<&'static str, ArmError> {
    let found = SKUS
        .iter()
        .find(|(known, kinds)| known.eq_ignore_ascii_case(name) && !kinds.is_empty());
    let Some((known, kinds)) = found else {
        return Err(invalid("sku.name", name));
    };
    if kinds.iter().any(|fits| fits.eq_ignore_ascii_case(kind)) {
        return Ok(known);
    }
    let message = format!("The account kind '{kind}' does not support the SKU '{known}'.");
    Err(ArmError::bad_request("InvalidAccountKind", message))
}

fn invalid(property: &str, value: &str) -> ArmError {
    let message =
        format!("The value '{value}' is not a valid value for the property '{property}'.");
    ArmError::bad_request("AccountPropertyIsInvalid", message).target(property)
}

/// Values of settings that are one of a few words, and the form of the network rules.
pub(crate) fn settings(state: &State, properties: &Map<String, Value>) -> Result<(), ArmError> {
    for (name, values) in CHOICES {
        let Some(value) = properties.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        let text = value.as_str().unwrap_or_default();
        if !values.contains(&text) {
            return Err(invalid(name, &value.to_string()));
        }
    }
    match properties.get("networkAcls") {
        None | Some(Value::Null) => Ok(()),
        Some(rules) => network_rules(state, rules),
    }
}

fn network_rules(state: &State, rules: &Value) -> Result<(), ArmError> {
    let refuse = |message: String| {
        Err(ArmError::bad_request(
            "NetworkAclsValidationFailure",
            format!("Validation of network acls failure: {message}"),
        ))
    };
    let list = |name: &str| rules.get(name).and_then(Value::as_array);
    let action = rules.get("defaultAction").and_then(Value::as_str);
    if !matches!(action, None | Some("Allow" | "Deny")) {
        return Err(invalid(
            "networkAcls.defaultAction",
            action.unwrap_or_default(),
        ));
    }
    for name in ["virtualNetworkRules", "ipRules"] {
        if list(name).is_some_and(|rules| rules.len() > MOST_RULES) {
            return refuse(format!("there are more than {MOST_RULES} {name}."));
        }
    }
    for rule in list("virtualNetworkRules").into_iter().flatten() {
        let id = rule.get("id").and_then(Value::as_str).unwrap_or_default();
        let Some(subnet) = state.world.network.get(&key(id)) else {
            return refuse(format!("SubnetsNotFound: {id}."));
        };
        if !subnet.has_storage_endpoint() {
            return refuse(format!(
                "SubnetsHaveNoServiceEndpointsConfigured: Subnets {id} do not have ServiceEndpoints for Microsoft.Storage resources configured. Add Microsoft.Storage to subnet's ServiceEndpoints collection before trying to ACL Microsoft.Storage resources to these subnets."
            ));
        }
    }
    for rule in list("ipRules").into_iter().flatten() {
        let value = rule
            .get("value")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if crate::network::reach::Range::parse(value).is_none() {
            return refuse(format!("{value} is not a valid IPv4 address or range."));
        }
    }
    Ok(())
}

/// What PUT of an account that exists must not change.
pub(crate) fn same(
    account: &Account,
    body: &Value,
    properties: &Map<String, Value>,
) -> Result<(), ArmError> {
    let wanted = body
        .get("location")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if region(wanted) != account.location {
        let message = format!(
            "The resource '{}' already exists in location '{}'. A resource with the same name cannot be created in location '{wanted}'.",
            account.name, account.location
        );
        return Err(ArmError::conflict("InvalidResourceLocation", message));
    }
    let kind = body
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or(&account.kind);
    if !kind.eq_ignore_ascii_case(&account.kind) {
        return Err(fixed("kind"));
    }
    for name in ["isHnsEnabled", "isNfsV3Enabled", "dnsEndpointType"] {
        let wanted = properties.get(name).filter(|value| !value.is_null());
        if wanted.is_some_and(|wanted| account.properties.get(name) != Some(wanted)) {
            return Err(fixed(name));
        }
    }
    let wanted = properties
        .get("encryption")
        .and_then(|encryption| encryption.get("requireInfrastructureEncryption"));
    let has = account
        .flag("encryption/requireInfrastructureEncryption")
        .unwrap_or(false);
    if wanted
        .and_then(Value::as_bool)
        .is_some_and(|wanted| wanted != has)
    {
        return Err(fixed("requireInfrastructureEncryption"));
    }
    Ok(())
}

fn fixed(property: &str) -> ArmError {
    let message =
        format!("The property '{property}' was specified in the input, but it cannot be updated.");
    ArmError::conflict("AccountPropertyCannotBeUpdated", message).target(property)
}

/// Whether the account may be made: its name is free and the subscription has room.
pub(crate) fn room(state: &State, id: &str, name: &str, location: &str) -> Result<(), ArmError> {
    let accounts = &state.world.accounts;
    if let Some(other) = accounts.values().find(|other| other.name == name) {
        let of = |id: &str| {
            id.split('/')
                .nth(2)
                .unwrap_or_default()
                .to_ascii_lowercase()
        };
        let (code, message) = if of(&other.id) == of(id) {
            (
                "StorageAccountInAnotherResourceGroup",
                format!(
                    "The account {name} is already in another resource group in this subscription."
                ),
            )
        } else {
            (
                "StorageAccountAlreadyTaken",
                format!("The storage account named {name} is already taken."),
            )
        };
        return Err(ArmError::conflict(code, message));
    }
    let scope = key(id).split('/').take(3).collect::<Vec<_>>().join("/") + "/";
    let there = accounts
        .iter()
        .filter(|(key, account)| key.starts_with(&scope) && account.location == location);
    if there.count() < MOST_ACCOUNTS {
        return Ok(());
    }
    let message = format!(
        "Subscription already contains {MOST_ACCOUNTS} storage accounts in location {location} and the maximum allowed is {MOST_ACCOUNTS}."
    );
    Err(ArmError::conflict(
        "MaxStorageAccountsCountPerSubscriptionExceeded",
        message,
    ))
}
