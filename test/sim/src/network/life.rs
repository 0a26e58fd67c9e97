//! What happens to network resources: made, changed, gone. Each type checks its body first; this is
//! what they have in common.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Links, Reply};
use crate::error::ArmError;
use crate::lro::{Start, Work, begin};
use crate::network::model::Linked;
use crate::network::view::show;
use crate::operation_urls;
use crate::state::State;
use crate::world::{Provisioning, key};

/// What is to be written.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) kind: &'static str,
    pub(crate) location: String,
    pub(crate) body: Map<String, Value>,
    /// Name of its time in the table of latencies.
    pub(crate) takes: &'static str,
}

/// The top-level fields that a body may have.
pub(crate) fn fields(body: &Value) -> Map<String, Value> {
    let mut fields = body.as_object().cloned().unwrap_or_default();
    fields.retain(|name, value| {
        !value.is_null() && !["id", "name", "type", "etag"].contains(&name.as_str())
    });
    fields.entry("properties").or_insert_with(|| json!({}));
    fields
}

/// `If-Match` and `If-None-Match` against what is there.
pub(crate) fn matched(state: &State, call: &Call) -> Result<(), ArmError> {
    let found = state.world.network.get(&key(&call.id));
    let failed = |message: String| {
        Err(ArmError::new(
            StatusCode::PRECONDITION_FAILED,
            "PreconditionFailed",
            message,
        ))
    };
    if call.if_none_match.as_deref() == Some("*") && found.is_some() {
        return failed(
            "The Zone/RecordSet exists already and hence cannot be created again.".to_owned(),
        );
    }
    let Some(wanted) = &call.if_match else {
        return Ok(());
    };
    let bare = wanted.trim_start_matches("W/").trim_matches('"');
    let has = found.map_or("", |found| found.etag.as_str());
    if bare == has || bare == "*" {
        return Ok(());
    }
    failed(format!(
        "Precondition failed. Etag provided in if-match header {wanted} does not match etag W/\"{has}\" of resource {} in NRP data store.",
        call.id
    ))
}

/// A write while another one runs on the same network has to wait.
pub(crate) fn calm(state: &State, network: &str, own: &str) -> Result<(), ArmError> {
    let below = format!("{network}/");
    let busy = state.world.network.iter().find(|(id, other)| {
        (id.as_str() == network || id.starts_with(&below))
            && other.provisioning == Provisioning::Updating
    });
    let Some((id, _)) = busy.filter(|(id, _)| id.as_str() != own) else {
        return Ok(());
    };
    let message =
        format!("Operation was canceled because of another operation in progress on {id}.");
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut error = ArmError::new(status, "RetryableErrorDueToAnotherOperation", message);
    error.retry_after = Some(10);
    Err(error)
}

