//! From a request to the response that is sent: faults, front door, buckets, handler, headers.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use serde_json::Value;

use crate::call::{Answer, Call, Reply};
use crate::error::ArmError;
use crate::faults::Effect;
use crate::front_door::{self, Auth};
use crate::lro::{self, Failure};
use crate::operation_urls;
use crate::requests::{self, Logged};
use crate::route::Route;
use crate::state::{Casing, State};
use crate::throttle::{Left, refused};
use crate::world::{Provisioning, key};

/// A response and when it is sent; none when the connection is cut.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) response: Option<Response<Bytes>>,
    pub(crate) after: Duration,
}

/// Answers one request.
pub(crate) fn answer(
    state: &mut State,
    auth: &Auth,
    wall: SystemTime,
    request: &Request<Bytes>,
) -> Sent {
    if let Some(target) = crate::files::target::Target::of(request) {
        return crate::files::plane::answer(state, auth, wall, (request, &target));
    }
    let class = requests::class(request.method(), request.uri().path());
    let effects = state.faults.on(&class, request.uri().path());
    let caller = front_door::caller(auth, request.headers(), wall);
    leaks(state, request);
    let mut left = Left::default();
    let name = caller.clone().unwrap_or_default();
    let mut call = None;
    let answer = match refuse(&effects, state.wall_ms) {
        Some(error) => Err(error),
        None => caller
            .and_then(|caller| handle(state, (request, &caller), &effects, (&mut left, &mut call))),
    };
    if request.method() != Method::GET {
        state.revision += 1;
    }
    let mut after = state.takes(if request.method() == Method::GET {
        "read"
    } else {
        "write"
    });
    let code = answer.as_ref().err().map(|error| error.code.clone());
    let mut response = respond(state, request, answer, (&left, call.as_ref(), &effects));
    for effect in &effects {
        after += break_it(effect, &mut response);
    }
    state.requests.add(Logged {
        number: 0,
        class,
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        caller: name,
        status: response
            .as_ref()
            .map_or(0, |response| response.status().as_u16()),
        code,
        duration_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
        at_ms: u64::try_from(state.now.as_millis()).unwrap_or(u64::MAX),
    });
    Sent { response, after }
}

/// A token in a URL ends up in logs.
fn leaks(state: &mut State, request: &Request<Bytes>) {
    let url = request.uri().to_string();
    let query = request
        .uri()
        .query()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let secret = ["access_token=", "client_secret=", "sig=", "bearer"];
    if url.contains("eyJ") || secret.iter().any(|word| query.contains(word)) {
        let about = format!("{} {}", request.method(), request.uri().path());
        state.violations.add("secretInUrl", about, state.now);
    }
}

/// Faults that refuse a request before anything happens.
fn refuse(effects: &[Effect], wall_ms: u64) -> Option<ArmError> {
    effects.iter().find_map(|effect| match effect {
        Effect::Status {
            status,
            code,
            message,
        } => {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Some(ArmError::new(status, code, message.clone()))
        }
        Effect::Throttle { retry_after } => {
            let mut error = refused("UpdateVMResource", (4, 12), wall_ms, 0);
            error.retry_after = *retry_after;
            Some(error)
        }
        Effect::TokenExpired => Some(ArmError::new(
            StatusCode::UNAUTHORIZED,
            "ExpiredAuthenticationToken",
            "The access token expiry UTC time is earlier than current UTC time.",
        )),
        Effect::LostPoll => Some(ArmError::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "The operation could not be found.",
        )),
        // What these answer is put together later; nothing may be applied.
        Effect::ResetBefore | Effect::HtmlBody { .. } => {
            Some(ArmError::new(StatusCode::BAD_GATEWAY, "BadGateway", ""))
        }
        _ => None,
    })
}

