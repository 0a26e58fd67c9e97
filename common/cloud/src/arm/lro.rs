//! Long-running operations: how to tell from an answer whether the work goes on.
//!
//! Azure has three ways: a status document (`Azure-AsyncOperation`), a result address (`Location`)
//! and the resource's own `provisioningState`. Decided purely here; `client.rs` does the polling.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use serde_json::Value;

use super::error::ArmError;
use crate::compute::types::ProvisioningState;

/// Where to look for the end of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// A status document.
    Status { url: String, result: Option<String> },
    /// An address that answers 202 until the end.
    Location { url: String },
    /// The resource itself.
    Resource,
}

/// What the first answer means.
#[derive(Debug)]
pub(crate) enum Start {
    /// All done; the answer is the result.
    Done,
    /// Azure is working on it.
    Running(Watch),
}

/// What a later answer means.
#[derive(Debug)]
pub(crate) enum Step {
    /// Not yet.
    Running,
    /// Not yet, and the address has changed.
    Moved(String),
    /// Done, perhaps with the result inside.
    Succeeded(Option<Value>),
    /// It failed.
    Failed(ArmError),
    /// Azure does not know this operation any more; look at the resource.
    Forgotten,
}

/// How often a resource may be absent right after its creation was accepted.
const INDEX_LAG_POLLS: u32 = 5;

/// Pauses between polls, in milliseconds, when Azure names none. A lone attach takes a few seconds,
/// and Azure allows 15 status reads a minute for one machine.
const PACE: [u64; 6] = [200, 800, 1500, 2500, 4000, 5000];
const LEAST_ASKED: Duration = Duration::from_secs(1);
const MOST_ASKED: Duration = Duration::from_secs(60);

/// The pause before poll number `index`. While requests have to stand in line, early polls would only
/// make the line longer: most of them find the operation still running.
pub(crate) fn pace(index: usize, asked: Option<Duration>, in_line: bool) -> Duration {
    let last = PACE.last().copied().unwrap_or(5000);
    let own = match PACE.get(index) {
        Some(own) if !in_line => *own,
        _ => last,
    };
    asked.map_or(Duration::from_millis(own), |asked| {
        asked.clamp(LEAST_ASKED, MOST_ASKED)
    })
}

fn address(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub(crate) fn json(response: &Response<Bytes>) -> Option<Value> {
    serde_json::from_slice(response.body()).ok()
}

pub(crate) fn provisioning_state(body: &Value) -> Option<ProvisioningState> {
    let text = body.pointer("/properties/provisioningState")?.as_str()?;
    Some(text.to_owned().into())
}

/// Reads the first answer, whose status is a success.
pub(crate) fn begin(method: &Method, response: &Response<Bytes>) -> Result<Start, ArmError> {
    let headers = response.headers();
    let status =
        address(headers, "azure-asyncoperation").or_else(|| address(headers, "operation-location"));
    let location = address(headers, "location");
    let returns_resource = *method == Method::PUT || *method == Method::PATCH;
    let state = json(response).as_ref().and_then(provisioning_state);
    if response.status() == StatusCode::NO_CONTENT {
        return Ok(Start::Done);
    }
    if let Some(url) = status {
        // Even with an address, the body may say that nothing is left to do.
        if returns_resource
            && response.status() != StatusCode::ACCEPTED
            && state == Some(ProvisioningState::Succeeded)
        {
            return Ok(Start::Done);
        }
        let result = location;
        return Ok(Start::Running(Watch::Status { url, result }));
    }
    let accepted = response.status() == StatusCode::ACCEPTED;
    if let (true, Some(url)) = (accepted, location) {
        return Ok(Start::Running(Watch::Location { url }));
    }
    if returns_resource {
        let unfinished = state.is_some_and(|s| !s.is_final());
        return Ok(if unfinished || accepted {
            Start::Running(Watch::Resource)
        } else {
            Start::Done
        });
    }
    if accepted {
        return Err(ArmError::protocol(
            "Azure accepted the request but does not say where its end can be seen",
        ));
    }
    Ok(Start::Done)
}

fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429) || status.is_server_error()
}