/// Keeps what is written and starts its operation: 201 when it is new.
pub(crate) fn put(state: &mut State, call: &Call, write: Write) -> Answer {
    matched(state, call)?;
    let id = key(&call.id);
    let old = state.world.network.get(&id).cloned();
    if let Some(old) = &old {
        state.remember(&id, show(old));
    }
    let spelt = old
        .as_ref()
        .map_or_else(|| call.id.clone(), |old| old.id.clone());
    let linked = Linked {
        id: spelt,
        kind: write.kind.to_owned(),
        location: write.location.clone(),
        body: write.body,
        etag: state.guid(),
        provisioning: Provisioning::Updating,
    };
    let shown = show(&linked);
    state.world.network.insert(id, linked);
    let takes = state.takes(write.takes);
    let dns = write.kind.starts_with("privateDnsZones");
    let start = Start {
        family: if dns {
            operation_urls::DNS
        } else {
            operation_urls::NETWORK
        },
        target: &call.id,
        location: &write.location,
        work: Work::Linked,
        takes,
    };
    let operation = begin(state, start);
    if dns {
        return Ok(Reply::accepted(operation, Some(json!({}))));
    }
    let status = if old.is_some() {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok(Reply::new(status, Some(shown)).with(operation, Links::Async))
}

/// The operation on it ends.
pub(crate) fn finish(state: &mut State, target: &str) {
    if let Some(resource) = state.world.network.get_mut(target) {
        resource.provisioning = Provisioning::Succeeded;
    }
}

/// Starts a delete; 204 when there is nothing.
pub(crate) fn delete(state: &mut State, call: &Call, takes: &'static str) -> Answer {
    let id = key(&call.id);
    let Some(found) = state.world.network.get_mut(&id) else {
        return Ok(Reply::new(StatusCode::NO_CONTENT, None));
    };
    found.provisioning = Provisioning::Deleting;
    let (location, dns) = (
        found.location.clone(),
        found.kind.starts_with("privateDnsZones"),
    );
    let takes = state.takes(takes);
    let start = Start {
        family: if dns {
            operation_urls::DNS
        } else {
            operation_urls::NETWORK
        },
        target: &call.id,
        location: &location,
        work: Work::LinkedDelete,
        takes,
    };
    Ok(Reply::accepted(begin(state, start), None))
}

/// It goes, with everything below it and, for a private endpoint, its interface.
pub(crate) fn remove(state: &mut State, target: &str) {
    let nics: Vec<String> = state
        .world
        .network
        .get(target)
        .and_then(|found| found.property("networkInterfaces"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|nic| nic.get("id").and_then(Value::as_str).map(key))
        .collect();
    let below = format!("{target}/");
    state.world.network.retain(|id, _| {
        id != target && !id.starts_with(&below) && !nics.iter().any(|nic| nic == id)
    });
}

/// The resource of a call.
pub(crate) fn get(state: &State, call: &Call, kind: &str) -> Result<Linked, ArmError> {
    let found = state
        .world
        .network
        .get(&key(&call.id))
        .filter(|found| found.kind == kind);
    found.cloned().ok_or_else(|| {
        let message = format!("Resource {} not found.", call.id);
        ArmError::new(StatusCode::NOT_FOUND, "NotFound", message)
    })
}

/// Everything of a kind below a prefix.
pub(crate) fn list(state: &State, call: &Call, (kind, prefix): (&str, &str)) -> Answer {
    let found = state.world.network.iter();
    let found = found.filter(|(id, linked)| linked.kind == kind && id.starts_with(prefix));
    Ok(call.page(state, found, show))
}

/// 400: a body names something that is not there.
pub(crate) fn dangling(call: &Call, id: &str) -> ArmError {
    let message = format!(
        "Resource {id} referenced by resource {} was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.",
        call.id
    );
    ArmError::bad_request("InvalidResourceReference", message)
}

/// Polls of the network provider tell the status and no more.
pub(crate) fn poll(state: &mut State, call: &Call) -> Answer {
    let operation = crate::lro::find(state, call.name(call.names.len().saturating_sub(1)))?;
    let document = operation.document();
    let mut short = json!({"status": document.get("status").cloned().unwrap_or_default()});
    if let (Some(error), Some(fields)) = (document.get("error"), short.as_object_mut()) {
        fields.insert("error".to_owned(), error.clone());
    }
    let runs = operation.runs();
    let id = operation.id.clone();
    let reply = Reply::ok(short);
    Ok(if runs {
        reply.with(id, Links::Async)
    } else {
        reply
    })
}

/// The result of a delete: 202 while it runs, then nothing.
pub(crate) fn result(state: &mut State, call: &Call) -> Answer {
    let operation = crate::lro::find(state, call.name(call.names.len().saturating_sub(1)))?;
    if operation.runs() {
        return Ok(Reply::accepted(operation.id.clone(), None));
    }
    match &operation.outcome {
        crate::lro::Outcome::Failed(failure) => {
            Err(ArmError::conflict(&failure.code, failure.message.clone()))
        }
        _ => Ok(Reply::new(StatusCode::NO_CONTENT, None)),
    }
}
