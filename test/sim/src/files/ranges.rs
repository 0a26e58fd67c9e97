//! Ranges of files: written, cleared, listed.

use http::StatusCode;

use crate::files::copies;
use crate::files::error::FilesError;
use crate::files::file_ops::written;
use crate::files::node::{self, Kind};
use crate::files::plane::Ask;
use crate::files::reply::{Answer, Reply};
use crate::files::shares;
use crate::files::xml::Element;
use crate::state::State;

/// One write has at most so many bytes.
const MOST: u64 = 4 << 20;

/// The range that a request names: first byte, and last byte when it has one.
pub(crate) fn asked(ask: &Ask<'_>) -> Result<Option<(u64, Option<u64>)>, FilesError> {
    let (name, text) = match ask.given("x-ms-range") {
        Some(text) => ("x-ms-range", text),
        None => match ask.given("range") {
            Some(text) => ("range", text),
            None => return Ok(None),
        },
    };
    parse(text)
        .map(Some)
        .ok_or_else(|| FilesError::header_wrong(name, text))
}

fn parse(text: &str) -> Option<(u64, Option<u64>)> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let first = first.parse().ok()?;
    if last.is_empty() {
        return Some((first, None));
    }
    let last = last.parse().ok().filter(|last| *last >= first)?;
    Some((first, Some(last)))
}

/// A share holds no more than its quota.
pub(crate) fn room(state: &State, ask: &Ask<'_>, old: u64, new: u64) -> Result<(), FilesError> {
    let (share, _) = shares::find(state, ask)?;
    let used = state
        .contents
        .used(&share.contents)
        .saturating_sub(old)
        .saturating_add(new);
    if new <= old || used <= share.quota.value.saturating_mul(1 << 30) {
        return Ok(());
    }
    Err(FilesError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "ShareSizeLimitReached",
        "The specified share is full.",
    ))
}

pub(crate) fn put(state: &mut State, ask: &Ask<'_>) -> Answer {
    let contents = node::writable(state, ask)?;
    let mut found = node::need(state, ask, Kind::File)?;
    node::leased(ask, &found.facts)?;
    copies::not_pending(&found)?;
    let Some((first, Some(last))) = asked(ask)? else {
        return Err(FilesError::header_missing("x-ms-range"));
    };
    let (length, size) = (last - first + 1, found.found.size.unwrap_or(0));
    if last >= size {
        return Err(FilesError::new(
            StatusCode::RANGE_NOT_SATISFIABLE,
            "InvalidRange",
            "The range specified is invalid for the current size of the resource.",
        ));
    }
    let path = found.found.path.clone();
    match ask.header("x-ms-write").to_ascii_lowercase().as_str() {
        "clear" => state.contents.clear(&contents, &path, first, length)?,
        "update" => {
            if length > MOST {
                return Err(FilesError::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "RequestBodyTooLarge",
                    "The request body is too large and exceeds the maximum permissible limit.",
                ));
            }
            let bytes = match ask.given("x-ms-copy-source") {
                Some(url) => copies::bytes(state, ask, url, length)?,
                None => ask.request.body().to_vec(),
            };
            if u64::try_from(bytes.len()).ok() != Some(length) {
                return Err(FilesError::header_wrong(
                    "content-length",
                    &bytes.len().to_string(),
                ));
            }
            state.contents.write(&contents, &path, first, &bytes)?;
        }
        other => return Err(FilesError::header_wrong("x-ms-write", other)),
    }
    node::touch(state, &mut found.facts);
    node::keep(state, &found);
    Ok(written(StatusCode::CREATED, &found))
}

pub(crate) fn list(state: &mut State, ask: &Ask<'_>) -> Answer {
    let found = node::need(state, ask, Kind::File)?;
    let size = found.found.size.unwrap_or(0);
    let (from, until) = match asked(ask)? {
        None => (0, size),
        Some((first, last)) => (first, last.map_or(size, |last| last + 1)),
    };
    let ranges = state.contents.ranges(&found.contents, &found.found.path)?;
    let mut document = Element::new("Ranges");
    for (first, end) in ranges {
        let (first, end) = (first.max(from), end.min(until));
        if first < end {
            let range = Element::new("Range")
                .text("Start", &first.to_string())
                .text("End", &(end - 1).to_string());
            document = document.child(&range);
        }
    }
    let reply = Reply::new(StatusCode::OK)
        .header("etag", &found.facts.etag)
        .header(
            "last-modified",
            &crate::stamp::http(found.facts.modified_ms),
        )
        .header("x-ms-content-length", &size.to_string());
    Ok(reply.xml(&document))
}
