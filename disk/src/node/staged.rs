//! What is written down about a volume while it is staged.

use super::Node;
use super::error::NodeError;
use super::record::{Intent, Record};
use super::stage_request::Request;

/// Takes back the word that a filesystem is being made, before anybody may write to the volume. That
/// word is a right to overwrite what is on the disk, so here a record that cannot be written counts.
pub(super) fn end_formatting(
    node: &Node,
    request: &Request,
    record: impl FnOnce() -> Record,
) -> Result<(), NodeError> {
    let key = request.volume.key();
    match node.records.get(&key) {
        Some(earlier) if earlier.intent == Intent::Formatting => {
            let written = node.records.put(&key, record());
            written.map_err(|error| {
                NodeError::io("writing the record", request.volume.as_str(), error)
            })
        }
        _ => Ok(()),
    }
}

/// Writes a record that only makes later checks easier.
pub(super) fn remember(node: &Node, request: &Request, record: Record) {
    if let Err(error) = node.records.put(&request.volume.key(), record) {
        tracing::warn!(
            error = azcsi_types::fault::report(&error),
            "a record was not written"
        );
    }
}
