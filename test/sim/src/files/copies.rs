//! Copies on the server's side: accepted at once, done later, told by headers, aborted on request.

use std::time::Duration;

use http::StatusCode;

use crate::files::access::{Granted, share};
use crate::files::error::FilesError;
use crate::files::facts::Copy;
use crate::files::file_ops::fresh;
use crate::files::node::{self, Kind, Node};
use crate::files::operation::Operation;
use crate::files::plane::{Ask, copy_time};
use crate::files::ranges::room;
use crate::files::reply::{Answer, Reply};
use crate::files::sas::Shown;
use crate::files::target::Target;
use crate::query::Query;
use crate::stamp;
use crate::state::State;
use crate::storage::model::Account;

/// Bytes that are copied in one step.
const STEP: u64 = 4 << 20;

/// Where a source is: its contents, its path, its length.
type Source = (String, String, u64);

/// Finds a source, and checks that the caller may read it: with the account's own key or a token
/// when it is in the same account, else by the SAS in its URL.
fn source(state: &State, ask: &Ask<'_>, url: &str) -> Result<Source, FilesError> {
    let wrong = || {
        FilesError::header_wrong(
            "x-ms-copy-source",
            url.split('?').next().unwrap_or_default(),
        )
    };
    let (target, query) = Target::of_url(url, ask.target.in_path).ok_or_else(wrong)?;
    let absent = || {
        FilesError::new(
            StatusCode::NOT_FOUND,
            "CannotVerifyCopySource",
            "The specified resource does not exist.",
        )
    };
    let mut accounts = state.world.accounts.values();
    let account = accounts
        .find(|account| account.name == target.account)
        .ok_or_else(absent)?;
    may_read(state, ask, account, (&target, &query))?;
    let share = share(state, account, &target.share).ok_or_else(absent)?;
    let contents = match query.get("sharesnapshot") {
        None => share.contents.clone(),
        Some(time) => {
            let taken = share.snapshots.iter().find(|taken| taken.time == time);
            taken
                .map(|taken| taken.contents.clone())
                .ok_or_else(absent)?
        }
    };
    let found = state
        .contents
        .find(&contents, &target.path)?
        .ok_or_else(absent)?;
    let size = found.size.ok_or_else(absent)?;
    Ok((contents, found.path, size))
}

fn may_read(
    state: &State,
    ask: &Ask<'_>,
    account: &Account,
    (target, query): (&Target, &Query),
) -> Result<(), FilesError> {
    if query.get("sig").is_none() {
        let own = account.name == ask.account.name && ask.granted != Granted::Sas;
        let token = matches!(ask.granted, Granted::Token(_));
        return if own || token {
            Ok(())
        } else {
            Err(FilesError::forbidden(
                "CannotVerifyCopySource",
                "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.",
            ))
        };
    }
    let place = crate::files::access::place(ask.request);
    let shown = Shown {
        target,
        query,
        account,
        share: share(state, account, &target.share),
        place: &place,
        https: true,
        wall_ms: state.wall_ms,
    };
    let checked = shown.check(Operation::GetFile);
    checked.map(drop).map_err(|mut error| {
        "CannotVerifyCopySource".clone_into(&mut error.code);
        error
    })
}

/// The bytes of a range of another file, for a write that names it.
pub(crate) fn bytes(
    state: &State,
    ask: &Ask<'_>,
    url: &str,
    length: u64,
) -> Result<Vec<u8>, FilesError> {
    let (contents, path, _) = source(state, ask, url)?;
    let text = ask.header("x-ms-source-range");
    let first = text
        .strip_prefix("bytes=")
        .and_then(|rest| rest.split('-').next()?.parse::<u64>().ok())
        .ok_or_else(|| FilesError::header_wrong("x-ms-source-range", text))?;
    Ok(state.contents.read(&contents, &path, first, length)?)
}

pub(crate) fn start(state: &mut State, ask: &Ask<'_>) -> Answer {
    let contents = node::writable(state, ask)?;
    let url = ask.header("x-ms-copy-source").to_owned();
    let (from, path, size) = source(state, ask, &url)?;
    node::above(state, &contents, &ask.target.path)?;
    if let Some(old) = node::at(state, &contents, &ask.target.path)? {
        node::leased(ask, &old.facts)?;
        not_pending(&old)?;
    }
    room(state, ask, 0, size)?;
    let takes = copy_time(state, size);
    let original = node::at(state, &from, &path)?;
    let mut made = fresh(state, ask, &contents, size)?;
    if let Some(original) = original {
        if made.facts.metadata.is_empty() {
            made.facts.metadata = original.facts.metadata;
        }
        made.facts.headers = original.facts.headers;
    }
    let id = state.guid();
    made.facts.copy = Some(Copy {
        id: id.clone(),
        source: url.split('?').next().unwrap_or_default().to_owned(),
        status: "pending".to_owned(),
        why: String::new(),
        total: size,
        from: state.now,
        until: state.now + takes,
        ended_ms: None,
        place: Some((from, path)),
    });
    node::keep(state, &made);
    if takes.is_zero() {
        finish(state, &contents, &made.found.path);
    } else {
        state
            .copying
            .insert((state.now + takes, contents.clone(), made.found.path.clone()));
    }
    let made = node::at(state, &contents, &made.found.path)?.unwrap_or(made);
    let status = made
        .facts
        .copy
        .as_ref()
        .map_or("success", |copy| copy.status.as_str());
    Ok(node::reply(StatusCode::ACCEPTED, &made)
        .header("x-ms-copy-id", &id)
        .header("x-ms-copy-status", status))
}

