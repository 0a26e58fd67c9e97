//! Name and body of a new account.
//!
//! The name follows from what is wanted and from how many such accounts there are. So a try that
//! failed half-way, or whose answer was lost, is completed by the next one and leaves no account
//! behind.

use azcsi_cloud::storage::account_body::{AccountEncryption, IdentityBasedAuthentication};
use azcsi_cloud::storage::file_services::{ProtocolSettings, RetentionPolicy, SmbSettings, Switch};
use azcsi_cloud::{
    Account, AccountCreate, AccountSettings, FileServiceProperties, NetworkAcls, ProvisioningState,
    StorageSku, VirtualNetworkRule,
};
use azcsi_types::account::AccountName;
use sha2::{Digest as _, Sha256};

use super::want::{Exposure, Want};
use crate::model::names::hex;
use crate::model::sku::Sku;
use crate::model::tags;

/// Which new account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// The next for this want, counted from 0.
    Next(usize),
    /// One for this volume alone.
    Of(&'a str),
}

/// The name of a new account; `attempt` counts names that somebody else in the world had already.
#[must_use]
pub fn name(want: &Want, which: Which<'_>, attempt: usize) -> Option<AccountName> {
    let text = format!("{}\n{which:?}\n{attempt}", want.digest());
    format!("f{}", hex(&Sha256::digest(text.as_bytes()), 22))
        .parse()
        .ok()
}

/// How many accounts were made for this want already, full or not. One that is still being made, by a
/// process that has ended perhaps, does not count: the next try makes the same one.
#[must_use]
pub fn made(want: &Want, accounts: &[Account]) -> usize {
    let made = accounts.iter().filter(|account| want.made(&account.tags));
    made.filter(|account| is_finished(account)).count()
}

/// Whether Azure has made all of it.
#[must_use]
pub fn is_finished(account: &Account) -> bool {
    let state = account.properties.provisioning_state.as_ref();
    state.is_none_or(|state| *state == ProvisioningState::Succeeded)
}

/// What an account is created with.
#[must_use]
pub fn body(want: &Want) -> AccountCreate {
    let (key, value) = tags::CREATED_BY;
    let mut all = want.new_tags.clone();
    for (key, value) in [(key, value), (tags::MADE_FOR, want.digest().as_str())] {
        all.retain(|there, _| !there.eq_ignore_ascii_case(key));
        all.insert(key.to_owned(), value.to_owned());
    }
    AccountCreate {
        location: want.location.to_string(),
        kind: want.kind.to_owned(),
        sku: StorageSku::named(want.sku.unwrap_or(Sku::STANDARD).as_str()),
        tags: all,
        properties: AccountSettings {
            minimum_tls_version: Some("TLS1_2".to_owned()),
            supports_https_traffic_only: Some(want.https_only),
            allow_blob_public_access: Some(want.blob_public),
            allow_shared_key_access: want.shared_key,
            allow_cross_tenant_replication: want.cross_tenant,
            large_file_shares_state: want.large_shares.and_then(large),
            access_tier: want.access_tier.map(str::to_owned),
            public_network_access: want.public.map(str::to_owned),
            network_acls: firewall(&want.exposure),
            encryption: want.infra_encryption.map(|on| AccountEncryption {
                key_source: Some("Microsoft.Storage".to_owned()),
                require_infrastructure_encryption: Some(on),
                ..AccountEncryption::default()
            }),
            azure_files_identity_based_authentication: want
                .smb_oauth
                .then(IdentityBasedAuthentication::smb_oauth),
        },
    }
}

/// It can be switched on only; off is what it is without a word.
fn large(on: bool) -> Option<String> {
    on.then(|| "Enabled".to_owned())
}

fn firewall(exposure: &Exposure) -> Option<NetworkAcls> {
    let subnets = match exposure {
        Exposure::Public => return None,
        Exposure::Subnets(subnets) => subnets.clone(),
        Exposure::Private { .. } => Vec::new(),
    };
    Some(NetworkAcls {
        default_action: Some("Deny".to_owned()),
        bypass: Some("AzureServices".to_owned()),
        virtual_network_rules: subnets.into_iter().map(VirtualNetworkRule::allow).collect(),
        ..NetworkAcls::default()
    })
}

/// What the file service of a new account is set to; `None` if its defaults will do.
#[must_use]
pub fn service(want: &Want) -> Option<FileServiceProperties> {
    if !want.needs_service() {
        return None;
    }
    Some(FileServiceProperties {
        share_delete_retention_policy: want.no_retention.map(|gone| RetentionPolicy {
            enabled: Some(!gone),
            days: (!gone).then_some(7),
            ..RetentionPolicy::default()
        }),
        protocol_settings: want.multichannel.map(|on| ProtocolSettings {
            smb: Some(SmbSettings {
                multichannel: Some(Switch {
                    enabled: Some(on),
                    ..Switch::default()
                }),
                ..SmbSettings::default()
            }),
            ..ProtocolSettings::default()
        }),
    })
}
