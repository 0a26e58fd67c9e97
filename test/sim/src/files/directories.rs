//! Directories: made, shown, listed, removed.

use http::StatusCode;

use crate::files::error::FilesError;
use crate::files::facts::Facts;
use crate::files::node::{self, Kind, Node};
use crate::files::plane::Ask;
use crate::files::reply::{Answer, Reply};
use crate::files::shares::metadata;
use crate::files::xml::Element;
use crate::stamp;
use crate::state::State;
use crate::storage::account_view::endpoint;

const PAGE: usize = 5000;

pub(crate) fn create(state: &mut State, ask: &Ask<'_>) -> Answer {
    let contents = node::writable(state, ask)?;
    let path = ask.target.path.as_str();
    node::above(state, &contents, path)?;
    if path.is_empty() || state.contents.find(&contents, path)?.is_some() {
        return Err(FilesError::conflict(
            "ResourceAlreadyExists",
            "The specified resource already exists.",
        ));
    }
    state.contents.make_dir(&contents, path)?;
    let mut facts = Facts {
        created_ms: state.wall_ms,
        metadata: metadata(ask),
        ..Facts::default()
    };
    node::take(state, ask, &mut facts, Kind::Directory);
    let mut made = node::at(state, &contents, path)?.ok_or_else(FilesError::absent)?;
    made.facts = facts;
    node::keep(state, &made);
    Ok(node::reply(StatusCode::CREATED, &made))
}

pub(crate) fn get(state: &mut State, ask: &Ask<'_>) -> Answer {
    let found = node::need(state, ask, Kind::Directory)?;
    let reply = node::reply(StatusCode::OK, &found).header("x-ms-server-encrypted", "true");
    Ok(node::with_metadata(reply, &found.facts))
}

pub(crate) fn set(state: &mut State, ask: &Ask<'_>) -> Answer {
    node::writable(state, ask)?;
    let mut found = node::need(state, ask, Kind::Directory)?;
    node::take(state, ask, &mut found.facts, Kind::Directory);
    node::keep(state, &found);
    Ok(node::reply(StatusCode::OK, &found))
}

pub(crate) fn set_metadata(state: &mut State, ask: &Ask<'_>) -> Answer {
    node::writable(state, ask)?;
    let mut found = node::need(state, ask, Kind::Directory)?;
    found.facts.metadata = metadata(ask);
    node::touch(state, &mut found.facts);
    node::keep(state, &found);
    Ok(node::reply(StatusCode::OK, &found))
}

pub(crate) fn delete(state: &mut State, ask: &Ask<'_>) -> Answer {
    let contents = node::writable(state, ask)?;
    let found = node::need(state, ask, Kind::Directory)?;
    let path = found.found.path.as_str();
    if path.is_empty() || !state.contents.list(&contents, path)?.is_empty() {
        return Err(FilesError::conflict(
            "DirectoryNotEmpty",
            "The specified directory is not empty.",
        ));
    }
    state.contents.remove(&contents, path)?;
    node::forget(state, &contents, path);
    Ok(Reply::new(StatusCode::ACCEPTED))
}

/// What is in a directory, by name.
pub(crate) fn list(state: &mut State, ask: &Ask<'_>) -> Answer {
    let found = node::need(state, ask, Kind::Directory)?;
    let prefix = ask.query.get("prefix").unwrap_or_default().to_lowercase();
    let marker = ask.query.get("marker").unwrap_or_default();
    let most = ask
        .query
        .get("maxresults")
        .and_then(|text| text.parse().ok());
    let most = most
        .filter(|most| (1..=PAGE).contains(most))
        .unwrap_or(PAGE);
    let mut items = state.contents.list(&found.contents, &found.found.path)?;
    items.retain(|item| item.name().to_lowercase().starts_with(&prefix) && item.name() >= marker);
    items.sort_by(|one, other| one.path.cmp(&other.path));
    let next = items.get(most).map(|item| item.name().to_owned());
    items.truncate(most);
    let mut entries = Element::new("Entries");
    for item in &items {
        if let Some(node) = node::at(state, &found.contents, &item.path)? {
            entries = entries.child(&entry(ask, &node));
        }
    }
    let service = endpoint(state, &ask.account.name, "file");
    let mut document = Element::new("EnumerationResults")
        .attribute("ServiceEndpoint", &service)
        .attribute("ShareName", &ask.target.share);
    if let Some(time) = ask.query.get("sharesnapshot") {
        document = document.attribute("ShareSnapshot", time);
    }
    let document = document
        .attribute("DirectoryPath", &found.found.path)
        .optional("Prefix", ask.query.get("prefix"))
        .optional("Marker", ask.query.get("marker"))
        .optional("MaxResults", ask.query.get("maxresults"))
        .text("DirectoryId", &node::number(found.found.number))
        .child(&entries)
        .text("NextMarker", &next.unwrap_or_default());
    Ok(Reply::new(StatusCode::OK).xml(&document))
}

