//! What is inside a storage account, as Azure answers it and as it is sent.
//!
//! Blocks that have to be sent back whole keep the members that this suite does not know.

use azcsi_types::resource_id::ResourceId;
use serde::{Deserialize, Serialize};

use crate::compute::types::{Extra, ProvisioningState, SubResource, Tags};
use crate::wire;

/// The SKU of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageSku {
    /// Its name, such as `Standard_LRS`.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub name: String,
    /// `Standard` or `Premium`. Read only.
    #[serde(default, skip_serializing)]
    pub tier: Option<String>,
}

impl StorageSku {
    /// The SKU of this name.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            tier: None,
        }
    }
}

/// `properties` of an account. What is absent has the default that the field tells.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccountProperties {
    /// State of the last write; `ResolvingDNS` is one of its own.
    pub provisioning_state: Option<ProvisioningState>,
    /// RFC 3339 time of creation.
    pub creation_time: Option<String>,
    /// Oldest TLS version that is accepted.
    pub minimum_tls_version: Option<String>,
    /// Whether plain traffic is refused; absent means it is.
    pub supports_https_traffic_only: Option<bool>,
    /// Whether anonymous blobs are possible; absent means they are.
    pub allow_blob_public_access: Option<bool>,
    /// Whether account keys are accepted; absent means they are.
    pub allow_shared_key_access: Option<bool>,
    /// Whether replication may leave the tenant; absent means no.
    pub allow_cross_tenant_replication: Option<bool>,
    /// `Enabled` or `Disabled`.
    pub large_file_shares_state: Option<String>,
    /// Whether it has a hierarchical namespace; absent means no.
    pub is_hns_enabled: Option<bool>,
    /// Whether blobs can be mounted over NFS 3; absent means no.
    pub is_nfs_v3_enabled: Option<bool>,
    /// `Hot`, `Cool`, `Cold` or `Premium`.
    pub access_tier: Option<String>,
    /// `Enabled`, `Disabled` or `SecuredByPerimeter`.
    pub public_network_access: Option<String>,
    /// The firewall.
    pub network_acls: Option<NetworkAcls>,
    /// Encryption.
    pub encryption: Option<AccountEncryption>,
    /// Who may mount with an identity.
    pub azure_files_identity_based_authentication: Option<IdentityBasedAuthentication>,
    /// Private endpoints that lead here.
    #[serde(deserialize_with = "wire::or_default")]
    pub private_endpoint_connections: Vec<PrivateEndpointConnection>,
    /// Where its services are.
    #[serde(deserialize_with = "wire::or_default")]
    pub primary_endpoints: Endpoints,
    /// Region of the first copy.
    pub primary_location: Option<String>,
    /// `available` or `unavailable`.
    pub status_of_primary: Option<String>,
}

impl AccountProperties {
    /// Whether infrastructure encryption was asked for when it was made.
    #[must_use]
    pub fn has_infrastructure_encryption(&self) -> bool {
        let encryption = self.encryption.as_ref();
        encryption.is_some_and(|e| e.require_infrastructure_encryption == Some(true))
    }

    /// Whether shares can be mounted over SMB with a token.
    #[must_use]
    pub fn has_smb_oauth(&self) -> bool {
        self.azure_files_identity_based_authentication
            .as_ref()
            .and_then(|auth| auth.smb_oauth_settings.as_ref())
            .is_some_and(|smb| smb.is_smb_oauth_enabled == Some(true))
    }

    /// Whether large file shares are on.
    #[must_use]
    pub fn has_large_file_shares(&self) -> bool {
        let state = self.large_file_shares_state.as_deref();
        state.is_some_and(|state| state.eq_ignore_ascii_case("Enabled"))
    }

    /// Whether the firewall lets a subnet in by name.
    #[must_use]
    pub fn admits_subnet(&self, subnet: &ResourceId) -> bool {
        self.network_acls.as_ref().is_some_and(|acls| {
            let named = |rule: &VirtualNetworkRule| &rule.id == subnet && rule.is_allow();
            acls.virtual_network_rules.iter().any(named)
        })
    }
}

/// Where the services of an account are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Endpoints {
    /// URL of the file service. Its host need not follow from the account's name.
    pub file: Option<String>,
    /// URL of the blob service.
    pub blob: Option<String>,
}

