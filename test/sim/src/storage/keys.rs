//! The keys of an account, and the SAS that the service signs with them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::error::ArmError;
use crate::stamp::stamp;
use crate::state::{Draw as _, State};
use crate::storage::accounts::ready;
use crate::storage::model::{Account, AccountKey};
use crate::storage::sas::{self, AccountSas, ServiceSas};
use crate::world::key;

/// A new key: 64 bytes.
pub(crate) fn new(state: &mut State) -> AccountKey {
    let bytes: Vec<u8> = (0..8).flat_map(|_| state.bits().to_be_bytes()).collect();
    AccountKey {
        value: STANDARD.encode(bytes),
        created_ms: state.wall_ms,
    }
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    Ok(Reply::ok(show(ready(state, call)?)))
}

fn show(account: &Account) -> Value {
    let keys = account
        .keys
        .iter()
        .zip(["key1", "key2"])
        .map(|(key, name)| {
            json!({
                "creationTime": stamp(key.created_ms), "keyName": name,
                "value": key.value, "permissions": "FULL",
            })
        });
    json!({"keys": keys.collect::<Vec<_>>()})
}

pub(crate) fn regenerate(state: &mut State, call: &Call) -> Answer {
    ready(state, call)?;
    let name = call
        .body
        .get("keyName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let top: Vec<&str> = call.id.split('/').take(9).collect();
    rotate(state, &key(&top.join("/")), name).ok_or_else(|| {
        let message = format!("The value '{name}' of parameter keyName is invalid.");
        ArmError::bad_request("InvalidValuesForRequestParameters", message).target("keyName")
    })?;
    Ok(Reply::ok(show(ready(state, call)?)))
}

/// Makes one key of an account anew; signatures made with the old one are void at once.
pub(crate) fn rotate(state: &mut State, account: &str, name: &str) -> Option<()> {
    let index = match name.to_ascii_lowercase().as_str() {
        "key1" => 0,
        "key2" => 1,
        _ => return None,
    };
    let fresh = new(state);
    let account = state.world.accounts.get_mut(account)?;
    *account.keys.get_mut(index)? = fresh;
    state.revision += 1;
    Some(())
}

fn text(call: &Call, name: &str) -> String {
    let value = call.body.get(name).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

/// `2026-03-03T09:00:00Z`, whatever fraction of a second was given.
fn time(call: &Call, name: &str) -> String {
    let given = text(call, name);
    match given.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => given,
    }
}

/// The key that a SAS is to be signed with: the first unless asked otherwise.
fn signer<'a>(call: &Call, account: &'a Account) -> &'a AccountKey {
    let second = text(call, "keyToSign").eq_ignore_ascii_case("key2");
    let [first, other] = &account.keys;
    if second { other } else { first }
}

pub(crate) fn account_sas(state: &mut State, call: &Call) -> Answer {
    let account = ready(state, call)?;
    let wanted = AccountSas {
        version: sas::VERSION.to_owned(),
        permissions: text(call, "signedPermission"),
        services: text(call, "signedServices"),
        types: text(call, "signedResourceTypes"),
        start: time(call, "signedStart"),
        expiry: time(call, "signedExpiry"),
        addresses: text(call, "signedIp"),
        protocol: text(call, "signedProtocol"),
        scope: String::new(),
    };
    for (name, value) in [
        ("signedPermission", &wanted.permissions),
        ("signedServices", &wanted.services),
        ("signedResourceTypes", &wanted.types),
        ("signedExpiry", &wanted.expiry),
    ] {
        if value.is_empty() {
            return Err(missing(name));
        }
    }
    let token = wanted.sign(&account.name, &signer(call, account).value);
    Ok(Reply::ok(json!({"accountSasToken": token})))
}

pub(crate) fn service_sas(state: &mut State, call: &Call) -> Answer {
    let account = ready(state, call)?;
    let wanted = ServiceSas {
        version: sas::VERSION.to_owned(),
        resource: text(call, "signedResource"),
        path: text(call, "canonicalizedResource"),
        permissions: text(call, "signedPermission"),
        start: time(call, "signedStart"),
        expiry: time(call, "signedExpiry"),
        addresses: text(call, "signedIp"),
        protocol: text(call, "signedProtocol"),
        identifier: text(call, "signedIdentifier"),
        headers: ["rscc", "rscd", "rsce", "rscl", "rsct"].map(|name| text(call, name)),
    };
    if wanted.path.is_empty() {
        return Err(missing("canonicalizedResource"));
    }
    let token = wanted.sign(&signer(call, account).value);
    Ok(Reply::ok(json!({"serviceSasToken": token})))
}

fn missing(name: &str) -> ArmError {
    let message = format!("Values for request parameters are invalid: {name}.");
    ArmError::bad_request("InvalidValuesForRequestParameters", message).target(name)
}
