//! Whether an account is like what is wanted. Every property of an account is looked at here: they
//! are taken apart without a rest, so a new one does not compile until somebody has decided what it
//! means. The same holds for wishes.

use azcsi_cloud::storage::account_body::PrivateEndpointConnection;
use azcsi_cloud::{
    Account, AccountProperties, FileServiceProperties, NetworkAcls, ProvisioningState,
};
use azcsi_types::resource_id::ResourceId;
use azcsi_types::topology::Region;

use super::want::{Exposure, Want};
use crate::model::tags::{self, Tags};

/// The first reason for which an account is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its {0} differs")]
pub struct Mismatch(pub &'static str);

fn same(what: &'static str, holds: bool) -> Result<(), Mismatch> {
    if holds { Ok(()) } else { Err(Mismatch(what)) }
}

/// Compares an account with what is wanted. Marks of full accounts, and its file service, are not
/// looked at.
///
/// # Errors
/// The first difference.
pub fn account(want: &Want, account: &Account) -> Result<(), Mismatch> {
    let Account {
        id,
        name: _,
        location,
        kind,
        sku,
        tags,
        properties,
    } = account;
    let place = id.subscription().eq_ignore_ascii_case(&want.subscription)
        && id
            .resource_group()
            .eq_ignore_ascii_case(&want.resource_group);
    same("place", place)?;
    let region = location.parse::<Region>().ok();
    same("region", region.as_ref() == Some(&want.location))?;
    same("kind", kind.eq_ignore_ascii_case(want.kind))?;
    let named = |wanted: &str| sku.name.eq_ignore_ascii_case(wanted);
    same("SKU", want.sku.is_none_or(|sku| named(sku.as_str())))?;
    owner(want, tags)?;
    settings(want, properties)?;
    exposure(want, account)
}

fn owner(want: &Want, tags: &Tags) -> Result<(), Mismatch> {
    let (key, value) = tags::CREATED_BY;
    let ours = tags::find(tags, key) == Some(value);
    same("maker", want.foreign || ours)?;
    let has = |(key, value): (&String, &String)| tags::find(tags, key) == Some(value.as_str());
    same(
        "tags",
        want.tags.as_ref().is_none_or(|all| all.iter().all(has)),
    )
}

/// What is in the account's own settings, whoever reaches it.
fn settings(want: &Want, properties: &AccountProperties) -> Result<(), Mismatch> {
    let AccountProperties {
        provisioning_state,
        creation_time: _,
        minimum_tls_version,
        supports_https_traffic_only,
        allow_blob_public_access,
        allow_shared_key_access,
        allow_cross_tenant_replication,
        large_file_shares_state: _,
        is_hns_enabled,
        is_nfs_v3_enabled,
        access_tier,
        // In `exposure`.
        public_network_access: _,
        network_acls: _,
        private_endpoint_connections: _,
        // In the two helpers below.
        encryption: _,
        azure_files_identity_based_authentication: _,
        // Addresses and state of the region, no choice of anybody.
        primary_endpoints: _,
        primary_location: _,
        status_of_primary,
    } = properties;
    state((provisioning_state.as_ref(), status_of_primary.as_deref()))?;
    let tls = minimum_tls_version.as_deref().unwrap_or_default();
    same("minimum TLS version", matches!(tls, "TLS1_2" | "TLS1_3"))?;
    let https = supports_https_traffic_only.unwrap_or(true);
    same("secure transfer", https == want.https_only)?;
    let public = allow_blob_public_access.unwrap_or(true);
    same("public access to blobs", public == want.blob_public)?;
    let keys = allow_shared_key_access.unwrap_or(true);
    same("access by key", keys == want.shared_key.unwrap_or(true))?;
    let cross = allow_cross_tenant_replication.unwrap_or_default();
    let wish = |wanted: Option<bool>, found| wanted.is_none_or(|wanted| wanted == found);
    same("cross-tenant replication", wish(want.cross_tenant, cross))?;
    let large = properties.has_large_file_shares();
    same("large file shares", wish(want.large_shares, large))?;
    same("namespace", !is_hns_enabled.unwrap_or_default())?;
    same("NFS of blobs", !is_nfs_v3_enabled.unwrap_or_default())?;
    let tier = access_tier.as_deref().unwrap_or_default();
    let wanted = want
        .access_tier
        .is_none_or(|wanted| tier.eq_ignore_ascii_case(wanted));
    same("access tier", wanted)?;
    let infra = properties.has_infrastructure_encryption();
    let wanted = infra == want.infra_encryption.unwrap_or_default();
    same("infrastructure encryption", wanted)?;
    same(
        "mounting by identity",
        !want.smb_oauth || properties.has_smb_oauth(),
    )
}

/// Whether it can be used at all.
fn state((write, region): (Option<&ProvisioningState>, Option<&str>)) -> Result<(), Mismatch> {
    let ready = write.is_none_or(|state| *state == ProvisioningState::Succeeded);
    same("provisioning state", ready)?;
    same("availability", region != Some("unavailable"))
}

/// Who reaches it: a volume for everybody is not put where only some get, nor the other way round.
fn exposure(want: &Want, account: &Account) -> Result<(), Mismatch> {
    let properties = &account.properties;
    let public = properties
        .public_network_access
        .as_deref()
        .unwrap_or("Enabled");
    let wanted = want
        .public
        .map(|wanted| public.eq_ignore_ascii_case(wanted));
    let open = public.eq_ignore_ascii_case("Enabled");
    let denies = properties.network_acls.as_ref().is_some_and(denies);
    match &want.exposure {
        Exposure::Public => {
            same("public network access", wanted.unwrap_or(open))?;
            same("firewall", !denies)
        }
        // Which subnets get in is compared apart: rules can be added.
        Exposure::Subnets(_) => {
            same("public network access", wanted.unwrap_or(open))?;
            // One that lets nobody in was made for private endpoints, and stays closed.
            let rules = properties.network_acls.as_ref();
            let admits = rules.is_some_and(|acls| !acls.virtual_network_rules.is_empty());
            same("firewall", denies && admits)
        }
        Exposure::Private {
            subscription,
            group,
        } => {
            same("public network access", wanted.unwrap_or(true))?;
            same("firewall", denies || !open)?;
            let name = endpoint_name(account);
            let leads = |connection: &PrivateEndpointConnection| {
                let at = connection.properties.private_endpoint.as_ref();
                at.is_some_and(|at| {
                    at.id.name().eq_ignore_ascii_case(&name)
                        && at.id.resource_group().eq_ignore_ascii_case(group)
                        && at.id.subscription().eq_ignore_ascii_case(subscription)
                })
            };
            let mut connections = properties.private_endpoint_connections.iter();
            // One that was made for this and has no endpoint yet is completed.
            let found = connections.any(leads) || want.made(&account.tags);
            same("private endpoint", found)
        }
    }
}

/// The subnets that the firewall of an account does not let in yet, although they are wanted. An
/// account that a driver made gets them; to another one nothing is added.
#[must_use]
pub fn missing_subnets(want: &Want, account: &Account) -> Vec<ResourceId> {
    match &want.exposure {
        Exposure::Public | Exposure::Private { .. } => Vec::new(),
        Exposure::Subnets(subnets) => {
            let admitted = |subnet: &&ResourceId| account.properties.admits_subnet(subnet);
            let missing = subnets.iter().filter(|subnet| !admitted(subnet));
            missing.cloned().collect()
        }
    }
}

/// Whether a driver made the account, so that its settings may be changed.
#[must_use]
pub fn is_ours(account: &Account) -> bool {
    let (key, value) = tags::CREATED_BY;
    tags::find(&account.tags, key) == Some(value)
}

/// The private endpoint that the driver makes for an account.
#[must_use]
pub fn endpoint_name(account: &Account) -> String {
    format!("{}-pvtendpoint", account.id.name().to_ascii_lowercase())
}

fn denies(acls: &NetworkAcls) -> bool {
    let action = acls.default_action.as_deref();
    action.is_some_and(|action| action.eq_ignore_ascii_case("Deny"))
}

/// Compares the file service of an account with what is wanted.
///
/// # Errors
/// The first difference.
pub fn service(want: &Want, service: &FileServiceProperties) -> Result<(), Mismatch> {
    let on = service.has_multichannel();
    same(
        "multichannel",
        want.multichannel.is_none_or(|wanted| wanted == on),
    )?;
    let gone = !service.keeps_deleted_shares();
    same(
        "retention of deleted shares",
        want.no_retention.is_none_or(|wanted| wanted == gone),
    )
}

#[cfg(test)]
pub(crate) mod tests;
