//! File shares through Azure Resource Manager (REST reference, `fileServices/shares`).

use std::collections::BTreeMap;

use azcsi_types::account::AccountUri;
use azcsi_types::op::Op;
use azcsi_types::share::{ShareName, SnapshotTime};
use azcsi_types::size::GiB;
use http::Method;
use serde::{Deserialize, Serialize};

use crate::arm::calls::Put;
use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::environment::ApiFamily;
use crate::wire;

/// Metadata of a share or snapshot. Azure compares keys without regard to case.
pub type Metadata = BTreeMap<String, String>;

/// A share, or a snapshot of one, as Azure answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Share {
    /// Its id, as Azure spells it.
    #[serde(default)]
    pub id: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its version, quoted. Azure does not check it on writes.
    #[serde(default)]
    pub etag: Option<String>,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: ShareProperties,
}

/// `properties` of a share.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShareProperties {
    /// Size in GiB.
    pub share_quota: Option<u32>,
    /// `SMB` or `NFS`; absent means SMB.
    pub enabled_protocols: Option<String>,
    /// `TransactionOptimized`, `Hot`, `Cool` or `Premium`.
    pub access_tier: Option<String>,
    /// `NoRootSquash`, `RootSquash` or `AllSquash`; NFS only.
    pub root_squash: Option<String>,
    /// Metadata; absent in some lists.
    pub metadata: Option<Metadata>,
    /// Provisioned IOPS (v2).
    pub provisioned_iops: Option<u64>,
    /// Provisioned bandwidth in MiB/s (v2).
    pub provisioned_bandwidth_mibps: Option<u64>,
    /// Burst IOPS that are included.
    pub included_burst_iops: Option<u64>,
    /// RFC 1123 or 3339 time from which the size may be lowered.
    pub next_allowed_quota_downgrade_time: Option<String>,
    /// The same of the IOPS.
    pub next_allowed_provisioned_iops_downgrade_time: Option<String>,
    /// The same of the bandwidth.
    pub next_allowed_provisioned_bandwidth_downgrade_time: Option<String>,
    /// Bytes in use; only when it was asked for.
    pub share_usage_bytes: Option<u64>,
    /// Set if this is a snapshot.
    #[serde(deserialize_with = "wire::parsed_option")]
    pub snapshot_time: Option<SnapshotTime>,
    /// Whether it is deleted and only kept.
    #[serde(deserialize_with = "wire::or_default")]
    pub deleted: bool,
    /// When it was deleted.
    pub deleted_time: Option<String>,
    /// How many more days it is kept.
    pub remaining_retention_days: Option<u32>,
    /// Which of several deleted shares of one name.
    pub version: Option<String>,
    /// When it was changed last.
    pub last_modified_time: Option<String>,
    /// `available`, `leased` and others.
    pub lease_state: Option<String>,
}

impl Share {
    /// Its size.
    #[must_use]
    pub fn quota(&self) -> Option<GiB> {
        self.properties.share_quota.map(GiB::new)
    }

    /// Whether it is for NFS.
    #[must_use]
    pub fn is_nfs(&self) -> bool {
        let protocols = self.properties.enabled_protocols.as_deref();
        protocols.is_some_and(|text| text.eq_ignore_ascii_case("NFS"))
    }

    /// A value of its metadata, whatever the case of the key. `None` also if Azure did not tell.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<&str> {
        lookup(self.properties.metadata.as_ref()?, key)
    }
}

/// A value by its key, whatever the key's case.
#[must_use]
pub fn lookup<'a>(metadata: &'a Metadata, key: &str) -> Option<&'a str> {
    let mut pairs = metadata.iter();
    let found = pairs.find(|(name, _)| name.eq_ignore_ascii_case(key));
    found.map(|(_, value)| value.as_str())
}

/// Properties of a new share. What is absent gets the service's own default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShareCreate {
    /// Size in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_quota: Option<u32>,
    /// `SMB` or `NFS`; cannot be changed later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_protocols: Option<String>,
    /// `TransactionOptimized`, `Hot`, `Cool` or `Premium`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_tier: Option<String>,
    /// `NoRootSquash`, `RootSquash` or `AllSquash`; NFS only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_squash: Option<String>,
    /// Provisioned IOPS (v2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned_iops: Option<u64>,
    /// Provisioned bandwidth in MiB/s (v2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned_bandwidth_mibps: Option<u64>,
    /// Metadata.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
}

/// What changes of a share: what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShareUpdate {
    /// New size in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_quota: Option<u32>,
    /// New tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_tier: Option<String>,
    /// New squash; NFS only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_squash: Option<String>,
    /// New IOPS (v2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned_iops: Option<u64>,
    /// New bandwidth in MiB/s (v2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned_bandwidth_mibps: Option<u64>,
    /// The complete new metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// What a delete of a share does with its snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotsToo {
    /// Refuses the delete while there are any; see [`ArmError::has_share_snapshots`].
    No,
    /// Deletes them, unless one is leased.
    Yes,
    /// Deletes them, leased or not.
    EvenLeased,
}

