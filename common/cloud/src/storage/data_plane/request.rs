//! One request to the file service, before it is signed.

use std::fmt;

use azcsi_types::share::{ShareName, SnapshotTime};
use bytes::Bytes;
use http::Method;

use super::path::{SharePath, encode};
use crate::arm::error::ArmError;
use crate::pipeline::retry::Repeatable;

/// A file or directory of a share, or of one of its snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileRef {
    /// The share.
    pub share: ShareName,
    /// The snapshot, which can only be read; `None` for the live share.
    pub snapshot: Option<SnapshotTime>,
    /// The path in it.
    pub path: SharePath,
}

impl FileRef {
    /// A path of a live share.
    #[must_use]
    pub const fn live(share: ShareName, path: SharePath) -> Self {
        Self {
            share,
            snapshot: None,
            path,
        }
    }

    /// The same place in another path.
    #[must_use]
    pub fn with_path(&self, path: SharePath) -> Self {
        Self {
            share: self.share.clone(),
            snapshot: self.snapshot.clone(),
            path,
        }
    }

    pub(super) fn url_path(&self) -> String {
        format!("/{}{}", self.share, self.path.encoded())
    }
}

impl fmt::Display for FileRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.share)?;
        if let Some(time) = &self.snapshot {
            write!(f, "@{time}")?;
        }
        if !self.path.is_root() {
            write!(f, "/{}", self.path)?;
        }
        Ok(())
    }
}

/// A request that can be sent any number of times.
pub(super) struct FilesRequest {
    pub(super) method: Method,
    /// Encoded, with a slash in front.
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    pub(super) repeatable: Repeatable,
    /// Whether the service needs the caller's token to read the source of a copy.
    pub(super) lends_token: bool,
}

impl FilesRequest {
    pub(super) fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            repeatable: Repeatable::by_method(&method),
            method,
            path: path.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Bytes::new(),
            lends_token: false,
        }
    }

    /// A request for a share as a whole.
    pub(super) fn share(method: Method, share: &ShareName) -> Self {
        Self::new(method, format!("/{share}")).query("restype", "share")
    }

    /// A request that reads a file or directory.
    pub(super) fn read(method: Method, at: &FileRef) -> Self {
        let mut request = Self::new(method, at.url_path()).keeping_dots();
        if let Some(time) = &at.snapshot {
            request = request.query("sharesnapshot", time.as_str());
        }
        request
    }

    /// A request that changes a file or directory, which no snapshot allows.
    pub(super) fn write(method: Method, at: &FileRef) -> Result<Self, ArmError> {
        if at.snapshot.is_some() {
            return Err(ArmError::invalid("a write to a snapshot").during(|| at.to_string()));
        }
        Ok(Self::new(method, at.url_path()).keeping_dots())
    }

    /// Without this Azure drops dots at the end of names, and two names become one.
    fn keeping_dots(self) -> Self {
        self.header("x-ms-allow-trailing-dot", "true")
    }

    pub(super) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(super) fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a header, if there is a value for it.
    pub(super) fn header_if(self, name: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.header(name, value),
            None => self,
        }
    }

    pub(super) fn body(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }

    /// Lets the service read the source of a copy with the caller's token, if it has one.
    pub(super) const fn lending_token(mut self) -> Self {
        self.lends_token = true;
        self
    }

    pub(super) const fn repeatable(mut self, repeatable: Repeatable) -> Self {
        self.repeatable = repeatable;
        self
    }

    pub(super) fn url(&self, base: &str) -> String {
        let mut url = format!("{base}{}", self.path);
        for (index, (name, value)) in self.query.iter().enumerate() {
            let mark = if index == 0 { '?' } else { '&' };
            url.push_str(&format!("{mark}{name}={}", encode(value)));
        }
        url
    }

    /// Short form for messages, which never holds a signature.
    pub(super) fn name(&self) -> String {
        let comp = self.query.iter().find(|(name, _)| *name == "comp");
        let comp = comp.map_or_else(String::new, |(_, value)| format!(" ({value})"));
        format!("{} files:{}{comp}", self.method, self.path)
    }
}

impl fmt::Debug for FilesRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilesRequest({})", self.name())
    }
}