fn handle(
    state: &mut State,
    (request, caller): (&Request<Bytes>, &str),
    effects: &[Effect],
    (left, kept): (&mut Left, &mut Option<Call>),
) -> Answer {
    let (route, call) = front_door::admit(state, request)?;
    let call = kept.insert(call);
    let now = state.now;
    let subscription = call.subscription.clone();
    state
        .throttle
        .arm((request.method(), &subscription, caller), now, left)?;
    gone(state, call, effects);
    exists(state, route, call)?;
    crate::storage::front::exists(state, route, call)?;
    let wall_ms = state.wall_ms;
    let id = key(&call.id);
    let place = crate::storage::front::region(state, &id);
    state
        .throttle
        .compute(route.policy, (&id, &subscription), (now, wall_ms), left)?;
    state
        .throttle
        .windows(route.policy, (&subscription, &place), now)?;
    let mut answer = (route.handler)(state, call);
    if let Ok(reply) = &mut answer {
        twist(state, call, effects, reply);
    }
    answer
}

/// A resource that is not there is told by the front door and draws nothing from the provider.
fn exists(state: &State, route: &Route, call: &Call) -> Result<(), ArmError> {
    let read = matches!(route.method, Method::GET | Method::PATCH);
    let kind = match route.pattern {
        "rg/disks/*" => "disks",
        "rg/snapshots/*" => "snapshots",
        _ => return Ok(()),
    };
    let id = key(&call.id);
    let known = state.world.disks.contains_key(&id) || state.world.snapshots.contains_key(&id);
    if read && !known {
        Err(call.absent(kind))
    } else {
        Ok(())
    }
}

fn gone(state: &mut State, call: &Call, effects: &[Effect]) {
    if effects.contains(&Effect::VmGone) {
        crate::compute::vms::remove(state, &key(&call.id));
        state.revision += 1;
    }
}

/// Faults that change what was accepted.
fn twist(state: &mut State, call: &Call, effects: &[Effect], reply: &mut Reply) {
    let operation = reply.operation.as_ref().map(|(id, _)| id.clone());
    let now = state.now;
    for effect in effects {
        match (effect, &operation) {
            (Effect::FailAfterAccept { code, message }, Some(id)) => {
                if let Some(operation) = state.world.operations.get_mut(id) {
                    operation.planned = Some(Failure::new(code, message.clone()));
                }
            }
            (Effect::Preempted, Some(id)) => lro::preempt(state, id),
            (Effect::NeverEnds, Some(id)) => lro::postpone(state, id, Duration::MAX),
            (Effect::Slow { milliseconds }, Some(id)) => {
                lro::postpone(state, id, now + Duration::from_millis(*milliseconds));
            }
            (Effect::VmFailed, _) => {
                if let Some(machine) = state.world.machines.get_mut(&key(&call.id)) {
                    machine.provisioning = Provisioning::Failed;
                }
            }
            (Effect::StaleRead { seconds }, None) => {
                let before = state.before.get(&key(&call.id));
                let fresh = Duration::from_secs(*seconds);
                if let Some((at, shown)) = before.filter(|(at, _)| now.saturating_sub(*at) <= fresh)
                {
                    tracing::debug!(?at, "a stale answer");
                    reply.body = Some(shown.clone());
                }
            }
            _ => {}
        }
    }
}

/// Faults that break the response itself; gives by how much it is held back.
pub(crate) fn break_it(effect: &Effect, response: &mut Option<Response<Bytes>>) -> Duration {
    match effect {
        Effect::Latency { milliseconds } => return Duration::from_millis(*milliseconds),
        Effect::Timeout { milliseconds } => {
            *response = None;
            return Duration::from_millis(*milliseconds);
        }
        Effect::ResetBefore | Effect::ResetAfter => *response = None,
        Effect::TruncatedBody => {
            if let Some(response) = response {
                let whole = response.body().len();
                *response.body_mut() = response.body().slice(..whole / 2);
                response
                    .headers_mut()
                    .insert(CONTENT_LENGTH, HeaderValue::from(whole));
            }
        }
        Effect::HtmlBody { status } => {
            let page = "<html><head><title>Service unavailable</title></head><body>Try again.</body></html>";
            let mut broken = Response::new(Bytes::from_static(page.as_bytes()));
            *broken.status_mut() = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_GATEWAY);
            broken
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
            *response = Some(broken);
        }
        _ => {}
    }
    Duration::ZERO
}

