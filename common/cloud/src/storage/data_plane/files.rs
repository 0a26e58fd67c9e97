//! Files over the file service's own protocol. Their contents are in `ranges.rs`.

use azcsi_types::op::Op;
use http::{HeaderMap, Method};

use super::client::Files;
use super::copies::CopyState;
use super::headers::{metadata, parsed, text};
use super::request::{FileRef, FilesRequest};
use crate::arm::error::ArmError;
use crate::storage::shares::Metadata;

/// What a file system knows of a file or directory beside its contents. Texts are as Azure writes
/// them and can be sent back; what is absent is Azure's own choice, or stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileAttributes {
    /// SMB: such as `None` or `Archive|ReadOnly`.
    pub attributes: Option<String>,
    /// When it was made.
    pub creation_time: Option<String>,
    /// When its contents were written last.
    pub last_write_time: Option<String>,
    /// When it was changed in any way.
    pub change_time: Option<String>,
    /// SMB: the share's name for its access list.
    pub permission_key: Option<String>,
    /// NFS: mode in octal, such as `0644`.
    pub mode: Option<String>,
    /// NFS: number of the owner.
    pub owner: Option<String>,
    /// NFS: number of the group.
    pub group: Option<String>,
}

/// The headers of [`FileAttributes`].
const ATTRIBUTES: &str = "x-ms-file-attributes";
const CREATION_TIME: &str = "x-ms-file-creation-time";
const LAST_WRITE_TIME: &str = "x-ms-file-last-write-time";
const CHANGE_TIME: &str = "x-ms-file-change-time";
const PERMISSION_KEY: &str = "x-ms-file-permission-key";
const MODE: &str = "x-ms-mode";
const OWNER: &str = "x-ms-owner";
const GROUP: &str = "x-ms-group";

impl FileAttributes {
    pub(super) fn from_headers(map: &HeaderMap) -> Self {
        Self {
            attributes: text(map, ATTRIBUTES),
            creation_time: text(map, CREATION_TIME),
            last_write_time: text(map, LAST_WRITE_TIME),
            change_time: text(map, CHANGE_TIME),
            permission_key: text(map, PERMISSION_KEY),
            mode: text(map, MODE),
            owner: text(map, OWNER),
            group: text(map, GROUP),
        }
    }
}

impl FilesRequest {
    pub(super) fn attributes(self, given: &FileAttributes) -> Self {
        self.header_if(ATTRIBUTES, given.attributes.as_deref())
            .header_if(CREATION_TIME, given.creation_time.as_deref())
            .header_if(LAST_WRITE_TIME, given.last_write_time.as_deref())
            .header_if(CHANGE_TIME, given.change_time.as_deref())
            .header_if(PERMISSION_KEY, given.permission_key.as_deref())
            .header_if(MODE, given.mode.as_deref())
            .header_if(OWNER, given.owner.as_deref())
            .header_if(GROUP, given.group.as_deref())
    }
}

/// What the service tells of a file or directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileProperties {
    /// Size in bytes; 0 for a directory.
    pub size: u64,
    /// Version, quoted.
    pub etag: Option<String>,
    /// RFC 1123 time of the last change.
    pub last_modified: Option<String>,
    /// NFS: `Regular`, `Directory`, `SymLink` and others.
    pub file_type: Option<String>,
    /// Number that the service knows it by.
    pub file_id: Option<String>,
    /// Metadata; keys are in lower case.
    pub metadata: Metadata,
    /// What a file system knows of it.
    pub attributes: FileAttributes,
    /// The last copy that was made to here.
    pub copy: Option<CopyState>,
}

impl FileProperties {
    pub(super) fn from_headers(map: &HeaderMap) -> Self {
        Self {
            size: parsed(map, "content-length").unwrap_or_default(),
            etag: text(map, "etag"),
            last_modified: text(map, "last-modified"),
            file_type: text(map, "x-ms-file-file-type"),
            file_id: text(map, "x-ms-file-id"),
            metadata: metadata(map),
            attributes: FileAttributes::from_headers(map),
            copy: CopyState::from_headers(map),
        }
    }
}

impl Files {
    /// Makes a file of a size, all zeroes. One that exists is replaced.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_parent_not_found`] if its directory is absent.
    pub async fn create_file(
        &self,
        op: &Op,
        at: &FileRef,
        size: u64,
        attributes: &FileAttributes,
    ) -> Result<FileProperties, ArmError> {
        let request = FilesRequest::write(Method::PUT, at)?
            .header("x-ms-type", "file")
            .header("x-ms-content-length", size.to_string())
            .attributes(attributes);
        let response = self.send(op, &request).await?;
        let mut made = FileProperties::from_headers(response.headers());
        made.size = size;
        Ok(made)
    }

    /// Reads what the service tells of a file.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn get_file(&self, op: &Op, at: &FileRef) -> Result<FileProperties, ArmError> {
        let request = FilesRequest::read(Method::HEAD, at);
        let response = self.send(op, &request).await?;
        Ok(FileProperties::from_headers(response.headers()))
    }

    /// Changes size and attributes of a file; what is absent stays as it is.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn set_file_properties(
        &self,
        op: &Op,
        at: &FileRef,
        (size, attributes): (Option<u64>, &FileAttributes),
    ) -> Result<(), ArmError> {
        let request = FilesRequest::write(Method::PUT, at)?
            .query("comp", "properties")
            .header_if("x-ms-content-length", size.map(|size| size.to_string()))
            .attributes(attributes);
        self.send(op, &request).await.map(drop)
    }

    /// Replaces the metadata of a file.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn set_file_metadata(
        &self,
        op: &Op,
        at: &FileRef,
        metadata: &Metadata,
    ) -> Result<(), ArmError> {
        let request = FilesRequest::write(Method::PUT, at)?
            .query("comp", "metadata")
            .metadata(metadata)?;
        self.send(op, &request).await.map(drop)
    }

    /// Deletes a file. One that is absent, or whose directory or share is, counts as deleted.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete_file(&self, op: &Op, at: &FileRef) -> Result<(), ArmError> {
        let request = FilesRequest::write(Method::DELETE, at)?;
        self.remove(op, &request).await
    }
}

#[cfg(test)]
mod tests;