/// Reads the answer to a poll.
pub(crate) fn judge(watch: &Watch, response: &Response<Bytes>) -> Step {
    let status = response.status();
    if is_passing(status) {
        return Step::Running;
    }
    match watch {
        Watch::Status { .. } if matches!(status.as_u16(), 404 | 410) => Step::Forgotten,
        Watch::Location { .. } if matches!(status.as_u16(), 404 | 410) => Step::Forgotten,
        // The address of a result answers with the failure of the operation.
        Watch::Location { .. } if !status.is_success() => {
            Step::Failed(ArmError::from_response(response))
        }
        // Elsewhere the look was refused; the operation goes on whether or not we can watch it.
        _ if !status.is_success() => Step::Failed(ArmError::from_response(response).in_doubt()),
        Watch::Status { url, .. } => judge_status(url, response),
        Watch::Location { url } => judge_location(url, response),
        Watch::Resource => judge_resource(response),
    }
}

fn judge_status(url: &str, response: &Response<Bytes>) -> Step {
    let Some(document) = json(response) else {
        // A 2xx without a document says nothing; the next poll will.
        return Step::Running;
    };
    let Some(state) = document.get("status").and_then(Value::as_str) else {
        let text = "the status document of an operation has no status";
        return Step::Failed(ArmError::protocol(text));
    };
    match state.to_ascii_lowercase().as_str() {
        "succeeded" | "completed" => {
            let output = document.pointer("/properties/output");
            let output = output.filter(|output| output.as_object().is_some_and(|o| !o.is_empty()));
            Step::Succeeded(output.cloned())
        }
        "failed" | "canceled" | "cancelled" => {
            Step::Failed(ArmError::from_status_document(response, state))
        }
        _ => match address(response.headers(), "azure-asyncoperation") {
            Some(moved) if moved != url => Step::Moved(moved),
            _ => Step::Running,
        },
    }
}

fn judge_location(url: &str, response: &Response<Bytes>) -> Step {
    if response.status() == StatusCode::ACCEPTED {
        return match address(response.headers(), "location") {
            Some(moved) if moved != url => Step::Moved(moved),
            _ => Step::Running,
        };
    }
    let body = json(response);
    // Some providers answer 200 with a status document at the result address.
    let state = body
        .as_ref()
        .and_then(|b| b.get("status"))
        .and_then(Value::as_str);
    match state.map(str::to_ascii_lowercase).as_deref() {
        Some("failed" | "canceled" | "cancelled") => {
            return Step::Failed(ArmError::from_status_document(response, "Failed"));
        }
        Some("inprogress" | "running" | "accepted") => return Step::Running,
        _ => {}
    }
    match body.as_ref().and_then(provisioning_state) {
        Some(state) => by_state(&state, body, response),
        None => Step::Succeeded(body),
    }
}

fn judge_resource(response: &Response<Bytes>) -> Step {
    let body = json(response);
    match body.as_ref().and_then(provisioning_state) {
        Some(state) => by_state(&state, body, response),
        None if response.status() == StatusCode::CREATED => Step::Running,
        None => Step::Succeeded(body),
    }
}

fn by_state(state: &ProvisioningState, body: Option<Value>, response: &Response<Bytes>) -> Step {
    match state {
        ProvisioningState::Succeeded => Step::Succeeded(body),
        ProvisioningState::Failed => {
            Step::Failed(ArmError::from_status_document(response, "Failed"))
        }
        ProvisioningState::Canceled => {
            Step::Failed(ArmError::from_status_document(response, "Canceled"))
        }
        _ => Step::Running,
    }
}

/// What an absent resource means for its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The delete is done.
    Gone,
    /// The index lags behind the create.
    NotYet,
    /// It should be there.
    Error,
}

/// The result, when the end was seen at `watch`.
pub(crate) fn result_of(
    method: &Method,
    watch: &Watch,
    output: Option<Value>,
) -> Result<Option<Value>, ArmError> {
    match (watch, method) {
        // Azure forgot the operation and the resource is at rest, but it is there.
        (Watch::Resource, &Method::DELETE) => Err(ArmError::protocol(
            "the delete was accepted, but the resource still exists",
        )),
        // The resource is not the result of its action.
        (Watch::Resource, &Method::POST) => Ok(None),
        _ => Ok(output),
    }
}

/// What it means that the resource is absent while its operation runs.
pub(crate) fn absence(method: &Method, watch: &Watch, error: &ArmError, seen: u32) -> Absent {
    if *watch != Watch::Resource || !error.is_not_found() {
        return Absent::Error;
    }
    match *method {
        Method::DELETE => Absent::Gone,
        Method::PUT if seen < INDEX_LAG_POLLS => Absent::NotYet,
        _ => Absent::Error,
    }
}

/// The address of the operation has changed.
pub(crate) fn moved(watch: &mut Watch, to: String) {
    match watch {
        Watch::Status { url, .. } | Watch::Location { url } => *url = to,
        Watch::Resource => {}
    }
}

#[cfg(test)]
mod tests;