fn respond(
    state: &mut State,
    request: &Request<Bytes>,
    answer: Answer,
    (left, call, effects): (&Left, Option<&Call>, &[Effect]),
) -> Option<Response<Bytes>> {
    let odd = state.knobs.casing == Casing::Odd || effects.contains(&Effect::WrongCasing);
    let mut headers = HeaderMap::new();
    let (status, body) = match answer {
        Ok(mut reply) => {
            if let (Some(body), true) = (&mut reply.body, odd) {
                mangle(body, "");
            }
            if let (Some(call), Some((id, links))) = (call, &reply.operation) {
                operation_urls::headers(state, call, (id, *links), &mut headers);
            }
            put(
                &mut headers,
                ETAG,
                reply.etag.as_deref().unwrap_or_default(),
            );
            (reply.status, reply.body)
        }
        Err(error) => {
            if error.gateway {
                put(
                    &mut headers,
                    HeaderName::from_static("x-ms-failure-cause"),
                    "gateway",
                );
            }
            if let Some(seconds) = error.retry_after {
                put(&mut headers, RETRY_AFTER, &seconds.to_string());
            }
            (error.status, Some(error.body()))
        }
    };
    common_headers(state, request, left, &mut headers);
    let bytes =
        body.filter(|_| status != StatusCode::NO_CONTENT && request.method() != Method::HEAD);
    if bytes.is_some() {
        put(
            &mut headers,
            CONTENT_TYPE,
            "application/json; charset=utf-8",
        );
    }
    let bytes = bytes.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    let mut response = Response::new(bytes);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Some(response)
}

pub(crate) fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if !value.is_empty()
        && let Ok(value) = HeaderValue::from_str(value)
    {
        headers.append(name, value);
    }
}

pub(crate) fn named(headers: &mut HeaderMap, name: &str, value: &str) {
    if let Ok(name) = HeaderName::try_from(name) {
        put(headers, name, value);
    }
}

fn common_headers(
    state: &mut State,
    request: &Request<Bytes>,
    left: &Left,
    headers: &mut HeaderMap,
) {
    let sent = |name: &str| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let id = state.guid();
    named(headers, "x-ms-request-id", &id);
    let correlation = sent("x-ms-correlation-request-id").unwrap_or(&id);
    named(headers, "x-ms-correlation-request-id", correlation);
    let stamp = crate::stamp::stamp(state.wall_ms).replace(['-', ':'], "");
    let stamp = stamp
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end_matches('Z')
        .to_owned();
    named(
        headers,
        "x-ms-routing-request-id",
        &format!("LOCAL:{stamp}Z:{id}"),
    );
    let echo = sent("x-ms-return-client-request-id") == Some("true");
    if let Some(client) = sent("x-ms-client-request-id").filter(|_| echo) {
        named(headers, "x-ms-client-request-id", client);
    }
    if let Some((name, tokens)) = &left.arm {
        named(headers, name, &tokens.to_string());
    }
    for (policy, tokens) in &left.compute {
        named(
            headers,
            "x-ms-ratelimit-remaining-resource",
            &format!("{policy};{tokens}"),
        );
    }
    named(headers, "cache-control", "no-cache");
}

/// Spells ids as Azure sometimes does.
fn mangle(value: &mut Value, field: &str) {
    match value {
        Value::String(text)
            if matches!(field, "id" | "managedBy" | "vmUri" | "managedByExtended") =>
        {
            let mut parts: Vec<String> = text.split('/').map(str::to_owned).collect();
            if parts
                .get(3)
                .is_some_and(|part| part.eq_ignore_ascii_case("resourceGroups"))
            {
                if let Some(part) = parts.get_mut(3) {
                    *part = "resourcegroups".to_owned();
                }
                if let Some(group) = parts.get_mut(4) {
                    *group = group.to_ascii_uppercase();
                }
                *text = parts.join("/");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mangle(item, field)),
        Value::Object(fields) => fields
            .iter_mut()
            .for_each(|(name, item)| mangle(item, name)),
        _ => {}
    }
}
