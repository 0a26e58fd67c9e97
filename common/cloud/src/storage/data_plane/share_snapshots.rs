//! Share snapshots over the file service's own protocol.

use azcsi_types::op::Op;
use azcsi_types::share::{ShareName, SnapshotTime};
use http::Method;

use super::client::Files;
use super::headers::parsed;
use super::request::FilesRequest;
use super::shares::from_headers;
use crate::arm::error::ArmError;
use crate::pipeline::retry::Repeatable;
use crate::storage::share_snapshots::ShareSnapshot;
use crate::storage::shares::{Metadata, ShareFilter};

impl Files {
    /// Takes a snapshot. Each call takes another one, so nothing is sent again when an answer is
    /// lost: look for the metadata first ([`Files::list_share_snapshots`]).
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_not_found`] if the share is absent.
    pub async fn create_share_snapshot(
        &self,
        op: &Op,
        share: &ShareName,
        metadata: &Metadata,
    ) -> Result<SnapshotTime, ArmError> {
        let request = FilesRequest::share(Method::PUT, share)
            .query("comp", "snapshot")
            .repeatable(Repeatable::OnlyIfUnseen)
            .metadata(metadata)?;
        let response = self.send(op, &request).await?;
        parsed(response.headers(), "x-ms-snapshot").ok_or_else(|| {
            ArmError::protocol("Azure took a snapshot, but does not tell its time")
                .during(|| request.name())
        })
    }

    /// Reads a snapshot with its metadata.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_not_found`] if the snapshot or its share is absent.
    pub async fn get_share_snapshot(
        &self,
        op: &Op,
        share: &ShareName,
        time: &SnapshotTime,
    ) -> Result<ShareSnapshot, ArmError> {
        let request = FilesRequest::share(Method::GET, share).query("sharesnapshot", time.as_str());
        let response = self.send(op, &request).await?;
        let mut found = from_headers(share, response.headers());
        found.properties.snapshot_time = Some(time.clone());
        Ok(ShareSnapshot {
            time: time.clone(),
            share: found,
        })
    }

    /// Every snapshot of a share with its metadata, oldest first.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list_share_snapshots(
        &self,
        op: &Op,
        share: &ShareName,
    ) -> Result<Vec<ShareSnapshot>, ArmError> {
        let filter = ShareFilter {
            // The filter is a prefix: other shares may begin the same.
            prefix: Some(share.to_string()),
            snapshots: true,
            ..ShareFilter::default()
        };
        let all = self.list_shares(op, &filter).await?;
        Ok(ShareSnapshot::of_share(share, all))
    }

    /// Deletes one snapshot, never the share. A snapshot that is absent, or whose share is, counts
    /// as deleted.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete_share_snapshot(
        &self,
        op: &Op,
        share: &ShareName,
        time: &SnapshotTime,
    ) -> Result<(), ArmError> {
        let request =
            FilesRequest::share(Method::DELETE, share).query("sharesnapshot", time.as_str());
        self.remove(op, &request).await
    }
}
