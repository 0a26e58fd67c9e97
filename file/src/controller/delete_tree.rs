//! Deletes the directory of a volume with all that is in it.
//!
//! Nothing is held but one path down the tree, a page of directories for each of its levels. The
//! directory's record goes last, so a delete that was cut off is taken up by the next call. No link is
//! followed: the service deletes the link. The directory of another volume, which somebody moved in
//! here, stops it.

use azcsi_cloud::storage::data_plane::{
    DirectoryEntry, EntryKind, FileAttributes, FileRef, SharePath,
};
use azcsi_cloud::{ArmError, Files};
use azcsi_types::op::Op;
use futures_util::stream::{self, TryStreamExt as _};

use super::directory::look;
use super::error::ControllerError;

/// Files that are deleted at once.
const AT_ONCE: usize = 16;

/// A directory on the way down the tree.
struct Level {
    at: FileRef,
    /// Directories of the last page that are still to be deleted.
    below: Vec<String>,
    /// The first entry of the last page: a delete that does not take it away is not repeated forever.
    first: Option<String>,
}

impl Level {
    const fn new(at: FileRef) -> Self {
        Self {
            at,
            below: Vec::new(),
            first: None,
        }
    }
}

/// Deletes a directory and everything in it.
///
/// # Errors
/// The first entry that cannot be deleted. What is gone is gone; the next call goes on.
pub(super) async fn delete(files: &Files, op: &Op, root: &FileRef) -> Result<(), ControllerError> {
    let mut way = vec![Level::new(root.clone())];
    while let Some(level) = way.last_mut() {
        if let Some(name) = level.below.pop() {
            let at = child(&level.at, &name)?;
            stop_at_volume(files, op, &at).await?;
            way.push(Level::new(at));
            continue;
        }
        let entries = first_page(files, op, &level.at).await?;
        let Some(first) = entries.first().map(|entry| entry.name.clone()) else {
            let at = level.at.clone();
            remove_directory(files, op, &at).await?;
            way.pop();
            continue;
        };
        if level.first.as_ref() == Some(&first) {
            let text = format!("{}/{first} is still there after its delete", level.at);
            return Err(ControllerError::Going(text));
        }
        level.first = Some(first);
        level.below = delete_files(files, op, (&level.at, entries)).await?;
    }
    Ok(())
}

/// The first entries of a directory. Azure may answer with a page that has none, and a mark of where
/// the next one begins.
async fn first_page(
    files: &Files,
    op: &Op,
    at: &FileRef,
) -> Result<Vec<DirectoryEntry>, ControllerError> {
    let mut from: Option<String> = None;
    loop {
        let page = match files.list_directory_page(op, at, from.as_deref()).await {
            Ok(page) => page,
            Err(error) if error.absence().is_some() => return Ok(Vec::new()),
            Err(error) => return Err(failed("reading", at, error)),
        };
        if !page.entries.is_empty() || page.next.is_none() || page.next == from {
            return Ok(page.entries);
        }
        from = page.next;
    }
}

/// Deletes what is no directory; answers with the directories.
async fn delete_files(
    files: &Files,
    op: &Op,
    (at, entries): (&FileRef, Vec<DirectoryEntry>),
) -> Result<Vec<String>, ControllerError> {
    let (mut below, mut others) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.kind {
            EntryKind::Directory => below.push(entry.name),
            EntryKind::File | EntryKind::Other(_) => others.push(child(at, &entry.name)?),
        }
    }
    stream::iter(others.into_iter().map(Ok))
        .try_for_each_concurrent(
            AT_ONCE,
            |at| async move { remove_file(files, op, &at).await },
        )
        .await?;
    Ok(below)
}

async fn remove_file(files: &Files, op: &Op, at: &FileRef) -> Result<(), ControllerError> {
    let mut done = files.delete_file(op, at).await;
    if done.as_ref().is_err_and(is_read_only) {
        let cleared = files.set_file_properties(op, at, (None, &writable())).await;
        cleared.map_err(|error| failed("clearing the read-only attribute of", at, error))?;
        done = files.delete_file(op, at).await;
    }
    done.map_err(|error| failed("deleting", at, error))
}

async fn remove_directory(files: &Files, op: &Op, at: &FileRef) -> Result<(), ControllerError> {
    let mut done = files.delete_directory(op, at).await;
    if done.as_ref().is_err_and(is_read_only) {
        let cleared = files.set_directory_properties(op, at, &writable()).await;
        cleared.map_err(|error| failed("clearing the read-only attribute of", at, error))?;
        done = files.delete_directory(op, at).await;
    }
    match done {
        Ok(()) => Ok(()),
        Err(error) if error.has_code("DirectoryNotEmpty") => Err(ControllerError::Going(format!(
            "something was written into {at} while it was deleted"
        ))),
        Err(error) => Err(failed("deleting", at, error)),
    }
}

fn is_read_only(error: &ArmError) -> bool {
    error.has_code("ReadOnlyAttribute")
}

fn writable() -> FileAttributes {
    FileAttributes {
        attributes: Some("None".to_owned()),
        ..FileAttributes::default()
    }
}

async fn stop_at_volume(files: &Files, op: &Op, at: &FileRef) -> Result<(), ControllerError> {
    match look(files, op, at).await? {
        Some(Some(record)) => Err(ControllerError::State(format!(
            "{at} is the directory of volume {}: move it out of the volume that is deleted",
            record.volume
        ))),
        Some(None) | None => Ok(()),
    }
}

fn child(at: &FileRef, name: &str) -> Result<FileRef, ControllerError> {
    let path: Result<SharePath, _> = at.path.join(name);
    path.map(|path| at.with_path(path))
        .map_err(|error| ControllerError::State(error.to_string()))
}

fn failed(doing: &str, at: &FileRef, error: ArmError) -> ControllerError {
    ControllerError::azure(format!("{doing} {at}"), error)
}