impl SnapshotsToo {
    const fn include(self) -> &'static str {
        match self {
            Self::No => "none",
            Self::Yes => "snapshots",
            Self::EvenLeased => "leased-snapshots",
        }
    }
}

/// Which shares a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareFilter {
    /// Only names that begin so.
    pub prefix: Option<String>,
    /// Also snapshots; they come as entries with a [`ShareProperties::snapshot_time`].
    pub snapshots: bool,
    /// Also shares that are deleted but kept.
    pub deleted: bool,
    /// Entries of one page; Azure's choice if absent.
    pub page_size: Option<u32>,
}

impl ShareFilter {
    /// The live shares, and no snapshot.
    #[must_use]
    pub fn live() -> Self {
        Self::default()
    }

    fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = Vec::new();
        let expand: Vec<&str> = [(self.deleted, "deleted"), (self.snapshots, "snapshots")]
            .into_iter()
            .filter_map(|(wanted, word)| wanted.then_some(word))
            .collect();
        if !expand.is_empty() {
            query.push(("$expand", expand.join(",")));
        }
        if let Some(prefix) = &self.prefix {
            let quoted = prefix.replace('\'', "''");
            query.push(("$filter", format!("startswith(name, '{quoted}')")));
        }
        if let Some(size) = self.page_size {
            query.push(("$maxpagesize", size.to_string()));
        }
        query
    }
}

#[derive(Serialize)]
pub(super) struct Body<T> {
    pub(super) properties: T,
}

/// Calls on shares.
#[derive(Clone, Debug)]
pub struct Shares {
    arm: ArmClient,
}

pub(super) const FAMILY: ApiFamily = ApiFamily::FileShares;

pub(super) fn path_of(account: &AccountUri, share: &ShareName) -> String {
    format!("{account}/fileServices/default/shares/{share}")
}

impl Shares {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Reads a share.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn get(
        &self,
        op: &Op,
        account: &AccountUri,
        share: &ShareName,
    ) -> Result<Share, ArmError> {
        let path = path_of(account, share);
        self.arm.get_with(op, FAMILY, &path, &[]).await
    }

    /// Reads a share with the bytes in use.
    ///
    /// # Errors
    /// As [`Shares::get`].
    pub async fn get_with_usage(
        &self,
        op: &Op,
        account: &AccountUri,
        share: &ShareName,
    ) -> Result<Share, ArmError> {
        let path = path_of(account, share);
        let query = [("$expand", "stats")];
        self.arm.get_with(op, FAMILY, &path, &query).await
    }

    /// Creates a share. If there is one of that name, Azure changes what can be changed and answers
    /// [`Put::Existing`] with an echo of the request, or refuses
    /// ([`ArmError::is_share_already_there`]). So a caller that must not touch the share of
    /// somebody else reads first.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::account_limit`] if the account is full.
    pub async fn create(
        &self,
        op: &Op,
        account: &AccountUri,
        share: &ShareName,
        properties: &ShareCreate,
    ) -> Result<Put<Share>, ArmError> {
        let request = self
            .arm
            .prepare(Method::PUT, FAMILY, &path_of(account, share), &[]);
        let request = request.with_body(&Body { properties })?;
        self.arm.ask_new(op, &request).await
    }

    /// Changes a share. Never creates one.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_downgrade_too_early`] if a value is lowered too soon.
    pub async fn update(
        &self,
        op: &Op,
        account: &AccountUri,
        share: &ShareName,
        properties: &ShareUpdate,
    ) -> Result<Share, ArmError> {
        let request = self
            .arm
            .prepare(Method::PATCH, FAMILY, &path_of(account, share), &[]);
        let request = request.with_body(&Body { properties })?;
        self.arm.ask(op, &request).await
    }

    /// Deletes a share. A share that is absent, or whose account or group is, counts as deleted.
    /// What happens to snapshots is always said: Azure's own default would delete them.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete(
        &self,
        op: &Op,
        account: &AccountUri,
        share: &ShareName,
        snapshots: SnapshotsToo,
    ) -> Result<(), ArmError> {
        let query = [("$include", snapshots.include())];
        let path = path_of(account, share);
        let request = self.arm.prepare(Method::DELETE, FAMILY, &path, &query);
        self.arm.remove(op, &request).await
    }

    /// The shares of an account, over all pages.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list(
        &self,
        op: &Op,
        account: &AccountUri,
        filter: &ShareFilter,
    ) -> Result<Vec<Share>, ArmError> {
        let path = format!("{account}/fileServices/default/shares");
        let query = filter.query();
        let query: Vec<(&str, &str)> = query.iter().map(|(k, v)| (*k, v.as_str())).collect();
        self.arm.list_path(op, FAMILY, &path, &query).await
    }
}

#[cfg(test)]
mod tests;
