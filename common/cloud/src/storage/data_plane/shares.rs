//! Shares over the file service's own protocol.

use azcsi_types::op::Op;
use azcsi_types::share::ShareName;
use http::{HeaderMap, Method};

use super::client::Files;
use super::headers::{metadata, parsed, text};
use super::request::FilesRequest;
use super::xml::Element;
use crate::arm::error::ArmError;
use crate::storage::shares::{
    Metadata, Share, ShareCreate, ShareFilter, ShareProperties, ShareUpdate, SnapshotsToo,
};

const QUOTA: &str = "x-ms-share-quota";
const TIER: &str = "x-ms-access-tier";
const PROTOCOLS: &str = "x-ms-enabled-protocols";
const SQUASH: &str = "x-ms-root-squash";
const IOPS: &str = "x-ms-share-provisioned-iops";
const BANDWIDTH: &str = "x-ms-share-provisioned-bandwidth-mibps";

/// More pages than any list has; ends a list that leads in a circle.
pub(super) const PAGE_LIMIT: usize = 100_000;

impl Files {
    /// Creates a share. Unlike through Azure Resource Manager, a share that exists is always an
    /// error ([`ArmError::is_share_already_there`]), even if it is the same; with
    /// [`ArmError::is_in_doubt`] it may be the one that this call made.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn create_share(
        &self,
        op: &Op,
        share: &ShareName,
        properties: &ShareCreate,
    ) -> Result<(), ArmError> {
        let request = FilesRequest::share(Method::PUT, share)
            .header_if(QUOTA, properties.share_quota.map(|n| n.to_string()))
            .header_if(PROTOCOLS, properties.enabled_protocols.as_deref())
            .header_if(TIER, properties.access_tier.as_deref())
            .header_if(SQUASH, properties.root_squash.as_deref())
            .header_if(IOPS, properties.provisioned_iops.map(|n| n.to_string()))
            .header_if(
                BANDWIDTH,
                properties
                    .provisioned_bandwidth_mibps
                    .map(|n| n.to_string()),
            )
            .metadata(&properties.metadata)?;
        self.send(op, &request).await.map(drop)
    }

    /// Reads the properties of a share. The bytes in use are another call.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn get_share(&self, op: &Op, share: &ShareName) -> Result<Share, ArmError> {
        let request = FilesRequest::share(Method::GET, share);
        let response = self.send(op, &request).await?;
        Ok(from_headers(share, response.headers()))
    }

    /// How many bytes of a share are in use.
    ///
    /// # Errors
    /// As [`Files::get_share`].
    pub async fn share_usage(&self, op: &Op, share: &ShareName) -> Result<u64, ArmError> {
        let request = FilesRequest::share(Method::GET, share).query("comp", "stats");
        let stats = self.read_xml(op, &request).await?;
        stats.parsed("ShareUsageBytes").ok_or_else(|| {
            ArmError::protocol("Azure's answer does not tell the use of the share")
                .during(|| request.name())
        })
    }

    /// Changes a share: what is absent stays as it is. Metadata is a request of its own, sent after
    /// the other properties.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn update_share(
        &self,
        op: &Op,
        share: &ShareName,
        properties: &ShareUpdate,
    ) -> Result<(), ArmError> {
        let rest = ShareUpdate {
            metadata: None,
            ..properties.clone()
        };
        if rest != ShareUpdate::default() {
            let request = FilesRequest::share(Method::PUT, share)
                .query("comp", "properties")
                .header_if(QUOTA, rest.share_quota.map(|n| n.to_string()))
                .header_if(TIER, rest.access_tier)
                .header_if(SQUASH, rest.root_squash)
                .header_if(IOPS, rest.provisioned_iops.map(|n| n.to_string()))
                .header_if(
                    BANDWIDTH,
                    rest.provisioned_bandwidth_mibps.map(|n| n.to_string()),
                );
            self.send(op, &request).await?;
        }
        match &properties.metadata {
            Some(metadata) => self.set_share_metadata(op, share, metadata).await,
            None => Ok(()),
        }
    }

    /// Replaces the metadata of a share.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn set_share_metadata(
        &self,
        op: &Op,
        share: &ShareName,
        metadata: &Metadata,
    ) -> Result<(), ArmError> {
        let request = FilesRequest::share(Method::PUT, share)
            .query("comp", "metadata")
            .metadata(metadata)?;
        self.send(op, &request).await.map(drop)
    }

    /// Deletes a share. A share that is absent counts as deleted.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::has_share_snapshots`] if they were not to go too.
    pub async fn delete_share(
        &self,
        op: &Op,
        share: &ShareName,
        snapshots: SnapshotsToo,
    ) -> Result<(), ArmError> {
        let include = match snapshots {
            SnapshotsToo::No => None,
            SnapshotsToo::Yes => Some("include"),
            SnapshotsToo::EvenLeased => Some("include-leased"),
        };
        let request =
            FilesRequest::share(Method::DELETE, share).header_if("x-ms-delete-snapshots", include);
        self.remove(op, &request).await
    }

    /// The shares of the account with their metadata, over all pages.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list_shares(&self, op: &Op, filter: &ShareFilter) -> Result<Vec<Share>, ArmError> {
        let mut all = Vec::new();
        let mut marker: Option<String> = None;
        for _ in 0..PAGE_LIMIT {
            let request = list_request(filter, marker.as_deref());
            let page = self.read_xml(op, &request).await?;
            let Some(shares) = page.child("Shares") else {
                return Err(ArmError::protocol("Azure's list of shares has no shares")
                    .during(|| request.name()));
            };
            all.extend(shares.all("Share").map(from_xml));
            marker = page.text_of("NextMarker");
            if marker.is_none() {
                return Ok(all);
            }
        }
        Err(ArmError::protocol("the list of shares has no end"))
    }
}

