//! Share snapshots through Azure Resource Manager (REST reference, `fileServices/shares` with
//! `x-ms-snapshot`).
//!
//! The same address names the live share and its snapshots; only a header tells them apart. So
//! every call here demands a [`SnapshotTime`], which cannot be empty.

use azcsi_types::account::AccountUri;
use azcsi_types::op::Op;
use azcsi_types::share::{ShareName, SnapshotTime};
use http::Method;
use serde::Serialize;

use super::shares::{Body, FAMILY, Metadata, Share, ShareFilter, path_of};
use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::arm::request::ArmRequest;
use crate::pipeline::retry::Repeatable;

const SNAPSHOT: &str = "x-ms-snapshot";

/// A snapshot of a share.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareSnapshot {
    /// Its name.
    pub time: SnapshotTime,
    /// The share as it was. [`Share::properties`] may lack the metadata in a list.
    pub share: Share,
}

impl ShareSnapshot {
    /// The snapshots of exactly this share in a list, oldest first.
    pub(super) fn of_share(share: &ShareName, list: Vec<Share>) -> Vec<Self> {
        let mut found: Vec<Self> = list
            .into_iter()
            .filter(|entry| entry.name.eq_ignore_ascii_case(share.as_str()))
            .filter_map(|share| {
                let time = share.properties.snapshot_time.clone()?;
                Some(Self { time, share })
            })
            .collect();
        found.sort_by(|a, b| a.time.cmp(&b.time));
        found
    }
}

#[derive(Serialize)]
struct SnapshotCreate<'a> {
    metadata: &'a Metadata,
}

/// Calls on share snapshots.
#[derive(Clone, Debug)]
pub struct ShareSnapshots {
    arm: ArmClient,
}

impl ShareSnapshots {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Takes a snapshot. Each call takes another one, so nothing is sent again when an answer is
    /// lost: look for the metadata first ([`ShareSnapshots::list`]).
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_not_found`] if the share is absent.
    pub async fn create(
        &self,
        op: &Op,
        account: &AccountUri,
        share: &ShareName,
        metadata: &Metadata,
    ) -> Result<ShareSnapshot, ArmError> {
        let query = [("$expand", "snapshots")];
        let path = path_of(account, share);
        let request = self.arm.prepare(Method::PUT, FAMILY, &path, &query);
        let properties = SnapshotCreate { metadata };
        let request = request
            .repeatable(Repeatable::OnlyIfUnseen)
            .with_body(&Body { properties })?;
        let taken: Share = self.arm.ask(op, &request).await?;
        match taken.properties.snapshot_time.clone() {
            Some(time) => Ok(ShareSnapshot { time, share: taken }),
            None => Err(
                ArmError::protocol("Azure took a snapshot, but does not tell its time")
                    .during(|| request.name()),
            ),
        }
    }

    /// Reads a snapshot with its metadata.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_not_found`] if the snapshot or its share is absent.
    pub async fn get(
        &self,
        op: &Op,
        account: &AccountUri,
        (share, time): (&ShareName, &SnapshotTime),
    ) -> Result<ShareSnapshot, ArmError> {
        let request = self.of(Method::GET, account, share, time);
        let share: Share = self.arm.ask(op, &request).await?;
        let time = time.clone();
        Ok(ShareSnapshot { time, share })
    }

    /// Every snapshot of a share, oldest first.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list(
        &self,
        op: &Op,
        account: &AccountUri,
        share: &ShareName,
    ) -> Result<Vec<ShareSnapshot>, ArmError> {
        let filter = ShareFilter {
            // The filter is a prefix: other shares may begin the same.
            prefix: Some(share.to_string()),
            snapshots: true,
            ..ShareFilter::default()
        };
        let shares = super::shares::Shares::new(self.arm.clone());
        let all = shares.list(op, account, &filter).await?;
        Ok(ShareSnapshot::of_share(share, all))
    }

    /// Deletes one snapshot, never the share. A snapshot that is absent, or whose share, account or
    /// group is, counts as deleted.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete(
        &self,
        op: &Op,
        account: &AccountUri,
        (share, time): (&ShareName, &SnapshotTime),
    ) -> Result<(), ArmError> {
        let request = self.of(Method::DELETE, account, share, time);
        self.arm.remove(op, &request).await
    }

    fn of(
        &self,
        method: Method,
        account: &AccountUri,
        share: &ShareName,
        time: &SnapshotTime,
    ) -> ArmRequest {
        let path = path_of(account, share);
        let request = self.arm.prepare(method, FAMILY, &path, &[]);
        request.with_header(SNAPSHOT, time.as_str())
    }
}

#[cfg(test)]
mod tests;
