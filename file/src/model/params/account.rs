//! What a StorageClass says of the storage account.

use azcsi_types::account::AccountName;
use azcsi_types::params::{BadParam, ParamMap};
use azcsi_types::topology::Region;

use super::Shape;
use crate::model::protocol::{Protocol, flag, text, word};
use crate::model::sku::Sku;
use crate::model::tags::{self, Tags};
use crate::model::volume_context::account;

/// Which of several accounts that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pick {
    /// The oldest: accounts fill up one after the other.
    Oldest,
    /// One that follows from the volume's name: volumes spread over all.
    Spread,
}

/// What is asked of the account. `None` means that nothing was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountParams {
    /// Exactly this account.
    pub name: Option<AccountName>,
    /// Where it is.
    pub subscription: Option<String>,
    /// Where it is.
    pub resource_group: Option<String>,
    /// Where it is.
    pub location: Option<Region>,
    /// The SKU; for NFS there always is one.
    pub sku: Option<Sku>,
    /// Make a new one for this volume.
    pub create: bool,
    /// Use accounts that no driver made.
    pub foreign: bool,
    /// Only accounts with all of [`AccountParams::tags`].
    pub match_tags: bool,
    /// Tags of a new account.
    pub tags: Tags,
    /// Which of several.
    pub pick: Pick,
    /// Most GiB of all its shares together.
    pub quota: Option<u64>,
    /// `accessTier` of the account.
    pub access_tier: Option<&'static str>,
    /// Large file shares.
    pub large_shares: Option<bool>,
    /// Anonymous blobs.
    pub blob_public: bool,
    /// Whether keys are accepted.
    pub shared_key: Option<bool>,
    /// Replication out of the tenant.
    pub cross_tenant: Option<bool>,
    /// A second layer of encryption.
    pub infra_encryption: Option<bool>,
    /// Whether deleted shares are gone at once.
    pub no_retention: Option<bool>,
    /// SMB multichannel.
    pub multichannel: Option<bool>,
    /// Whether plain traffic is refused.
    pub https_only: bool,
    /// Mounting by identity.
    pub smb_oauth: bool,
}

const TIERS: [(&str, &str); 4] = [
    ("Cold", "Cold"),
    ("Cool", "Cool"),
    ("Hot", "Hot"),
    ("Premium", "Premium"),
];

pub(super) fn take(map: &mut ParamMap, shape: &Shape) -> Result<AccountParams, BadParam> {
    let sku = sku(map, shape)?;
    let name = match map.take("storageAccount") {
        Some(param) if !param.value.trim().is_empty() => Some(account(&param)?),
        _ => None,
    };
    let match_tags = flag(map, "matchTags")?.unwrap_or_default();
    if match_tags && name.is_some() {
        let problem = "chooses among accounts, but storageAccount names one: leave out one of them"
            .to_owned();
        return Err(BadParam::Conflict {
            key: "matchTags",
            problem,
        });
    }
    let pick = match flag(map, "selectRandomMatchingAccount")? {
        Some(true) => Pick::Spread,
        Some(false) | None => Pick::Oldest,
    };
    Ok(AccountParams {
        name,
        subscription: text(map, "subscriptionID"),
        resource_group: text(map, "resourceGroup"),
        location: location(map)?,
        create: flag(map, "createAccount")?.unwrap_or_default(),
        foreign: flag(map, "matchForeignAccounts")?.unwrap_or_default(),
        match_tags,
        tags: tags::take(map)?,
        pick,
        quota: quota(map)?,
        access_tier: word(map, &["accountAccessTier"], &TIERS)?,
        large_shares: flag(map, "enableLargeFileShares")?,
        blob_public: flag(map, "allowBlobPublicAccess")?.unwrap_or_default(),
        shared_key: flag(map, "allowSharedKeyAccess")?,
        cross_tenant: flag(map, "allowCrossTenantReplication")?,
        infra_encryption: flag(map, "requireInfraEncryption")?,
        no_retention: flag(map, "disableDeleteRetentionPolicy")?,
        multichannel: multichannel(map, shape, sku)?,
        https_only: shape.protocol == Protocol::Smb || shape.encrypted,
        smb_oauth: shape.identity.is_some(),
        sku,
    })
}

fn sku(map: &mut ParamMap, shape: &Shape) -> Result<Option<Sku>, BadParam> {
    let param = map.take_any(&["skuName", "storageAccountType"])?;
    let Some(param) = param.filter(|param| !param.value.trim().is_empty()) else {
        return Ok((shape.protocol == Protocol::Nfs).then_some(Sku::PREMIUM));
    };
    let sku = param.one_of(&Sku::words())?;
    if shape.protocol == Protocol::Nfs && !sku.is_premium() {
        return Err(
            param.refuse("for NFS one of Premium_LRS, Premium_ZRS, PremiumV2_LRS, PremiumV2_ZRS")
        );
    }
    Ok(Some(sku))
}

fn location(map: &mut ParamMap) -> Result<Option<Region>, BadParam> {
    match map.take("location") {
        Some(param) if !param.value.trim().is_empty() => {
            param.parse("a region, such as eastus2").map(Some)
        }
        _ => Ok(None),
    }
}

fn quota(map: &mut ParamMap) -> Result<Option<u64>, BadParam> {
    let Some(param) = map.take("accountQuota") else {
        return Ok(None);
    };
    let allowed = "a number of GiB, 100 or more";
    match param.parse::<u64>(allowed)? {
        gib if gib >= 100 && gib <= u64::from(i32::MAX.unsigned_abs()) => Ok(Some(gib)),
        _ => Err(param.refuse(allowed)),
    }
}

fn multichannel(
    map: &mut ParamMap,
    shape: &Shape,
    sku: Option<Sku>,
) -> Result<Option<bool>, BadParam> {
    let wanted = flag(map, "enableMultichannel")?;
    let possible = shape.protocol == Protocol::Smb && sku.is_none_or(Sku::is_premium);
    if wanted == Some(true) && !possible {
        let problem = "needs SMB and a premium skuName".to_owned();
        return Err(BadParam::Conflict {
            key: "enableMultichannel",
            problem,
        });
    }
    Ok(wanted)
}
