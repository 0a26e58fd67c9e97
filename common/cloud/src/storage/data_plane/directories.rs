//! Directories over the file service's own protocol.

use azcsi_types::op::Op;
use http::Method;

use super::client::Files;
use super::files::{FileAttributes, FileProperties};
use super::request::{FileRef, FilesRequest};
use super::shares::PAGE_LIMIT;
use super::xml::Element;
use crate::arm::error::ArmError;
use crate::storage::shares::Metadata;

/// What an entry of a directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// Something that only NFS has, by the name that the service gives it.
    Other(String),
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes, of a file. It may lag behind writes of clients that hold the file open.
    pub size: Option<u64>,
    /// Number that the service knows it by.
    pub file_id: Option<String>,
    /// What a file system knows of it, as far as lists tell.
    pub attributes: FileAttributes,
}

/// A part of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryPage {
    /// Its entries.
    pub entries: Vec<DirectoryEntry>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<String>,
}

impl Files {
    /// Makes a directory.
    ///
    /// # Errors
    /// See [`ArmError`]; code `ResourceAlreadyExists` if there is one.
    pub async fn create_directory(
        &self,
        op: &Op,
        at: &FileRef,
        attributes: &FileAttributes,
    ) -> Result<FileProperties, ArmError> {
        self.create_directory_with(op, at, (attributes, &Metadata::new()))
            .await
    }

    /// Makes a directory that has metadata from the beginning.
    ///
    /// # Errors
    /// See [`ArmError`]; code `ResourceAlreadyExists` if there is one.
    pub async fn create_directory_with(
        &self,
        op: &Op,
        at: &FileRef,
        (attributes, metadata): (&FileAttributes, &Metadata),
    ) -> Result<FileProperties, ArmError> {
        let request = FilesRequest::write(Method::PUT, at)?
            .query("restype", "directory")
            .attributes(attributes)
            .metadata(metadata)?;
        let response = self.send(op, &request).await?;
        Ok(FileProperties::from_headers(response.headers()))
    }

    /// Replaces the metadata of a directory.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn set_directory_metadata(
        &self,
        op: &Op,
        at: &FileRef,
        metadata: &Metadata,
    ) -> Result<(), ArmError> {
        let request = FilesRequest::write(Method::PUT, at)?
            .query("restype", "directory")
            .query("comp", "metadata")
            .metadata(metadata)?;
        self.send(op, &request).await.map(drop)
    }

    /// Reads what the service tells of a directory.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn get_directory(&self, op: &Op, at: &FileRef) -> Result<FileProperties, ArmError> {
        let request = FilesRequest::read(Method::GET, at).query("restype", "directory");
        let response = self.send(op, &request).await?;
        let mut found = FileProperties::from_headers(response.headers());
        found.size = 0;
        Ok(found)
    }

    /// Changes the attributes of a directory; what is absent stays as it is.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn set_directory_properties(
        &self,
        op: &Op,
        at: &FileRef,
        attributes: &FileAttributes,
    ) -> Result<(), ArmError> {
        let request = FilesRequest::write(Method::PUT, at)?
            .query("restype", "directory")
            .query("comp", "properties")
            .attributes(attributes);
        self.send(op, &request).await.map(drop)
    }

    /// Reads one part of a directory, from the beginning or from where the last part ended.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list_directory_page(
        &self,
        op: &Op,
        at: &FileRef,
        from: Option<&str>,
    ) -> Result<DirectoryPage, ArmError> {
        let mut request = FilesRequest::read(Method::GET, at)
            .query("restype", "directory")
            .query("comp", "list")
            .query("include", "Timestamps,Attributes,PermissionKey")
            .header("x-ms-file-extended-info", "true");
        if let Some(marker) = from {
            request = request.query("marker", marker);
        }
        let page = self.read_xml(op, &request).await?;
        let Some(entries) = page.child("Entries") else {
            return Err(
                ArmError::protocol("Azure's list of a directory has no entries")
                    .during(|| request.name()),
            );
        };
        Ok(DirectoryPage {
            entries: entries.children.iter().map(entry).collect(),
            next: page.text_of("NextMarker"),
        })
    }

    /// Reads a whole directory.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list_directory(
        &self,
        op: &Op,
        at: &FileRef,
    ) -> Result<Vec<DirectoryEntry>, ArmError> {
        let mut all = Vec::new();
        let mut from: Option<String> = None;
        for _ in 0..PAGE_LIMIT {
            let page = self.list_directory_page(op, at, from.as_deref()).await?;
            all.extend(page.entries);
            from = page.next;
            if from.is_none() {
                return Ok(all);
            }
        }
        Err(ArmError::protocol("the list of a directory has no end").during(|| at.to_string()))
    }

    /// Deletes a directory, which must be empty. One that is absent counts as deleted.
    ///
    /// # Errors
    /// See [`ArmError`]; code `DirectoryNotEmpty` if it is not empty.
    pub async fn delete_directory(&self, op: &Op, at: &FileRef) -> Result<(), ArmError> {
        // The root is the share, and that is no business of this call.
        if at.path.is_root() {
            return Err(ArmError::invalid("a delete of the root directory"));
        }
        let request = FilesRequest::write(Method::DELETE, at)?.query("restype", "directory");
        self.remove(op, &request).await
    }
}

fn entry(element: &Element) -> DirectoryEntry {
    let nothing = Element::default();
    let inner = element.child("Properties").unwrap_or(&nothing);
    let kind = match element.name.to_ascii_lowercase().as_str() {
        "directory" => EntryKind::Directory,
        "file" => EntryKind::File,
        _ => EntryKind::Other(element.name.clone()),
    };
    DirectoryEntry {
        name: element.text_of("Name").unwrap_or_default(),
        size: inner.parsed("Content-Length"),
        kind,
        file_id: element.text_of("FileId"),
        attributes: FileAttributes {
            attributes: element.text_of("Attributes"),
            creation_time: inner.text_of("CreationTime"),
            last_write_time: inner.text_of("LastWriteTime"),
            change_time: inner.text_of("ChangeTime"),
            permission_key: element.text_of("PermissionKey"),
            ..FileAttributes::default()
        },
    }
}

#[cfg(test)]
mod tests;
