//! `Microsoft.Storage/storageAccounts`.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Links, Reply};
use crate::compute::{body, placement};
use crate::error::ArmError;
use crate::lro::{Start, Work, begin};
use crate::operation_urls;
use crate::state::State;
use crate::storage::account_rules as rules;
use crate::storage::account_view::{defaults, merge, show};
use crate::storage::model::Account;
use crate::storage::{file_service, keys};
use crate::world::{Provisioning, key};

const KIND: &str = "Microsoft.Storage/storageAccounts";

/// The account that a call is about, or is below.
pub(crate) fn find<'a>(state: &'a State, call: &Call) -> Result<&'a Account, ArmError> {
    let top: Vec<&str> = call.id.split('/').take(9).collect();
    let account = state.world.accounts.get(&key(&top.join("/")));
    let group = call.group.as_deref().unwrap_or_default();
    account.ok_or_else(|| ArmError::missing(KIND, call.name(0), group))
}

/// The same, and it must be ready to be worked with.
pub(crate) fn ready<'a>(state: &'a State, call: &Call) -> Result<&'a Account, ArmError> {
    let account = find(state, call)?;
    if account.provisioning == Provisioning::Succeeded {
        return Ok(account);
    }
    Err(ArmError::conflict(
        "StorageAccountIsNotProvisioned",
        "The storage account provisioning state must be 'Succeeded' before executing the operation.",
    ))
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    Ok(Reply::ok(show(state, find(state, call)?)))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    let found = state.world.accounts.iter();
    let found = found.filter(|(key, _)| key.starts_with(&scope));
    Ok(call.page(state, found, |account| show(state, account)))
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    rules::name(call.name(0))?;
    let location = placement::location(state, &call.body)?;
    let wanted = body::properties(&call.body)?;
    let name = sku_name(&call.body)?;
    if let Some(account) = state.world.accounts.get(&key(&call.id)) {
        rules::same(account, &call.body, &wanted)?;
        ready(state, call)?;
        return change(state, call);
    }
    let Some(kind) = call.body.get("kind").and_then(Value::as_str) else {
        return Err(ArmError::bad_request(
            "InvalidRequestContent",
            "The required property 'kind' is missing.",
        ));
    };
    let sku = rules::sku(name.as_deref().unwrap_or_default(), kind)?;
    rules::settings(state, &wanted)?;
    rules::room(state, &call.id, call.name(0), &location)?;
    let mut properties = defaults(kind, sku);
    merge(&mut properties, &wanted);
    let account = Account {
        id: call.id.clone(),
        name: call.name(0).to_owned(),
        location: location.clone(),
        sku: sku.to_owned(),
        kind: kind.to_owned(),
        tags: body::tags(&call.body)?.unwrap_or_default(),
        properties,
        keys: [keys::new(state), keys::new(state)],
        file_service: file_service::defaults(),
        unique_id: state.guid(),
        created_ms: state.wall_ms,
        provisioning: Provisioning::Creating,
        blocked: std::collections::BTreeMap::new(),
    };
    state.world.accounts.insert(key(&call.id), account);
    let takes = state.takes("account.create");
    let start = Start {
        family: operation_urls::STORAGE,
        target: &call.id,
        location: &location,
        work: Work::Account,
        takes,
    };
    let operation = begin(state, start);
    Ok(Reply::new(StatusCode::ACCEPTED, None).with(operation, Links::Location))
}

/// The account is made.
pub(crate) fn finish(state: &mut State, target: &str) -> Option<Value> {
    let account = state.world.accounts.get_mut(target)?;
    account.provisioning = Provisioning::Succeeded;
    let account = state.world.accounts.get(target)?;
    Some(show(state, account))
}

fn sku_name(wanted: &Value) -> Result<Option<String>, ArmError> {
    match body::object(wanted, "sku")? {
        None => Ok(None),
        Some(fields) => Ok(body::text(fields, "name")?.map(str::to_owned)),
    }
}

