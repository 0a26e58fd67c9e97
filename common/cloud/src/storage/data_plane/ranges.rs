//! The contents of files over the file service's own protocol.

use std::ops::Range;

use azcsi_types::op::Op;
use bytes::Bytes;
use http::{Method, StatusCode};

use super::client::Files;
use super::copies::CopySource;
use super::request::{FileRef, FilesRequest};
use super::xml::Element;
use crate::arm::error::ArmError;

/// Most bytes of one write ("Put Range", REST reference).
pub const RANGE_LIMIT: u64 = 4 * 1024 * 1024;

/// A part of another file that is to be written by the service itself.
#[derive(Clone, Debug)]
pub struct RangeSource {
    /// The file.
    pub file: CopySource,
    /// Where the part begins in it.
    pub offset: u64,
}

impl Files {
    /// Writes bytes into a file, within its size.
    ///
    /// # Errors
    /// See [`ArmError`]; nothing is sent if there are no bytes or more than [`RANGE_LIMIT`].
    pub async fn put_range(
        &self,
        op: &Op,
        at: &FileRef,
        offset: u64,
        bytes: Bytes,
    ) -> Result<(), ArmError> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let range = header(&checked(offset, length, RANGE_LIMIT)?);
        let request = FilesRequest::write(Method::PUT, at)?
            .query("comp", "range")
            .header("x-ms-range", range)
            .header("x-ms-write", "update")
            .header("content-type", "application/octet-stream")
            .body(bytes);
        self.send(op, &request).await.map(drop)
    }

    /// Has the service write a part of another file into a file, within its size. The service reads
    /// the other file with its signature, or with the caller's token if it has one.
    ///
    /// # Errors
    /// As [`Files::put_range`].
    pub async fn put_range_from(
        &self,
        op: &Op,
        at: &FileRef,
        (offset, length): (u64, u64),
        source: &RangeSource,
    ) -> Result<(), ArmError> {
        let range = header(&checked(offset, length, RANGE_LIMIT)?);
        let from = header(&checked(source.offset, length, RANGE_LIMIT)?);
        let mut request = FilesRequest::write(Method::PUT, at)?
            .query("comp", "range")
            .header("x-ms-range", range)
            .header("x-ms-source-range", from)
            .header("x-ms-write", "update")
            .header("x-ms-copy-source", source.file.url())
            .header("x-ms-source-allow-trailing-dot", "true");
        // The service hands the token on to the source's host.
        if source.file.sas.is_none() && self.endpoint().is_beside(&source.file.endpoint) {
            request = request.lending_token();
        }
        self.send(op, &request).await.map(drop)
    }

    /// Makes a part of a file zeroes that take no space where it covers whole blocks.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn clear_range(
        &self,
        op: &Op,
        at: &FileRef,
        range: Range<u64>,
    ) -> Result<(), ArmError> {
        let length = range.end.saturating_sub(range.start);
        let request = FilesRequest::write(Method::PUT, at)?
            .query("comp", "range")
            .header(
                "x-ms-range",
                header(&checked(range.start, length, u64::MAX)?),
            )
            .header("x-ms-write", "clear");
        self.send(op, &request).await.map(drop)
    }

    /// Reads a part of a file. Fewer bytes come back where the file ends within it.
    ///
    /// # Errors
    /// See [`ArmError`]; code `InvalidRange` if the file ends before it.
    pub async fn get_range(
        &self,
        op: &Op,
        at: &FileRef,
        range: Range<u64>,
    ) -> Result<Bytes, ArmError> {
        let length = range.end.saturating_sub(range.start);
        let wanted = checked(range.start, length, u64::MAX)?;
        let request = FilesRequest::read(Method::GET, at).header("x-ms-range", header(&wanted));
        let response = self.send(op, &request).await?;
        let got = u64::try_from(response.body().len()).unwrap_or(u64::MAX);
        if response.status() != StatusCode::PARTIAL_CONTENT || got > length {
            return Err(
                ArmError::protocol("Azure answered with another part of the file")
                    .during(|| request.name()),
            );
        }
        Ok(response.into_body())
    }

    /// Which parts of a file hold data, in order; what is between them is zeroes.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list_ranges(&self, op: &Op, at: &FileRef) -> Result<Vec<Range<u64>>, ArmError> {
        let request = FilesRequest::read(Method::GET, at).query("comp", "rangelist");
        let list = self.read_xml(op, &request).await?;
        let ranges: Option<Vec<Range<u64>>> = list.all("Range").map(part).collect();
        ranges.ok_or_else(|| {
            ArmError::protocol("Azure's list of ranges is not understood").during(|| request.name())
        })
    }
}

/// The service counts with the last byte included.
fn part(element: &Element) -> Option<Range<u64>> {
    let from: u64 = element.parsed("Start")?;
    let last: u64 = element.parsed("End")?;
    (from <= last).then_some(from..last.checked_add(1)?)
}

fn checked(offset: u64, length: u64, limit: u64) -> Result<Range<u64>, ArmError> {
    match offset.checked_add(length) {
        Some(end) if length > 0 && length <= limit => Ok(offset..end),
        _ => Err(ArmError::invalid(&format!(
            "a range of {length} bytes from {offset}"
        ))),
    }
}

/// `range` is not empty.
fn header(range: &Range<u64>) -> String {
    format!("bytes={}-{}", range.start, range.end.saturating_sub(1))
}

#[cfg(test)]
mod tests;
