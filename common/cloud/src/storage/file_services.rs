//! The file service of a storage account (REST reference, `fileServices`): settings that all shares
//! of the account have in common, and how much of the account is used.

use azcsi_types::account::AccountUri;
use azcsi_types::op::Op;
use http::Method;
use serde::{Deserialize, Serialize};

use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::compute::types::Extra;
use crate::environment::ApiFamily;
use crate::wire;

/// The settings of a file service. Blocks keep what this suite does not know, so that a block that
/// was read can be changed and sent back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileServiceProperties {
    /// Whether deleted shares are kept for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_delete_retention_policy: Option<RetentionPolicy>,
    /// SMB and NFS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_settings: Option<ProtocolSettings>,
}

impl FileServiceProperties {
    /// Whether deleted shares are kept; absent means they are.
    #[must_use]
    pub fn keeps_deleted_shares(&self) -> bool {
        let policy = self.share_delete_retention_policy.as_ref();
        policy.is_none_or(|policy| policy.enabled != Some(false))
    }

    /// Whether SMB multichannel is on.
    #[must_use]
    pub fn has_multichannel(&self) -> bool {
        self.protocol_settings
            .as_ref()
            .and_then(|settings| settings.smb.as_ref()?.multichannel.as_ref())
            .is_some_and(|multichannel| multichannel.enabled == Some(true))
    }
}

/// Soft delete of shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetentionPolicy {
    /// Whether it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// For how many days, 1 to 365.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Settings by protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProtocolSettings {
    /// SMB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smb: Option<SmbSettings>,
    /// NFS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nfs: Option<NfsSettings>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// SMB settings. Lists are text with `;` after each word.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SmbSettings {
    /// Several connections for one mount; premium accounts only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multichannel: Option<Switch>,
    /// Such as `SMB3.0;SMB3.1.1;`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<String>,
    /// Such as `NTLMv2;Kerberos;`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication_methods: Option<String>,
    /// Such as `RC4-HMAC;AES-256;`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kerberos_ticket_encryption: Option<String>,
    /// Such as `AES-256-GCM;`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_encryption: Option<String>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// NFS settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NfsSettings {
    /// Whether clients must encrypt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption_in_transit: Option<Requirement>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Something that is on or off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Switch {
    /// Whether it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Something that is required or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requirement {
    /// Whether it is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Serialize, Deserialize)]
struct FileService {
    #[serde(default, deserialize_with = "wire::or_default")]
    properties: FileServiceProperties,
}

#[derive(Deserialize)]
struct UsageAnswer {
    properties: FileServiceUsage,
}

/// What an account of a provisioned SKU allows and what of it is taken (REST reference,
/// `FileServiceUsage`). Sizes are in GiB, bandwidths in MiB/s.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileServiceUsage {
    /// Limits of the whole account.
    #[serde(deserialize_with = "wire::or_default")]
    pub storage_account_limits: AccountLimits,
    /// Limits of one share.
    #[serde(deserialize_with = "wire::or_default")]
    pub file_share_limits: ShareLimits,
    /// What is recommended for a share by its size.
    #[serde(deserialize_with = "wire::or_default")]
    pub file_share_recommendations: ShareRecommendations,
    /// What is taken.
    #[serde(deserialize_with = "wire::or_default")]
    pub storage_account_usage: AccountUsage,
}

/// Limits of an account.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccountLimits {
    /// Shares.
    pub max_file_shares: Option<u64>,
    /// GiB of all shares.
    #[serde(rename = "maxProvisionedStorageGiB")]
    pub max_provisioned_storage_gib: Option<u64>,
    /// IOPS of all shares.
    #[serde(rename = "maxProvisionedIOPS")]
    pub max_provisioned_iops: Option<u64>,
    /// MiB/s of all shares.
    #[serde(rename = "maxProvisionedBandwidthMiBPerSec")]
    pub max_provisioned_bandwidth: Option<u64>,
}

