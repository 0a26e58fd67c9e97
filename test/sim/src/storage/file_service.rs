//! `fileServices/default`: protocol settings and soft delete of an account's shares.

use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Reply};
use crate::compute::body;
use crate::error::ArmError;
use crate::state::State;
use crate::storage::accounts::ready;
use crate::storage::model::Account;
use crate::world::key;

/// What a new account has.
pub(crate) fn defaults() -> Map<String, Value> {
    let defaults = json!({
        "protocolSettings": {"smb": {}},
        "cors": {"corsRules": []},
        "shareDeleteRetentionPolicy": {"enabled": true, "days": 7},
    });
    match defaults {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn show(account: &Account, properties: &Map<String, Value>) -> Value {
    let tier = if account.is_ssd() {
        "Premium"
    } else {
        "Standard"
    };
    json!({
        "sku": {"name": account.sku, "tier": tier},
        "properties": properties,
        "id": format!("{}/fileServices/default", account.id),
        "name": "default",
        "type": "Microsoft.Storage/storageAccounts/fileServices",
    })
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let account = ready(state, call)?;
    named(call)?;
    Ok(Reply::ok(show(account, &account.file_service)))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let account = ready(state, call)?;
    Ok(Reply::ok(
        json!({"value": [show(account, &account.file_service)]}),
    ))
}

fn named(call: &Call) -> Result<(), ArmError> {
    if call.name(1).eq_ignore_ascii_case("default") {
        return Ok(());
    }
    let message = format!("The file service name '{}' is not valid.", call.name(1));
    Err(ArmError::bad_request("InvalidResourceName", message))
}

/// Blocks that the body has replace those that are there; the answer echoes the body.
pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    named(call)?;
    let account = ready(state, call)?;
    let wanted = body::properties(&call.body)?;
    check(account, &wanted)?;
    let shown = show(account, &wanted);
    let top: Vec<&str> = call.id.split('/').take(9).collect();
    let id = key(&top.join("/"));
    if let Some(account) = state.world.accounts.get_mut(&id) {
        for (name, value) in wanted {
            match account.file_service.get_mut(&name) {
                Some(Value::Object(old)) if name == "protocolSettings" => {
                    crate::storage::account_view::merge(
                        old,
                        value.as_object().unwrap_or(&Map::new()),
                    );
                }
                _ => {
                    account.file_service.insert(name, value);
                }
            }
        }
    }
    Ok(Reply::ok(shown))
}

fn check(account: &Account, wanted: &Map<String, Value>) -> Result<(), ArmError> {
    if let Some(policy) = wanted.get("shareDeleteRetentionPolicy") {
        let on = policy.get("enabled").and_then(Value::as_bool) == Some(true);
        let days = policy.get("days").and_then(Value::as_u64);
        if on && days.is_some_and(|days| !(1..=365).contains(&days)) {
            return Err(ArmError::bad_request(
                "InvalidValuesForRequestParameters",
                "The number of days of the share delete retention policy must be from 1 to 365.",
            ));
        }
    }
    let multichannel = wanted
        .get("protocolSettings")
        .and_then(|settings| settings.pointer("/smb/multichannel/enabled"));
    if multichannel.and_then(Value::as_bool) == Some(true) && !account.is_ssd() {
        return Err(ArmError::bad_request(
            "FeatureNotSupportedForAccount",
            "SMB Multichannel is not supported for the account.",
        ));
    }
    Ok(())
}