pub(crate) fn patch(state: &mut State, call: &Call) -> Answer {
    ready(state, call)?;
    change(state, call)
}

fn change(state: &mut State, call: &Call) -> Answer {
    let wanted = body::properties(&call.body)?;
    rules::settings(state, &wanted)?;
    let account = find(state, call)?;
    let before = show(state, account);
    let mut after = account.clone();
    if let Some(name) = sku_name(&call.body)? {
        let sku = rules::sku(&name, &after.kind)?;
        convert(&after, sku)?;
        sku.clone_into(&mut after.sku);
    }
    if let Some(tags) = body::tags(&call.body)? {
        after.tags = tags;
    }
    merge(&mut after.properties, &wanted);
    let id = key(&call.id);
    state.remember(&id, before);
    let shown = show(state, &after);
    state.world.accounts.insert(id, after);
    Ok(Reply::ok(shown))
}

/// A plan is changed within standard and premium only, and provisioned v2 is for ever.
fn convert(account: &Account, sku: &str) -> Result<(), ArmError> {
    let family = |sku: &str| sku.split('_').next().unwrap_or_default().to_owned();
    if family(&account.sku) == family(sku) {
        return Ok(());
    }
    let message = format!(
        "The account's SKU cannot be changed from {} to {sku}.",
        account.sku
    );
    Err(ArmError::bad_request(
        "AccountSkuChangeNotSupported",
        message,
    ))
}

/// What is in an account goes with it.
pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    let id = key(&call.id);
    let Some(account) = state.world.accounts.get(&id).cloned() else {
        return Ok(Reply::new(StatusCode::NO_CONTENT, None));
    };
    ready(state, call)?;
    let below = format!("{id}/");
    let shares: Vec<String> = state
        .world
        .shares
        .keys()
        .filter(|key| key.starts_with(&below))
        .cloned()
        .collect();
    for share in &shares {
        let contents = state
            .world
            .shares
            .get(share)
            .map(|share| share.contents.clone());
        if contents.is_some_and(|name| state.contents.used(&name) > 0) {
            let about = format!("{share} held data when its account was deleted");
            state
                .violations
                .add("accountDeletedWithData", about, state.now);
        }
        crate::storage::share_life::vanish(state, share);
    }
    let deleted: Vec<String> = state
        .world
        .deleted_shares
        .keys()
        .filter(|key| key.starts_with(&below))
        .cloned()
        .collect();
    for key in deleted {
        crate::storage::share_life::purge(state, &key);
    }
    state.world.accounts.remove(&id);
    state.remember(&id, show(state, &account));
    Ok(Reply::new(StatusCode::OK, None))
}

/// Whether a name can be had. Names are unique in all of Azure.
pub(crate) fn check_name(state: &mut State, call: &Call) -> Answer {
    let fields = call.body.as_object().cloned().unwrap_or_else(Map::new);
    let name = body::text(&fields, "name")?.unwrap_or_default();
    let kind = body::text(&fields, "type")?.unwrap_or_default();
    if !kind.eq_ignore_ascii_case(KIND) {
        let message = format!("The value '{kind}' of parameter type is invalid.");
        return Err(ArmError::bad_request("InvalidParameter", message).target("type"));
    }
    let taken = state
        .world
        .accounts
        .values()
        .any(|account| account.name == name);
    let answer = if !rules::is_name(name) {
        let message = format!(
            "{name} is not a valid storage account name. Storage account name must be between 3 and 24 characters in length and use numbers and lower-case letters only."
        );
        json!({"nameAvailable": false, "reason": "AccountNameInvalid", "message": message})
    } else if taken {
        let message = format!("The storage account named {name} is already taken.");
        json!({"nameAvailable": false, "reason": "AlreadyExists", "message": message})
    } else {
        json!({"nameAvailable": true})
    };
    Ok(Reply::ok(answer))
}
