//! Files: made, shown, read, changed, removed, leased.

use http::StatusCode;

use crate::files::copies;
use crate::files::error::FilesError;
use crate::files::facts::Facts;
use crate::files::node::{self, CONTENT, Kind, Node};
use crate::files::plane::Ask;
use crate::files::ranges::{asked, room};
use crate::files::reply::{Answer, Reply};
use crate::files::shares::metadata;
use crate::files::xml::Element;
use crate::state::State;

pub(crate) fn create(state: &mut State, ask: &Ask<'_>) -> Answer {
    let contents = node::writable(state, ask)?;
    let path = ask.target.path.as_str();
    if path.is_empty() {
        return Err(FilesError::bad(
            "InvalidUri",
            "The requested URI does not represent any resource on the server.",
        ));
    }
    match ask.header("x-ms-type").to_ascii_lowercase().as_str() {
        "file" => {}
        "" => return Err(FilesError::header_missing("x-ms-type")),
        other => return Err(FilesError::header_wrong("x-ms-type", other)),
    }
    let size = ask
        .number("x-ms-content-length")?
        .ok_or_else(|| FilesError::header_missing("x-ms-content-length"))?;
    node::above(state, &contents, path)?;
    let old = node::at(state, &contents, path)?;
    if let Some(old) = &old {
        if old.found.size.is_none() {
            return Err(FilesError::conflict(
                "ResourceTypeMismatch",
                "The specified resource type does not match the type of the existing resource.",
            ));
        }
        node::leased(ask, &old.facts)?;
    }
    room(
        state,
        ask,
        old.and_then(|old| old.found.size).unwrap_or(0),
        size,
    )?;
    let made = fresh(state, ask, &contents, size)?;
    node::keep(state, &made);
    Ok(written(StatusCode::CREATED, &made))
}

/// Makes a file of zeroes with the facts of the request.
pub(crate) fn fresh(
    state: &mut State,
    ask: &Ask<'_>,
    contents: &str,
    size: u64,
) -> Result<Node, FilesError> {
    let path = ask.target.path.as_str();
    state.contents.make_file(contents, path, size)?;
    let mut facts = Facts {
        created_ms: state.wall_ms,
        metadata: metadata(ask),
        ..Facts::default()
    };
    content(ask, &mut facts);
    node::take(state, ask, &mut facts, Kind::File);
    let mut made = node::at(state, contents, path)?.ok_or_else(FilesError::absent)?;
    made.facts = facts;
    Ok(made)
}

/// Headers of the content: each write says all of them.
fn content(ask: &Ask<'_>, facts: &mut Facts) {
    facts.headers.clear();
    for name in CONTENT {
        if let Some(value) = ask.given(&format!("x-ms-{name}")) {
            facts.headers.insert(name.to_owned(), value.to_owned());
        }
    }
}

pub(crate) fn written(status: StatusCode, node: &Node) -> Reply {
    node::reply(status, node).header("x-ms-request-server-encrypted", "true")
}

fn shown(state: &State, node: &Node, status: StatusCode) -> Reply {
    let facts = &node.facts;
    let mut reply = node::reply(status, node)
        .header("x-ms-type", "File")
        .header("x-ms-server-encrypted", "true")
        .header("accept-ranges", "bytes")
        .header(
            "x-ms-lease-status",
            if facts.lease.is_some() {
                "locked"
            } else {
                "unlocked"
            },
        )
        .header(
            "x-ms-lease-state",
            if facts.lease.is_some() {
                "leased"
            } else {
                "available"
            },
        );
    let kind = facts
        .headers
        .get("content-type")
        .map_or("application/octet-stream", String::as_str);
    reply = reply.header("content-type", kind);
    for (name, value) in facts
        .headers
        .iter()
        .filter(|(name, _)| *name != "content-type")
    {
        reply = reply.header(name, value);
    }
    copies::show(state, node, node::with_metadata(reply, facts))
}

pub(crate) fn head(state: &mut State, ask: &Ask<'_>) -> Answer {
    let found = node::need(state, ask, Kind::File)?;
    let size = found.found.size.unwrap_or(0);
    let reply = shown(state, &found, StatusCode::OK);
    if ask.query.get("comp") == Some("metadata") {
        return Ok(reply);
    }
    Ok(reply.header("content-length", &size.to_string()))
}

