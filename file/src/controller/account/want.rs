//! What an account has to be like. Two requests that want the same share everything that is
//! remembered; a difference in any option makes another [`Want`].

use azcsi_types::resource_id::ResourceId;
use azcsi_types::topology::Region;

use crate::model::params::FileParams;
use crate::model::sku::Sku;
use crate::model::tags::{self, Tags};

/// Who reaches the account over the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Exposure {
    /// Everybody who has the key.
    Public,
    /// These subnets.
    Subnets(Vec<ResourceId>),
    /// A private endpoint in this resource group of this subscription.
    Private {
        /// The subscription.
        subscription: String,
        /// The resource group.
        group: String,
    },
}

/// What an account has to be like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Want {
    /// The subscription.
    pub subscription: String,
    /// The resource group.
    pub resource_group: String,
    /// The region.
    pub location: Region,
    /// `StorageV2` or `FileStorage`.
    pub kind: &'static str,
    /// The SKU; `None` for any of the kind.
    pub sku: Option<Sku>,
    /// Also accounts that no driver made.
    pub foreign: bool,
    /// Tags that it has to have.
    pub tags: Option<Tags>,
    /// Tags of a new one.
    pub new_tags: Tags,
    /// Who reaches it.
    pub exposure: Exposure,
    /// `publicNetworkAccess`, if it is said.
    pub public: Option<&'static str>,
    /// Whether plain traffic is refused.
    pub https_only: bool,
    /// Whether anonymous blobs are possible.
    pub blob_public: bool,
    /// Whether keys are accepted; `None` for the service's default, which is yes.
    pub shared_key: Option<bool>,
    /// Whether replication may leave the tenant, if it is said.
    pub cross_tenant: Option<bool>,
    /// A second layer of encryption; `None` for the service's default, which is no.
    pub infra_encryption: Option<bool>,
    /// Large file shares, if it is said.
    pub large_shares: Option<bool>,
    /// The tier, if it is said.
    pub access_tier: Option<&'static str>,
    /// Whether it must allow mounts by identity.
    pub smb_oauth: bool,
    /// SMB multichannel, if it is said.
    pub multichannel: Option<bool>,
    /// Whether deleted shares are gone at once, if it is said.
    pub no_retention: Option<bool>,
}

/// Where accounts are unless a class says otherwise.
#[derive(Clone, Debug)]
pub struct Home<'a> {
    /// The subscription.
    pub subscription: &'a str,
    /// The resource group.
    pub resource_group: &'a str,
    /// The region.
    pub location: &'a Region,
}

impl Want {
    /// What the parameters of a class ask for.
    #[must_use]
    pub fn new(params: &FileParams, home: &Home<'_>, exposure: Exposure) -> Self {
        let account = &params.account;
        let or =
            |said: &Option<String>, home: &str| said.clone().unwrap_or_else(|| home.to_owned());
        Self {
            subscription: or(&account.subscription, home.subscription),
            resource_group: or(&account.resource_group, home.resource_group),
            location: account
                .location
                .clone()
                .unwrap_or_else(|| home.location.clone()),
            kind: account.sku.unwrap_or(Sku::STANDARD).kind(),
            sku: account.sku,
            foreign: account.foreign,
            tags: account.match_tags.then(|| account.tags.clone()),
            new_tags: account.tags.clone(),
            exposure,
            public: params.network.public,
            https_only: account.https_only,
            blob_public: account.blob_public,
            shared_key: account.shared_key,
            cross_tenant: account.cross_tenant,
            infra_encryption: account.infra_encryption,
            large_shares: account.large_shares,
            access_tier: account.access_tier,
            smb_oauth: account.smb_oauth,
            multichannel: account.multichannel,
            no_retention: account.no_retention,
        }
    }

    /// Whether the settings of the account's file service count: they cost a request.
    #[must_use]
    pub const fn needs_service(&self) -> bool {
        self.multichannel.is_some() || self.no_retention.is_some()
    }

    /// A short text that is the same for the same want, on every machine: a tag's value. Subnets come
    /// and go without making it another account.
    #[must_use]
    pub fn digest(&self) -> String {
        use sha2::{Digest as _, Sha256};
        let mut lasting = self.clone();
        if let Exposure::Subnets(subnets) = &mut lasting.exposure {
            subnets.clear();
        }
        crate::model::names::hex(&Sha256::digest(format!("{lasting:?}").as_bytes()), 16)
    }

    /// Whether an account was made for this want.
    #[must_use]
    pub fn made(&self, tags: &Tags) -> bool {
        tags::find(tags, tags::MADE_FOR) == Some(self.digest().as_str())
    }
}
