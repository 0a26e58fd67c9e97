//! A request's way through the data plane: faults, who asks, the operation, headers, the log.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};

use crate::answer::{Sent, break_it};
use crate::faults::Effect;
use crate::files::access::{Door, Granted};
use crate::files::error::FilesError;
use crate::files::operation::Operation;
use crate::files::reply::{Answer, Reply};
use crate::files::target::Target;
use crate::files::{copies, directories, file_ops, ranges, service, shares};
use crate::front_door::Auth;
use crate::query::Query;
use crate::requests::Logged;
use crate::stamp::{self, stamp};
use crate::state::State;
use crate::storage::model::Account;

/// A request that was let in.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) request: &'a Request<Bytes>,
    pub(crate) target: &'a Target,
    pub(crate) query: &'a Query,
    pub(crate) operation: Operation,
    pub(crate) account: Account,
    pub(crate) granted: Granted,
}

impl Ask<'_> {
    /// A header; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.request.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// A header, when it is there.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        Some(self.header(name)).filter(|value| !value.is_empty())
    }

    /// A header that is a number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, FilesError> {
        let Some(text) = self.given(name) else {
            return Ok(None);
        };
        text.parse()
            .map(Some)
            .map_err(|_| FilesError::header_wrong(name, text))
    }
}

/// Answers a request to the data plane.
pub(crate) fn answer(
    state: &mut State,
    auth: &Auth,
    wall: SystemTime,
    (request, target): (&Request<Bytes>, &Target),
) -> Sent {
    let query = Query::of(request.uri());
    let operation = Operation::of(request.method(), target, &query, request.headers());
    let kind = operation.map_or("files", Operation::kind);
    let class = format!("{} {kind}", request.method());
    let effects = state.faults.on(&class, &target.shown());
    leaks(state, request);
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut who = String::new();
    let answer = match refuse(&effects) {
        Some(error) => Err(error),
        None => handle(
            state,
            (request, target, &query, operation),
            (auth, wall),
            &mut who,
        ),
    };
    if !reads {
        state.revision += 1;
    }
    let mut after = state.takes(if reads { "files.read" } else { "files.write" });
    let code = answer.as_ref().err().map(|error| error.code.clone());
    let mut response = Some(respond(state, request, answer));
    for effect in &effects {
        after += break_it(effect, &mut response);
    }
    state.requests.add(Logged {
        number: 0,
        class,
        method: request.method().to_string(),
        path: target.shown(),
        caller: who,
        status: response
            .as_ref()
            .map_or(0, |response| response.status().as_u16()),
        code,
        duration_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
        at_ms: u64::try_from(state.now.as_millis()).unwrap_or(u64::MAX),
    });
    Sent { response, after }
}

/// An account key or a token in a URL ends up in logs. A signature is what URLs are for.
fn leaks(state: &mut State, request: &Request<Bytes>) {
    let query = request.uri().query().unwrap_or_default();
    let plain = percent_encoding::percent_decode_str(query)
        .decode_utf8_lossy()
        .into_owned();
    let mut keys = state
        .world
        .accounts
        .values()
        .flat_map(|account| &account.keys);
    if plain.contains("eyJ") || keys.any(|key| plain.contains(&key.value)) {
        let about = format!("{} {}", request.method(), request.uri().path());
        state.violations.add("secretInUrl", about, state.now);
    }
}

/// Faults that refuse a request before anything happens.
fn refuse(effects: &[Effect]) -> Option<FilesError> {
    effects.iter().find_map(|effect| match effect {
        Effect::Status {
            status,
            code,
            message,
        } => {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Some(FilesError::new(status, code, message.clone()))
        }
        Effect::Throttle { retry_after } => {
            let mut error = FilesError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "ServerBusy",
                "The server is currently unable to receive requests. Please retry your request.",
            );
            error.retry_after = *retry_after;
            Some(error)
        }
        Effect::TokenExpired => Some(FilesError::unproven("The token or signature is expired.")),
        Effect::ResetBefore | Effect::HtmlBody { .. } => {
            Some(FilesError::new(StatusCode::BAD_GATEWAY, "BadGateway", ""))
        }
        _ => None,
    })
}

type Asked<'a> = (&'a Request<Bytes>, &'a Target, &'a Query, Option<Operation>);

fn handle(
    state: &mut State,
    (request, target, query, operation): Asked<'_>,
    (auth, wall): (&Auth, SystemTime),
    who: &mut String,
) -> Answer {
    let Some(operation) = operation.filter(|_| !target.blob) else {
        return Err(FilesError::bad(
            "InvalidQueryParameterValue",
            "Value for one of the query parameters specified in the request URI is invalid.",
        ));
    };
    let door = Door {
        request,
        target,
        query,
        operation,
        auth,
        wall,
    };
    let (account, granted) = door.admit(state)?;
    *who = match &granted {
        Granted::Key => "key".to_owned(),
        Granted::Sas => "sas".to_owned(),
        Granted::Token(client) => client.clone(),
    };
    let ask = Ask {
        request,
        target,
        query,
        operation,
        account,
        granted,
    };
    run(state, &ask)
}

