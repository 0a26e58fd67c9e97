//! `fileServices/default/shares` of the management plane.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Reply};
use crate::compute::body;
use crate::error::ArmError;
use crate::stamp::stamp;
use crate::state::State;
use crate::storage::accounts::ready;
use crate::storage::model::{Account, Share};
use crate::storage::share_life::{self as life, Cascade, share_key};
use crate::storage::share_rules::{Refusal, Wanted};
use crate::storage::{share_lease, share_rules, share_view as view};
use crate::world::key;

/// The account, and the key of the share that is meant.
fn place(state: &State, call: &Call) -> Result<(Account, String), ArmError> {
    let account = ready(state, call)?.clone();
    let at = share_key(&account, call.name(2));
    Ok((account, at))
}

fn refused(state: &mut State, refusal: Refusal) -> ArmError {
    let id = state.guid();
    refusal.arm(&id, &stamp(state.wall_ms))
}

fn expands(call: &Call, word: &str) -> bool {
    let expand = call.query.get("$expand").unwrap_or_default();
    expand
        .split(',')
        .any(|part| part.trim().eq_ignore_ascii_case(word))
}

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let (account, at) = place(state, call)?;
    let Some(share) = state.world.shares.get(&at).cloned() else {
        return Err(refused(state, Refusal::no_share()));
    };
    let Some(time) = &call.snapshot else {
        let shown = if expands(call, "stats") {
            view::with_stats(state, &account, &share)
        } else {
            view::show(state, &account, &share)
        };
        return Ok(Reply::ok(shown).tagged(share.etag));
    };
    match share.snapshots.iter().find(|taken| taken.time == *time) {
        Some(taken) => Ok(
            Reply::ok(view::snapshot(state, &account, &share, taken)).tagged(share.etag.clone())
        ),
        None => Err(refused(state, Refusal::no_snapshot())),
    }
}

fn wanted(body: &Value) -> Result<Wanted, ArmError> {
    let properties = body::properties(body)?;
    let text = |name: &str| Ok(body::text(&properties, name)?.map(str::to_owned));
    Ok(Wanted {
        quota: body::number(&properties, "shareQuota")?,
        iops: body::number(&properties, "provisionedIops")?,
        mibps: body::number(&properties, "provisionedBandwidthMibps")?,
        protocol: text("enabledProtocols")?,
        tier: text("accessTier")?,
        root_squash: text("rootSquash")?,
        metadata: metadata(&properties)?,
    })
}

fn metadata(properties: &Map<String, Value>) -> Result<Option<BTreeMap<String, String>>, ArmError> {
    match properties.get("metadata") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let read = serde_json::from_value(value.clone());
            read.map(Some).map_err(|_| {
                ArmError::bad_request(
                    "InvalidRequestContent",
                    "The metadata is not a map of texts.",
                )
            })
        }
    }
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    let (account, at) = place(state, call)?;
    let wanted = wanted(&call.body)?;
    if expands(call, "snapshots") {
        return match life::snapshot(state, &at, wanted.metadata) {
            Ok((share, taken)) => {
                let mut shown = view::snapshot(state, &account, &share, &taken);
                keep(&mut shown, &["metadata", "snapshotTime"]);
                Ok(Reply::new(StatusCode::CREATED, Some(shown)).tagged(share.etag))
            }
            Err(refusal) => Err(refused(state, refusal)),
        };
    }
    if let Some(share) = state.world.shares.get(&at) {
        let protocol = wanted.protocol.as_deref().unwrap_or(&share.protocol);
        if !protocol.eq_ignore_ascii_case(&share.protocol) {
            let refusal =
                Refusal::conflict("ShareAlreadyExists", "The specified share already exists.");
            return Err(refused(state, refusal));
        }
        return changed(state, call, (&account, &at), &wanted);
    }
    match life::create(state, &account, call.name(2), &wanted) {
        Ok(share) => {
            Ok(Reply::new(StatusCode::CREATED, Some(echo(&share, call))).tagged(share.etag))
        }
        Err(refusal) => Err(refused(state, refusal)),
    }
}

/// The answer to a write says what was written and no more.
fn echo(share: &Share, call: &Call) -> Value {
    let properties = call
        .body
        .get("properties")
        .cloned()
        .unwrap_or_else(|| json!({}));
    json!({
        "id": share.id, "name": share.name, "etag": share.etag,
        "type": "Microsoft.Storage/storageAccounts/fileServices/shares",
        "properties": properties,
    })
}

fn keep(shown: &mut Value, names: &[&str]) {
    if let Some(properties) = shown.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| names.contains(&name.as_str()));
    }
}

fn changed(
    state: &mut State,
    call: &Call,
    (account, at): (&Account, &str),
    wanted: &Wanted,
) -> Answer {
    match life::update(state, account, at, wanted) {
        Ok(share) => Ok(Reply::ok(echo(&share, call)).tagged(share.etag)),
        Err(refusal) => Err(refused(state, refusal)),
    }
}

pub(crate) fn patch(state: &mut State, call: &Call) -> Answer {
    let (account, at) = place(state, call)?;
    let wanted = wanted(&call.body)?;
    match life::update(state, &account, &at, &wanted) {
        Ok(share) => Ok(Reply::ok(view::show(state, &account, &share)).tagged(share.etag)),
        Err(refusal) => Err(refused(state, refusal)),
    }
}

