//! Files and directories as both the contents and the facts know them.

use http::StatusCode;

use crate::files::contents::{Found, parent};
use crate::files::error::FilesError;
use crate::files::facts::{self, Facts};
use crate::files::plane::Ask;
use crate::files::reply::Reply;
use crate::files::shares;
use crate::stamp;
use crate::state::State;
use crate::storage::share_life;

/// Something that is there.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Name of the contents it is in.
    pub(crate) contents: String,
    pub(crate) found: Found,
    pub(crate) facts: Facts,
}

/// Headers of a file's content; `x-ms-` stands before them in writes.
pub(crate) const CONTENT: [&str; 6] = [
    "content-type",
    "content-encoding",
    "content-language",
    "content-disposition",
    "content-md5",
    "cache-control",
];
/// Properties that are kept as given.
const KEPT: [&str; 8] = [
    "x-ms-file-attributes",
    "x-ms-file-creation-time",
    "x-ms-file-last-write-time",
    "x-ms-file-change-time",
    "x-ms-file-permission-key",
    "x-ms-mode",
    "x-ms-owner",
    "x-ms-group",
];

/// The name of the contents of a request's share or snapshot.
pub(crate) fn contents(state: &State, ask: &Ask<'_>) -> Result<String, FilesError> {
    let (share, taken) = shares::find(state, ask)?;
    Ok(taken.map_or(share.contents, |taken| taken.contents))
}

/// The same for a write: snapshots are for ever.
pub(crate) fn writable(state: &State, ask: &Ask<'_>) -> Result<String, FilesError> {
    if ask.query.get("sharesnapshot").is_some() {
        return Err(FilesError::bad(
            "ShareSnapshotOperationNotSupported",
            "The operation is not supported for share snapshots.",
        ));
    }
    name(&ask.target.path)?;
    contents(state, ask)
}

/// The parts of a path have a form.
pub(crate) fn name(path: &str) -> Result<(), FilesError> {
    let odd = |part: &str| {
        part.is_empty()
            || part.chars().count() > 255
            || part == "."
            || part == ".."
            || part
                .chars()
                .any(|c| c.is_control() || "\"\\:|<>*?".contains(c))
    };
    if path.len() <= 2048
        && path.split('/').count() <= 250
        && (path.is_empty() || !path.split('/').any(odd))
    {
        return Ok(());
    }
    Err(FilesError::bad(
        "InvalidResourceName",
        "The specified resource name contains invalid characters.",
    ))
}

/// What is at a path of some contents.
pub(crate) fn at(state: &State, contents: &str, path: &str) -> Result<Option<Node>, FilesError> {
    let Some(found) = state.contents.find(contents, path)? else {
        return Ok(None);
    };
    let known = state
        .world
        .file_facts
        .get(&facts::key(contents, &found.path))
        .cloned();
    let facts = known.unwrap_or_else(|| bare(state, &found));
    Ok(Some(Node {
        contents: contents.to_owned(),
        found,
        facts,
    }))
}

/// Facts of something that came by another way than this plane.
fn bare(state: &State, found: &Found) -> Facts {
    let number = crate::guids::mix(found.number ^ found.size.unwrap_or(0));
    Facts {
        etag: format!("\"0x8D{:013X}\"", number >> 12),
        modified_ms: state.wall_ms,
        created_ms: state.wall_ms,
        ..Facts::default()
    }
}

/// What a request is about; it must be there, and a file or a directory as the request says.
pub(crate) fn need(state: &State, ask: &Ask<'_>, directory: Kind) -> Result<Node, FilesError> {
    let contents = contents(state, ask)?;
    let node = at(state, &contents, &ask.target.path)?;
    let node = match node {
        Some(node) => node,
        None => {
            above(state, &contents, &ask.target.path)?;
            return Err(FilesError::absent());
        }
    };
    let is = if node.found.size.is_some() {
        Kind::File
    } else {
        Kind::Directory
    };
    if is == directory {
        return Ok(node);
    }
    Err(FilesError::conflict(
        "ResourceTypeMismatch",
        "The specified resource type does not match the type of the existing resource.",
    ))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
}

/// The directory above must be there.
pub(crate) fn above(state: &State, contents: &str, path: &str) -> Result<(), FilesError> {
    let up = parent(path).unwrap_or_default();
    let found = state.contents.find(contents, up)?;
    if found.is_some_and(|found| found.size.is_none()) {
        return Ok(());
    }
    Err(FilesError::new(
        StatusCode::NOT_FOUND,
        "ParentNotFound",
        "The specified parent path does not exist.",
    ))
}