fn list_request(filter: &ShareFilter, marker: Option<&str>) -> FilesRequest {
    let mut include = vec!["metadata"];
    if filter.snapshots {
        include.push("snapshots");
    }
    if filter.deleted {
        include.push("deleted");
    }
    let mut request = FilesRequest::new(Method::GET, "/")
        .query("comp", "list")
        .query("include", include.join(","));
    if let Some(prefix) = &filter.prefix {
        request = request.query("prefix", prefix);
    }
    if let Some(size) = filter.page_size {
        request = request.query("maxresults", size.to_string());
    }
    if let Some(marker) = marker {
        request = request.query("marker", marker);
    }
    request
}

pub(super) fn from_headers(share: &ShareName, map: &HeaderMap) -> Share {
    Share {
        id: String::new(),
        name: share.to_string(),
        etag: text(map, "etag"),
        properties: ShareProperties {
            share_quota: parsed(map, QUOTA),
            enabled_protocols: text(map, PROTOCOLS),
            access_tier: text(map, TIER),
            root_squash: text(map, SQUASH),
            metadata: Some(metadata(map)),
            provisioned_iops: parsed(map, IOPS),
            provisioned_bandwidth_mibps: parsed(map, BANDWIDTH),
            included_burst_iops: parsed(map, "x-ms-share-included-burst-iops"),
            next_allowed_quota_downgrade_time: text(
                map,
                "x-ms-share-next-allowed-quota-downgrade-time",
            ),
            next_allowed_provisioned_iops_downgrade_time: text(
                map,
                "x-ms-share-next-allowed-provisioned-iops-downgrade-time",
            ),
            next_allowed_provisioned_bandwidth_downgrade_time: text(
                map,
                "x-ms-share-next-allowed-provisioned-bandwidth-downgrade-time",
            ),
            last_modified_time: text(map, "last-modified"),
            lease_state: text(map, "x-ms-lease-state"),
            ..ShareProperties::default()
        },
    }
}

fn from_xml(entry: &Element) -> Share {
    let nothing = Element::default();
    let inner = entry.child("Properties").unwrap_or(&nothing);
    let metadata = entry.child("Metadata").map(|list| {
        let pairs = list.children.iter();
        pairs
            .map(|pair| (pair.name.clone(), pair.value()))
            .collect()
    });
    Share {
        id: String::new(),
        name: entry.text_of("Name").unwrap_or_default(),
        etag: inner.text_of("Etag"),
        properties: ShareProperties {
            share_quota: inner.parsed("Quota"),
            enabled_protocols: inner.text_of("EnabledProtocols"),
            access_tier: inner.text_of("AccessTier"),
            root_squash: inner.text_of("RootSquash"),
            // The list was asked for metadata, so none told is none there.
            metadata: Some(metadata.unwrap_or_default()),
            provisioned_iops: inner.parsed("ProvisionedIops"),
            provisioned_bandwidth_mibps: inner.parsed("ProvisionedBandwidthMiBps"),
            included_burst_iops: inner.parsed("IncludedBurstIops"),
            next_allowed_quota_downgrade_time: inner.text_of("NextAllowedQuotaDowngradeTime"),
            next_allowed_provisioned_iops_downgrade_time: inner
                .text_of("NextAllowedProvisionedIopsDowngradeTime"),
            next_allowed_provisioned_bandwidth_downgrade_time: inner
                .text_of("NextAllowedProvisionedBandwidthDowngradeTime"),
            snapshot_time: entry.parsed("Snapshot"),
            deleted: entry
                .text_of("Deleted")
                .is_some_and(|text| text.eq_ignore_ascii_case("true")),
            deleted_time: inner.text_of("DeletedTime"),
            remaining_retention_days: inner.parsed("RemainingRetentionDays"),
            version: entry.text_of("Version"),
            last_modified_time: inner.text_of("Last-Modified"),
            lease_state: inner.text_of("LeaseState"),
            ..ShareProperties::default()
        },
    }
}

#[cfg(test)]
mod tests;