/// Everything whose time has come is copied.
pub(crate) fn settle(state: &mut State) {
    while let Some((at, contents, path)) = state.copying.first().cloned()
        && at <= state.now
    {
        state.copying.remove(&(at, contents.clone(), path.clone()));
        finish(state, &contents, &path);
        state.revision += 1;
    }
}

fn finish(state: &mut State, contents: &str, path: &str) {
    let key = crate::files::facts::key(contents, path);
    let Some(copy) = state
        .world
        .file_facts
        .get(&key)
        .and_then(|facts| facts.copy.clone())
    else {
        return;
    };
    if copy.status != "pending" {
        return;
    }
    let done = move_bytes(state, &copy, contents, path);
    let wall_ms = state.wall_ms;
    if let Some(copy) = state
        .world
        .file_facts
        .get_mut(&key)
        .and_then(|facts| facts.copy.as_mut())
    {
        copy.ended_ms = Some(wall_ms);
        match done {
            Ok(()) => "success".clone_into(&mut copy.status),
            Err(error) => {
                "failed".clone_into(&mut copy.status);
                copy.why = format!("500 InternalServerError \"{error}\"");
            }
        }
    }
}

fn move_bytes(state: &State, copy: &Copy, contents: &str, path: &str) -> std::io::Result<()> {
    let Some((from, source)) = &copy.place else {
        return Ok(());
    };
    for (first, end) in state.contents.ranges(from, source)? {
        let mut at = first;
        while at < end {
            let bytes = state.contents.read(from, source, at, STEP.min(end - at))?;
            if bytes.is_empty() {
                break;
            }
            state.contents.write(contents, path, at, &bytes)?;
            at += u64::try_from(bytes.len()).unwrap_or(1);
        }
    }
    Ok(())
}

/// A file that is being copied into takes no other writes.
pub(crate) fn not_pending(node: &Node) -> Result<(), FilesError> {
    let pending = node
        .facts
        .copy
        .as_ref()
        .is_some_and(|copy| copy.status == "pending");
    if !pending {
        return Ok(());
    }
    Err(FilesError::conflict(
        "PendingCopyOperation",
        "There is currently a pending copy operation.",
    ))
}

pub(crate) fn abort(state: &mut State, ask: &Ask<'_>) -> Answer {
    let contents = node::writable(state, ask)?;
    let mut found = node::need(state, ask, Kind::File)?;
    let id = ask.query.get("copyid").unwrap_or_default();
    let wall_ms = state.wall_ms;
    match &mut found.facts.copy {
        Some(copy) if copy.status == "pending" && copy.id == id => {
            "aborted".clone_into(&mut copy.status);
            copy.ended_ms = Some(wall_ms);
            state
                .copying
                .remove(&(copy.until, contents.clone(), found.found.path.clone()));
        }
        Some(copy) if copy.status == "pending" => {
            return Err(FilesError::conflict(
                "CopyIdMismatch",
                "The specified copy ID did not match the copy ID for the pending copy operation.",
            ));
        }
        _ => {
            return Err(FilesError::conflict(
                "NoPendingCopyOperation",
                "There is currently no pending copy operation.",
            ));
        }
    }
    // What is left of it is an empty file.
    state.contents.resize(&contents, &found.found.path, 0)?;
    node::touch(state, &mut found.facts);
    node::keep(state, &found);
    Ok(Reply::new(StatusCode::NO_CONTENT))
}

/// How far a copy is.
fn copied(copy: &Copy, now: Duration) -> u64 {
    if copy.status != "pending" {
        return if copy.status == "success" {
            copy.total
        } else {
            0
        };
    }
    let whole = copy.until.saturating_sub(copy.from).as_millis().max(1);
    let part = now.saturating_sub(copy.from).as_millis().min(whole);
    u64::try_from(u128::from(copy.total) * part / whole).unwrap_or(0)
}

/// Headers that tell of the last copy into a file.
pub(crate) fn show(state: &State, node: &Node, mut reply: Reply) -> Reply {
    let Some(copy) = &node.facts.copy else {
        return reply;
    };
    reply = reply
        .header("x-ms-copy-id", &copy.id)
        .header("x-ms-copy-source", &copy.source)
        .header("x-ms-copy-status", &copy.status)
        .header(
            "x-ms-copy-progress",
            &format!("{}/{}", copied(copy, state.now), copy.total),
        );
    if let Some(ended) = copy.ended_ms {
        reply = reply.header("x-ms-copy-completion-time", &stamp::http(ended));
    }
    if !copy.why.is_empty() {
        reply = reply.header("x-ms-copy-status-description", &copy.why);
    }
    reply
}