/// The firewall of an account. It is replaced as a whole, so unknown members are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkAcls {
    /// `Allow` or `Deny`, for whom no rule names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_action: Option<String>,
    /// Who is let in anyway, such as `AzureServices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass: Option<String>,
    /// Subnets that are let in.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub virtual_network_rules: Vec<VirtualNetworkRule>,
    /// What this suite does not know, address rules among it.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A subnet that the firewall lets in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VirtualNetworkRule {
    /// The subnet.
    #[serde(deserialize_with = "wire::parsed", serialize_with = "wire::shown")]
    pub id: ResourceId,
    /// `Allow`; absent means the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl VirtualNetworkRule {
    /// A rule that lets a subnet in.
    #[must_use]
    pub fn allow(subnet: ResourceId) -> Self {
        Self {
            id: subnet,
            action: Some("Allow".to_owned()),
            extra: Extra::new(),
        }
    }

    /// Whether it lets its subnet in.
    #[must_use]
    pub fn is_allow(&self) -> bool {
        let action = self.action.as_deref();
        action.is_none_or(|action| action.eq_ignore_ascii_case("Allow"))
    }
}

/// Encryption of an account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountEncryption {
    /// `Microsoft.Storage` or `Microsoft.Keyvault`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_source: Option<String>,
    /// A second layer of encryption; only when the account is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_infrastructure_encryption: Option<bool>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Who may mount with an identity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityBasedAuthentication {
    /// `None`, `AD`, `AADDS` or `AADKERB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_service_options: Option<String>,
    /// Mounting with a token.
    #[serde(
        default,
        rename = "smbOAuthSettings",
        skip_serializing_if = "Option::is_none"
    )]
    pub smb_oauth_settings: Option<SmbOauth>,
    /// Members that this suite does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl IdentityBasedAuthentication {
    /// Mounting with a token and no directory service.
    #[must_use]
    pub fn smb_oauth() -> Self {
        Self {
            directory_service_options: Some("None".to_owned()),
            smb_oauth_settings: Some(SmbOauth {
                is_smb_oauth_enabled: Some(true),
            }),
            extra: Extra::new(),
        }
    }
}

/// Mounting over SMB with a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmbOauth {
    /// Whether it is possible; absent means no.
    #[serde(default, rename = "isSmbOAuthEnabled", alias = "isSmbOauthEnabled")]
    pub is_smb_oauth_enabled: Option<bool>,
}

/// A private endpoint that leads to an account.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PrivateEndpointConnection {
    /// The rest.
    #[serde(deserialize_with = "wire::or_default")]
    pub properties: PrivateEndpointConnectionProperties,
}

/// `properties` of a [`PrivateEndpointConnection`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrivateEndpointConnectionProperties {
    /// The endpoint.
    pub private_endpoint: Option<SubResource>,
    /// Whether it was accepted.
    pub private_link_service_connection_state: Option<ConnectionState>,
}

/// Whether the owner of a service accepted a private endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ConnectionState {
    /// `Pending`, `Approved`, `Rejected` or `Disconnected`.
    pub status: String,
    /// Why.
    pub description: Option<String>,
}

impl ConnectionState {
    /// Whether traffic passes.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.status.eq_ignore_ascii_case("Approved")
    }
}

/// Body that creates an account.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountCreate {
    /// The region.
    pub location: String,
    /// `StorageV2` or `FileStorage`.
    pub kind: String,
    /// The SKU.
    pub sku: StorageSku,
    /// Tags.
    pub tags: Tags,
    /// The rest.
    pub properties: AccountSettings,
}

/// Body that changes an account: what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountUpdate {
    /// The complete new tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
    /// The rest.
    #[serde(skip_serializing_if = "AccountSettings::is_nothing")]
    pub properties: AccountSettings,
}

/// Settings of an account, for a create or an update.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountSettings {
    /// Oldest TLS version to accept, such as `TLS1_2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_tls_version: Option<String>,
    /// Whether to refuse plain traffic; NFS without encryption needs `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_https_traffic_only: Option<bool>,
    /// Whether anonymous blobs are possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_blob_public_access: Option<bool>,
    /// Whether account keys are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_shared_key_access: Option<bool>,
    /// Whether replication may leave the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_cross_tenant_replication: Option<bool>,
    /// `Enabled` or `Disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub large_file_shares_state: Option<String>,
    /// `Hot`, `Cool`, `Cold` or `Premium`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_tier: Option<String>,
    /// `Enabled`, `Disabled` or `SecuredByPerimeter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_network_access: Option<String>,
    /// The whole firewall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_acls: Option<NetworkAcls>,
    /// Encryption; infrastructure encryption only in a create.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption: Option<AccountEncryption>,
    /// Who may mount with an identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure_files_identity_based_authentication: Option<IdentityBasedAuthentication>,
}

impl AccountSettings {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
