//! Copies that the file service makes by itself ("Copy File", REST reference).

use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use http::{HeaderMap, Method};

use super::client::Files;
use super::endpoint::FilesEndpoint;
use super::headers::text;
use super::path::encode;
use super::request::{FileRef, FilesRequest};
use crate::arm::error::ArmError;
use crate::pipeline::retry::Repeatable;

/// The file that is copied.
#[derive(Clone, Debug)]
pub struct CopySource {
    /// The service that it is in.
    pub endpoint: FilesEndpoint,
    /// Where it is.
    pub at: FileRef,
    /// What lets the service read it; not needed in the same account with its key.
    pub sas: Option<Secret>,
}

impl CopySource {
    /// With the signature: for a header, never for a log.
    pub(super) fn url(&self) -> String {
        let mut url = format!("{}{}", self.endpoint.url(), self.at.url_path());
        let mut mark = '?';
        if let Some(time) = &self.at.snapshot {
            url.push_str(&format!("{mark}sharesnapshot={}", encode(time.as_str())));
            mark = '&';
        }
        if let Some(sas) = &self.sas {
            url.push(mark);
            url.push_str(sas.expose().trim_start_matches('?'));
        }
        url
    }
}

/// What a copy takes over beside the contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preserve {
    /// Nothing: the copy is a new file.
    Nothing,
    /// Attributes, times and access list of SMB.
    Smb,
    /// Times, mode and owner of NFS.
    Nfs,
}

impl Preserve {
    const fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Nothing => &[],
            Self::Smb => &[
                ("x-ms-file-permission-copy-mode", "source"),
                ("x-ms-file-attributes", "source"),
                ("x-ms-file-creation-time", "source"),
                ("x-ms-file-last-write-time", "source"),
                ("x-ms-file-change-time", "source"),
            ],
            Self::Nfs => &[
                ("x-ms-file-mode-copy-mode", "source"),
                ("x-ms-file-owner-copy-mode", "source"),
                ("x-ms-file-creation-time", "source"),
                ("x-ms-file-last-write-time", "source"),
            ],
        }
    }
}

/// How far a copy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyStatus {
    /// On its way.
    Pending,
    /// All there.
    Success,
    /// Ended by [`Files::abort_copy`].
    Aborted,
    /// Failed.
    Failed,
    /// A word not known here.
    Other(String),
}

impl From<String> for CopyStatus {
    fn from(text: String) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "pending" => Self::Pending,
            "success" => Self::Success,
            "aborted" => Self::Aborted,
            "failed" => Self::Failed,
            _ => Self::Other(text),
        }
    }
}

/// The last copy that was made to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyState {
    /// Its name.
    pub id: String,
    /// How far it is.
    pub status: CopyStatus,
    /// Bytes copied, and bytes in all.
    pub progress: Option<(u64, u64)>,
    /// Why it failed.
    pub description: Option<String>,
}

impl CopyState {
    pub(super) fn from_headers(map: &HeaderMap) -> Option<Self> {
        let progress = text(map, "x-ms-copy-progress").and_then(|text| {
            let (done, all) = text.split_once('/')?;
            Some((done.parse().ok()?, all.parse().ok()?))
        });
        Some(Self {
            id: text(map, "x-ms-copy-id")?,
            status: text(map, "x-ms-copy-status")?.into(),
            progress,
            description: text(map, "x-ms-copy-status-description"),
        })
    }
}

impl Files {
    /// Has the service copy a file to here. One that exists is replaced. The copy may go on after
    /// the answer: [`Files::get_file`] tells how far it is.
    ///
    /// # Errors
    /// See [`ArmError`]; code `PendingCopyOperation` if another copy to here is running.
    pub async fn start_copy(
        &self,
        op: &Op,
        at: &FileRef,
        (source, preserve): (&CopySource, Preserve),
    ) -> Result<CopyState, ArmError> {
        let mut request = FilesRequest::write(Method::PUT, at)?
            .repeatable(Repeatable::OnlyIfUnseen)
            .header("x-ms-copy-source", source.url())
            .header("x-ms-source-allow-trailing-dot", "true");
        for (name, value) in preserve.headers() {
            request = request.header(*name, *value);
        }
        let response = self.send(op, &request).await?;
        CopyState::from_headers(response.headers()).ok_or_else(|| {
            ArmError::protocol("Azure started a copy, but does not tell its name")
                .during(|| request.name())
        })
    }

    /// Ends a copy that is running; the file is then empty. A copy that has ended already is an
    /// error with code `NoPendingCopyOperation`.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn abort_copy(&self, op: &Op, at: &FileRef, id: &str) -> Result<(), ArmError> {
        let request = FilesRequest::write(Method::PUT, at)?
            .query("comp", "copy")
            .query("copyid", id)
            .header("x-ms-copy-action", "abort");
        self.send(op, &request).await.map(drop)
    }
}

#[cfg(test)]
mod tests;