/// Limits of a share.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShareLimits {
    /// Smallest size in GiB.
    #[serde(rename = "minProvisionedStorageGiB")]
    pub min_provisioned_storage_gib: Option<u64>,
    /// Largest size in GiB.
    #[serde(rename = "maxProvisionedStorageGiB")]
    pub max_provisioned_storage_gib: Option<u64>,
    /// Fewest IOPS.
    #[serde(rename = "minProvisionedIOPS")]
    pub min_provisioned_iops: Option<u64>,
    /// Most IOPS.
    #[serde(rename = "maxProvisionedIOPS")]
    pub max_provisioned_iops: Option<u64>,
    /// Least MiB/s.
    #[serde(rename = "minProvisionedBandwidthMiBPerSec")]
    pub min_provisioned_bandwidth: Option<u64>,
    /// Most MiB/s.
    #[serde(rename = "maxProvisionedBandwidthMiBPerSec")]
    pub max_provisioned_bandwidth: Option<u64>,
}

/// Recommended performance of a share: base + scalar × GiB.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShareRecommendations {
    /// IOPS at any size.
    #[serde(rename = "baseIOPS")]
    pub base_iops: Option<f64>,
    /// IOPS for each GiB.
    pub io_scalar: Option<f64>,
    /// MiB/s at any size.
    #[serde(rename = "baseBandwidthMiBPerSec")]
    pub base_bandwidth: Option<f64>,
    /// MiB/s for each GiB.
    pub bandwidth_scalar: Option<f64>,
}

/// What of an account is taken.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccountUsage {
    /// By shares that are there.
    #[serde(deserialize_with = "wire::or_default")]
    pub live_shares: ShareUsage,
    /// By shares that are deleted but kept; they count against the limits all the same.
    #[serde(deserialize_with = "wire::or_default")]
    pub soft_deleted_shares: ShareUsage,
}

/// What some shares take together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShareUsage {
    /// How many.
    pub file_share_count: u64,
    /// GiB.
    #[serde(rename = "provisionedStorageGiB")]
    pub provisioned_storage_gib: u64,
    /// IOPS.
    #[serde(rename = "provisionedIOPS")]
    pub provisioned_iops: u64,
    /// MiB/s.
    #[serde(rename = "provisionedBandwidthMiBPerSec")]
    pub provisioned_bandwidth: u64,
}

impl FileServiceUsage {
    /// What live and kept shares take together.
    #[must_use]
    pub const fn taken(&self) -> ShareUsage {
        let (a, b) = (
            self.storage_account_usage.live_shares,
            self.storage_account_usage.soft_deleted_shares,
        );
        ShareUsage {
            file_share_count: a.file_share_count.saturating_add(b.file_share_count),
            provisioned_storage_gib: a
                .provisioned_storage_gib
                .saturating_add(b.provisioned_storage_gib),
            provisioned_iops: a.provisioned_iops.saturating_add(b.provisioned_iops),
            provisioned_bandwidth: a
                .provisioned_bandwidth
                .saturating_add(b.provisioned_bandwidth),
        }
    }
}

/// Calls on file services.
#[derive(Clone, Debug)]
pub struct FileServices {
    arm: ArmClient,
}

const FAMILY: ApiFamily = ApiFamily::FileShares;

impl FileServices {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Reads the settings.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_parent_not_found`] if the account is absent.
    pub async fn get(
        &self,
        op: &Op,
        account: &AccountUri,
    ) -> Result<FileServiceProperties, ArmError> {
        let path = format!("{account}/fileServices/default");
        let answer: FileService = self.arm.get_with(op, FAMILY, &path, &[]).await?;
        Ok(answer.properties)
    }

    /// Replaces the blocks that are given and leaves the others. Azure keeps no version here.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn set(
        &self,
        op: &Op,
        account: &AccountUri,
        properties: FileServiceProperties,
    ) -> Result<FileServiceProperties, ArmError> {
        let path = format!("{account}/fileServices/default");
        let request = self.arm.prepare(Method::PUT, FAMILY, &path, &[]);
        let request = request.with_body(&FileService { properties })?;
        let answer: FileService = self.arm.ask(op, &request).await?;
        Ok(answer.properties)
    }

    /// Limits and use of an account of a provisioned v2 SKU; others have no such thing.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn usage(&self, op: &Op, account: &AccountUri) -> Result<FileServiceUsage, ArmError> {
        let path = format!("{account}/fileServices/default/usages/default");
        let answer: UsageAnswer = self.arm.get_with(op, FAMILY, &path, &[]).await?;
        Ok(answer.properties)
    }
}

#[cfg(test)]
mod tests;