/// Takes over what the headers of a write say. What they leave out stays.
pub(crate) fn take(state: &mut State, ask: &Ask<'_>, facts: &mut Facts, kind: Kind) {
    let now = share_life::ticks(u128::from(state.wall_ms) * 10_000);
    for name in KEPT {
        let value = match ask.header(name) {
            "" | "preserve" | "inherit" => continue,
            "now" => now.clone(),
            "None" | "none" if name == "x-ms-file-attributes" => {
                default_attributes(kind).to_owned()
            }
            other => other.to_owned(),
        };
        facts.properties.insert(name.to_owned(), value);
    }
    touch(state, facts);
}

fn default_attributes(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "Archive",
        Kind::Directory => "Directory",
    }
}

/// A change gives a new ETag and time.
pub(crate) fn touch(state: &mut State, facts: &mut Facts) {
    facts.etag = share_life::etag(state);
    facts.modified_ms = state.wall_ms;
}

/// Keeps the facts of a node.
pub(crate) fn keep(state: &mut State, node: &Node) {
    let key = facts::key(&node.contents, &node.found.path);
    state.world.file_facts.insert(key, node.facts.clone());
    state.revision += 1;
}

/// Forgets the facts of a path and of everything below it.
pub(crate) fn forget(state: &mut State, contents: &str, path: &str) {
    let key = facts::key(contents, path);
    let below = format!("{key}/");
    state
        .world
        .file_facts
        .retain(|known, _| *known != key && !known.starts_with(&below));
}

/// Headers that every answer about a file or directory has.
pub(crate) fn reply(status: StatusCode, node: &Node) -> Reply {
    let facts = &node.facts;
    let kind = if node.found.size.is_some() {
        Kind::File
    } else {
        Kind::Directory
    };
    let made = share_life::ticks(u128::from(facts.created_ms) * 10_000);
    let changed = share_life::ticks(u128::from(facts.modified_ms) * 10_000);
    let property = |name: &str, default: &str| {
        facts
            .properties
            .get(name)
            .map_or_else(|| default.to_owned(), Clone::clone)
    };
    let mut reply = Reply::new(status)
        .header("etag", &facts.etag)
        .header("last-modified", &stamp::http(facts.modified_ms))
        .header(
            "x-ms-file-attributes",
            &property("x-ms-file-attributes", default_attributes(kind)),
        )
        .header(
            "x-ms-file-creation-time",
            &property("x-ms-file-creation-time", &made),
        )
        .header(
            "x-ms-file-last-write-time",
            &property("x-ms-file-last-write-time", &changed),
        )
        .header(
            "x-ms-file-change-time",
            &property("x-ms-file-change-time", &changed),
        )
        .header(
            "x-ms-file-permission-key",
            &property(
                "x-ms-file-permission-key",
                "4010187179898695473*11459378189709739967",
            ),
        )
        .header("x-ms-file-id", &number(node.found.number))
        .header("x-ms-file-parent-id", "0");
    for name in ["x-ms-mode", "x-ms-owner", "x-ms-group"] {
        if let Some(value) = facts.properties.get(name) {
            reply = reply.header(name, value);
        }
    }
    reply
}

/// File ids have twenty digits and are large.
pub(crate) fn number(number: u64) -> String {
    format!("{}", 11_529_215_046_068_469_760_u64.wrapping_add(number))
}

/// Metadata of a file or directory.
pub(crate) fn with_metadata(mut reply: Reply, facts: &Facts) -> Reply {
    for (name, value) in &facts.metadata {
        reply = reply.header(&format!("x-ms-meta-{name}"), value);
    }
    reply
}

/// A lease must be named by who writes.
pub(crate) fn leased(ask: &Ask<'_>, facts: &Facts) -> Result<(), FilesError> {
    let Some(lease) = &facts.lease else {
        return Ok(());
    };
    let status = StatusCode::PRECONDITION_FAILED;
    match ask.header("x-ms-lease-id") {
        "" => Err(FilesError::new(
            status,
            "LeaseIdMissing",
            "There is currently a lease on the file and no lease ID was specified in the request.",
        )),
        id if id.eq_ignore_ascii_case(lease) => Ok(()),
        _ => Err(FilesError::new(
            status,
            "LeaseIdMismatchWithFileOperation",
            "The lease ID specified did not match the lease ID for the file.",
        )),
    }
}