fn entry(ask: &Ask<'_>, node: &Node) -> Element {
    let include = ask
        .query
        .get("include")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let wants = |word: &str| include.split(',').any(|part| part.trim() == word);
    let mut properties = Element::new("Properties");
    if let Some(size) = node.found.size {
        properties = properties.text("Content-Length", &size.to_string());
    }
    let header = |name: &str| {
        let reply = node::reply(StatusCode::OK, node);
        let found = reply.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    if wants("timestamps") {
        properties = properties
            .text("CreationTime", &header("x-ms-file-creation-time"))
            .text("LastAccessTime", &header("x-ms-file-last-write-time"))
            .text("LastWriteTime", &header("x-ms-file-last-write-time"))
            .text("ChangeTime", &header("x-ms-file-change-time"))
            .text("Last-Modified", &stamp::http(node.facts.modified_ms));
    }
    if wants("etag") {
        properties = properties.text("Etag", &node.facts.etag);
    }
    let name = if node.found.size.is_some() {
        "File"
    } else {
        "Directory"
    };
    let mut entry = Element::new(name)
        .text("FileId", &node::number(node.found.number))
        .text("Name", node.found.name())
        .child(&properties);
    if wants("attributes") {
        entry = entry.text("Attributes", &header("x-ms-file-attributes"));
    }
    if wants("permissionkey") {
        entry = entry.text("PermissionKey", &header("x-ms-file-permission-key"));
    }
    entry
}

/// Moves a file or directory; the source is the URL of another one in the share.
pub(crate) fn rename(state: &mut State, ask: &Ask<'_>) -> Answer {
    let contents = node::writable(state, ask)?;
    let url = ask.header("x-ms-file-rename-source");
    let source = crate::files::target::Target::of_url(url, ask.target.in_path);
    let Some((source, _)) = source.filter(|(source, _)| source.share == ask.target.share) else {
        return Err(FilesError::header_wrong("x-ms-file-rename-source", url));
    };
    let old = node::at(state, &contents, &source.path)?.ok_or_else(FilesError::absent)?;
    let path = ask.target.path.as_str();
    node::above(state, &contents, path)?;
    node::leased(ask, &old.facts)?;
    if state.contents.find(&contents, path)?.is_some() {
        if ask.header("x-ms-file-rename-replace-if-exists") != "true" || old.found.size.is_none() {
            return Err(FilesError::conflict(
                "ResourceAlreadyExists",
                "The specified resource already exists.",
            ));
        }
        state.contents.remove(&contents, path)?;
    }
    state.contents.rename(&contents, &old.found.path, path)?;
    moved(state, &contents, &old.found.path, path);
    let mut new = node::at(state, &contents, path)?.ok_or_else(FilesError::absent)?;
    let kind = if new.found.size.is_some() {
        Kind::File
    } else {
        Kind::Directory
    };
    node::take(state, ask, &mut new.facts, kind);
    node::keep(state, &new);
    Ok(node::reply(StatusCode::OK, &new))
}

/// Facts move with what they are about.
fn moved(state: &mut State, contents: &str, from: &str, to: &str) {
    let (from, to) = (
        crate::files::facts::key(contents, from),
        crate::files::facts::key(contents, to),
    );
    let below = format!("{from}/");
    let keys: Vec<String> = state
        .world
        .file_facts
        .keys()
        .filter(|key| **key == from || key.starts_with(&below))
        .cloned()
        .collect();
    for key in keys {
        if let Some(facts) = state.world.file_facts.remove(&key) {
            let rest = key.get(from.len()..).unwrap_or_default();
            state.world.file_facts.insert(format!("{to}{rest}"), facts);
        }
    }
}
