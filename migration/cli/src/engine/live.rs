//! Which of its two forms a volume has at the moment. Pure.

use serde_json::Value;

use crate::plan::Item;

/// What stands under the name of a volume.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Live {
    /// Nothing.
    Gone,
    /// The in-tree form.
    Old(Value),
    /// The CSI form that the plan made.
    New(Value),
    /// Something that is neither.
    Stranger(Value),
}

const SOURCES: [&str; 3] = ["/spec/azureDisk", "/spec/azureFile", "/spec/csi"];

/// Tells the forms apart by their source, the part of a volume that nobody can change.
pub(super) fn of(item: &Item, found: Option<Value>) -> Live {
    let Some(volume) = found else {
        return Live::Gone;
    };
    let like = |other: &Value| {
        SOURCES
            .iter()
            .all(|source| volume.pointer(source) == other.pointer(source))
    };
    if like(&item.before.volume) {
        Live::Old(volume)
    } else if like(&item.after.volume) {
        Live::New(volume)
    } else {
        Live::Stranger(volume)
    }
}
