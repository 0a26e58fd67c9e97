//! The control API of storage accounts: what an operator or an accident does to them.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::serve::sites::reply;
use crate::state::State;
use crate::storage::keys;

/// `/_sim/accounts/{name}/rotate-key` and `/_sim/accounts/{name}/shares/{share}/guard`.
pub(crate) fn answer(state: &mut State, path: &str, body: &Bytes) -> Option<Response<Bytes>> {
    let rest = path.strip_prefix("/_sim/accounts/")?;
    let (name, act) = rest.split_once('/')?;
    let accounts = state.world.accounts.iter();
    let found = accounts
        .filter(|(_, account)| account.name == name)
        .map(|(key, _)| key.clone())
        .next();
    let Some(account) = found else {
        return Some(refuse(StatusCode::NOT_FOUND, "NoSuchAccount", name));
    };
    if act == "rotate-key" {
        let wanted: Value = serde_json::from_slice(body).unwrap_or_default();
        let key = wanted.get("key").and_then(Value::as_str).unwrap_or("key1");
        return Some(match keys::rotate(state, &account, key) {
            Some(()) => reply(StatusCode::OK, &json!({"account": name, "key": key})),
            None => refuse(
                StatusCode::BAD_REQUEST,
                "BadControlRequest",
                "key is key1 or key2",
            ),
        });
    }
    let share = act.strip_prefix("shares/")?.strip_suffix("/guard")?;
    let at = format!("{account}/fileservices/default/shares/{share}");
    let Some(found) = state.world.shares.get_mut(&at) else {
        return Some(refuse(StatusCode::NOT_FOUND, "NoSuchShare", share));
    };
    found.guarded = true;
    state.revision += 1;
    Some(reply(
        StatusCode::OK,
        &json!({"account": name, "share": share}),
    ))
}

fn refuse(status: StatusCode, code: &str, message: &str) -> Response<Bytes> {
    reply(
        status,
        &json!({"error": {"code": code, "message": message}}),
    )
}