pub(crate) fn get(state: &mut State, ask: &Ask<'_>) -> Answer {
    let found = node::need(state, ask, Kind::File)?;
    let size = found.found.size.unwrap_or(0);
    let Some((first, last)) = asked(ask)? else {
        let bytes = state
            .contents
            .read(&found.contents, &found.found.path, 0, size)?;
        return Ok(shown(state, &found, StatusCode::OK).body(bytes));
    };
    if first >= size {
        return Err(FilesError::new(
            StatusCode::RANGE_NOT_SATISFIABLE,
            "InvalidRange",
            "The range specified is invalid for the current size of the resource.",
        ));
    }
    let last = last.unwrap_or(size - 1).min(size - 1);
    let bytes = state
        .contents
        .read(&found.contents, &found.found.path, first, last - first + 1)?;
    let mut reply = shown(state, &found, StatusCode::PARTIAL_CONTENT);
    // The checksum is that of the whole file, and has another name beside a part of it.
    for (name, _) in &mut reply.headers {
        if name == "content-md5" {
            "x-ms-content-md5".clone_into(name);
        }
    }
    Ok(reply
        .header("content-range", &format!("bytes {first}-{last}/{size}"))
        .body(bytes))
}

pub(crate) fn set(state: &mut State, ask: &Ask<'_>) -> Answer {
    let contents = node::writable(state, ask)?;
    let mut found = node::need(state, ask, Kind::File)?;
    node::leased(ask, &found.facts)?;
    if let Some(size) = ask.number("x-ms-content-length")? {
        room(state, ask, found.found.size.unwrap_or(0), size)?;
        state.contents.resize(&contents, &found.found.path, size)?;
        found.found.size = Some(size);
    }
    content(ask, &mut found.facts);
    node::take(state, ask, &mut found.facts, Kind::File);
    node::keep(state, &found);
    Ok(written(StatusCode::OK, &found))
}

pub(crate) fn set_metadata(state: &mut State, ask: &Ask<'_>) -> Answer {
    node::writable(state, ask)?;
    let mut found = node::need(state, ask, Kind::File)?;
    node::leased(ask, &found.facts)?;
    found.facts.metadata = metadata(ask);
    node::touch(state, &mut found.facts);
    node::keep(state, &found);
    Ok(written(StatusCode::OK, &found))
}

pub(crate) fn delete(state: &mut State, ask: &Ask<'_>) -> Answer {
    let contents = node::writable(state, ask)?;
    let found = node::need(state, ask, Kind::File)?;
    node::leased(ask, &found.facts)?;
    state.contents.remove(&contents, &found.found.path)?;
    node::forget(state, &contents, &found.found.path);
    Ok(Reply::new(StatusCode::ACCEPTED))
}

/// Leases of files are for ever.
pub(crate) fn lease(state: &mut State, ask: &Ask<'_>) -> Answer {
    node::writable(state, ask)?;
    let mut found = node::need(state, ask, Kind::File)?;
    let action = ask.header("x-ms-lease-action").to_owned();
    let given = ask.header("x-ms-lease-id");
    let mine = found
        .facts
        .lease
        .as_ref()
        .is_some_and(|id| id.eq_ignore_ascii_case(given));
    let fresh = match ask.given("x-ms-proposed-lease-id") {
        Some(id) => id.to_owned(),
        None => state.guid(),
    };
    let (status, lease) = match (action.as_str(), &found.facts.lease) {
        ("acquire", Some(_)) if !mine => {
            return Err(FilesError::conflict(
                "LeaseAlreadyPresent",
                "There is already a lease present.",
            ));
        }
        ("acquire", _) => (StatusCode::CREATED, Some(fresh)),
        ("change", Some(_)) if mine => (StatusCode::OK, Some(fresh)),
        ("release", Some(_)) if mine => (StatusCode::OK, None),
        ("break", Some(_)) => (StatusCode::ACCEPTED, None),
        ("change" | "release", Some(_)) => {
            return Err(FilesError::conflict(
                "LeaseIdMismatchWithLeaseOperation",
                "The lease ID specified did not match the lease ID for the file.",
            ));
        }
        ("change" | "release" | "break", None) => {
            return Err(FilesError::conflict(
                "LeaseNotPresentWithLeaseOperation",
                "There is currently no lease on the file.",
            ));
        }
        _ => return Err(FilesError::header_wrong("x-ms-lease-action", &action)),
    };
    found.facts.lease.clone_from(&lease);
    node::keep(state, &found);
    let reply = node::reply(status, &found);
    Ok(match lease {
        Some(id) => reply.header("x-ms-lease-id", &id),
        None => reply,
    })
}

/// Nobody has a file open through this plane.
pub(crate) fn handles(state: &mut State, ask: &Ask<'_>) -> Answer {
    node::contents(state, ask)?;
    let document = Element::new("EnumerationResults")
        .child(&Element::new("Entries"))
        .child(&Element::new("NextMarker"));
    Ok(Reply::new(StatusCode::OK).xml(&document))
}

pub(crate) fn close_handles(state: &mut State, ask: &Ask<'_>) -> Answer {
    node::contents(state, ask)?;
    Ok(Reply::new(StatusCode::OK)
        .header("x-ms-number-of-handles-closed", "0")
        .header("x-ms-number-of-handles-failed", "0"))
}
