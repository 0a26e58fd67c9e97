//! What the service keeps of a file or directory beside its contents. A file that came over SMB or
//! NFS has none, and then shows the defaults.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A copy into a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Copy {
    /// Its id.
    pub id: String,
    /// From where.
    pub source: String,
    /// `pending`, `success`, `aborted` or `failed`.
    pub status: String,
    /// Why it failed.
    pub why: String,
    /// Bytes of the source.
    pub total: u64,
    /// Instant at which it began and at which it ends, on the axis of the clock.
    pub from: std::time::Duration,
    /// See there.
    pub until: std::time::Duration,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// Contents and path of the source, when it is in this world.
    pub place: Option<(String, String)>,
}

/// Facts of a file or directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Quoted.
    pub etag: String,
    /// When it was last changed, in milliseconds since 1970.
    pub modified_ms: u64,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// Metadata.
    pub metadata: BTreeMap<String, String>,
    /// Headers of its content by their name: `content-type` and so on.
    pub headers: BTreeMap<String, String>,
    /// SMB or NFS properties by the name of their header.
    pub properties: BTreeMap<String, String>,
    /// The last copy into it.
    pub copy: Option<Copy>,
    /// Who has it leased.
    #[serde(default)]
    pub lease: Option<String>,
}

/// The key of the facts of a path in the contents of a share.
#[must_use]
pub fn key(contents: &str, path: &str) -> String {
    format!("{contents}/{}", path.to_lowercase())
}