/// `$include` says whether snapshots go too; they do when it says nothing.
pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    let (account, at) = place(state, call)?;
    let done = if let Some(time) = &call.snapshot {
        life::delete_snapshot(state, &at, time)
    } else {
        let cascade = match call.query.get("$include") {
            None => Cascade::Unsaid,
            Some("snapshots" | "leased-snapshots") => Cascade::Snapshots,
            Some("none") => Cascade::Nothing,
            Some(other) => {
                let message = format!("The value '{other}' of parameter $include is invalid.");
                return Err(ArmError::bad_request("InvalidQueryParameterValue", message));
            }
        };
        life::delete(state, &account, &at, (cascade, None))
    };
    match done {
        Ok(()) => Ok(Reply::new(StatusCode::OK, None)),
        Err(refusal) if refusal.code == "ShareNotFound" => {
            Ok(Reply::new(StatusCode::NO_CONTENT, None))
        }
        Err(refusal) => Err(refused(state, refusal)),
    }
}

/// Shares by name, each with its snapshots and deleted versions when asked for.
fn items(state: &State, account: &Account, call: &Call) -> Result<Vec<(String, Value)>, ArmError> {
    let below = format!("{}/fileservices/default/shares/", key(&account.id));
    let begin = format!("{below}{}", filter(call)?);
    let mut items: Vec<(String, Value)> = Vec::new();
    let live = state.world.shares.range(begin.clone()..);
    for (at, share) in live.take_while(|(at, _)| at.starts_with(&begin)) {
        if expands(call, "snapshots") {
            for taken in &share.snapshots {
                let shown = view::snapshot(state, account, share, taken);
                items.push((format!("{at}/0{}", taken.time), shown));
            }
        }
        items.push((format!("{at}/1"), view::show(state, account, share)));
    }
    if expands(call, "deleted") {
        let gone = state.world.deleted_shares.range(begin.clone()..);
        for (at, gone) in gone.take_while(|(at, _)| at.starts_with(&begin)) {
            items.push((at.clone(), view::deleted(state, account, gone)));
        }
    }
    items.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(items)
}

/// One page of shares.
pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let account = ready(state, call)?.clone();
    let most = call.query.get("$maxpagesize");
    let most = most.and_then(|text| text.parse().ok());
    let most: usize = most
        .filter(|most| (1..=5000).contains(most))
        .unwrap_or(state.knobs.page_size);
    let after = call.query.get("$skipToken").unwrap_or_default();
    let mut rest = items(state, &account, call)?;
    rest.retain(|(at, _)| at.as_str() > after);
    let more = rest.len() > most;
    rest.truncate(most);
    let last = rest.last().filter(|_| more);
    let next = last.map(|(at, _)| next_link(call, at));
    let value: Vec<Value> = rest.into_iter().map(|(_, shown)| shown).collect();
    let mut body = json!({"value": value});
    if let (Some(next), Some(fields)) = (next, body.as_object_mut()) {
        fields.insert("nextLink".to_owned(), json!(next));
    }
    Ok(Reply::ok(body))
}

fn next_link(call: &Call, at: &str) -> String {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    let mut url = format!(
        "{}{}?$skipToken={}",
        call.base,
        call.path,
        utf8_percent_encode(at, NON_ALPHANUMERIC)
    );
    for name in ["api-version", "$expand", "$filter", "$maxpagesize"] {
        if let Some(value) = call.query.get(name) {
            url.push_str(&format!(
                "&{name}={}",
                utf8_percent_encode(value, NON_ALPHANUMERIC)
            ));
        }
    }
    url
}

/// `startswith(name, 'pvc')`, the only filter there is.
fn filter(call: &Call) -> Result<String, ArmError> {
    let Some(filter) = call
        .query
        .get("$filter")
        .filter(|filter| !filter.is_empty())
    else {
        return Ok(String::new());
    };
    let plain: String = filter.chars().filter(|c| !c.is_whitespace()).collect();
    let inner = plain
        .strip_prefix("startswith(name,'")
        .and_then(|rest| rest.strip_suffix("')"));
    inner.map(str::to_ascii_lowercase).ok_or_else(|| {
        let message = format!("The filter '{filter}' is not supported.");
        ArmError::bad_request("InvalidQueryParameterValue", message)
    })
}

pub(crate) fn restore(state: &mut State, call: &Call) -> Answer {
    let (account, _) = place(state, call)?;
    let text = |name: &str| {
        call.body
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (old, version) = (text("deletedShareName"), text("deletedShareVersion"));
    let restored = share_rules::name(call.name(2))
        .and_then(|()| life::restore(state, &account, call.name(2), (&old, &version)));
    match restored {
        Ok(_) => Ok(Reply::new(StatusCode::OK, None)),
        Err(refusal) => Err(refused(state, refusal)),
    }
}

/// Lease actions of the management plane.
pub(crate) fn lease(state: &mut State, call: &Call) -> Answer {
    let (_, at) = place(state, call)?;
    let action = call
        .body
        .get("action")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let text = |name: &str| {
        call.body
            .get(name)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let duration = call
        .body
        .get("leaseDuration")
        .and_then(Value::as_i64)
        .unwrap_or(-1);
    let given = (text("leaseId"), text("proposedLeaseId"), duration);
    match share_lease::act(state, &at, &action, given) {
        Ok(id) => Ok(Reply::ok(
            json!({"leaseId": id, "leaseTimeSeconds": Value::Null}),
        )),
        Err(refusal) => Err(refused(state, refusal)),
    }
}
