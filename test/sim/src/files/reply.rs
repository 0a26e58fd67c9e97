//! Responses of the data plane.

use bytes::Bytes;
use http::StatusCode;

use crate::files::error::FilesError;
use crate::files::xml::Element;

/// What a handler gives back.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) const fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn xml(mut self, document: &Element) -> Self {
        self.body = Bytes::from(document.document());
        self.header("content-type", "application/xml")
    }

    pub(crate) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = Bytes::from(body);
        self
    }
}

pub(crate) type Answer = Result<Reply, FilesError>;