fn run(state: &mut State, ask: &Ask<'_>) -> Answer {
    match ask.operation {
        Operation::ListShares => service::list(state, ask),
        Operation::GetService => service::get(state, ask),
        Operation::SetService => service::set(state, ask),
        Operation::CreateShare => shares::create(state, ask),
        Operation::GetShare => shares::get(state, ask),
        Operation::SetShare => shares::set(state, ask),
        Operation::SetShareMetadata => shares::set_metadata(state, ask),
        Operation::DeleteShare => shares::delete(state, ask),
        Operation::SnapshotShare => shares::snapshot(state, ask),
        Operation::RestoreShare => shares::restore(state, ask),
        Operation::ShareStats => shares::stats(state, ask),
        Operation::GetAcl => shares::acl(state, ask),
        Operation::SetAcl => shares::set_acl(state, ask),
        Operation::LeaseShare => shares::lease(state, ask),
        Operation::CreateDirectory => directories::create(state, ask),
        Operation::GetDirectory => directories::get(state, ask),
        Operation::SetDirectory => directories::set(state, ask),
        Operation::SetDirectoryMetadata => directories::set_metadata(state, ask),
        Operation::DeleteDirectory => directories::delete(state, ask),
        Operation::ListDirectory => directories::list(state, ask),
        Operation::Rename => directories::rename(state, ask),
        Operation::CreateFile => file_ops::create(state, ask),
        Operation::GetFile => file_ops::get(state, ask),
        Operation::HeadFile => file_ops::head(state, ask),
        Operation::SetFile => file_ops::set(state, ask),
        Operation::SetFileMetadata => file_ops::set_metadata(state, ask),
        Operation::DeleteFile => file_ops::delete(state, ask),
        Operation::LeaseFile => file_ops::lease(state, ask),
        Operation::ListHandles => file_ops::handles(state, ask),
        Operation::CloseHandles => file_ops::close_handles(state, ask),
        Operation::PutRange => ranges::put(state, ask),
        Operation::ListRanges => ranges::list(state, ask),
        Operation::CopyFile => copies::start(state, ask),
        Operation::AbortCopy => copies::abort(state, ask),
        Operation::SetPermission => shares::set_permission(state, ask),
        Operation::GetPermission => shares::permission(state, ask),
    }
}

fn respond(state: &mut State, request: &Request<Bytes>, answer: Answer) -> Response<Bytes> {
    let id = state.guid();
    let time = stamp(state.wall_ms);
    let reply = answer.unwrap_or_else(|error| error.reply(&id, &time));
    let mut response = Response::new(reply.body.clone());
    *response.status_mut() = reply.status;
    let sent = |name: &str| request.headers().get(name).cloned();
    let headers = response.headers_mut();
    let mut put = |name: &str, value: Option<HeaderValue>| {
        if let (Ok(name), Some(value)) = (HeaderName::try_from(name), value) {
            headers.insert(name, value);
        }
    };
    for (name, value) in &reply.headers {
        put(name, HeaderValue::try_from(value).ok());
    }
    put("x-ms-request-id", HeaderValue::try_from(id).ok());
    put("x-ms-client-request-id", sent("x-ms-client-request-id"));
    put(
        "x-ms-version",
        sent("x-ms-version").or(Some(HeaderValue::from_static("2024-11-04"))),
    );
    put(
        "date",
        HeaderValue::try_from(stamp::http(state.wall_ms)).ok(),
    );
    put(
        "server",
        Some(HeaderValue::from_static(
            "Windows-Azure-File/1.0 Microsoft-HTTPAPI/2.0",
        )),
    );
    if *request.method() == Method::HEAD {
        // The length that a GET would have is promised, and no body follows.
        let length = response.body().len();
        if !response.headers().contains_key(CONTENT_LENGTH) && length > 0 {
            response
                .headers_mut()
                .insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        *response.body_mut() = Bytes::new();
    }
    response
}

/// A reply with the headers of something that has a version.
pub(crate) fn versioned(status: StatusCode, etag: &str, modified_ms: u64) -> Reply {
    Reply::new(status)
        .header("etag", etag)
        .header("last-modified", &stamp::http(modified_ms))
}

/// How long a copy of so many bytes takes.
pub(crate) fn copy_time(state: &mut State, bytes: u64) -> Duration {
    let takes = state.takes("files.copy");
    let gib = u32::try_from(bytes >> 30).unwrap_or(u32::MAX);
    takes.saturating_mul(gib.saturating_add(1))
}
