//! Whose credentials a mount uses. Pure: what the volume says in, a plan out.

use std::collections::HashMap;

use azcsi_types::secret::Secret;
use serde::Deserialize;

use super::ports::{Identity, KeyOf, Login, SecretRef};
use super::share::Share;
use crate::model::protocol::{IdentityMount, Protocol};
use crate::model::volume_context::VolumeContext;

/// The audience that tokens of service accounts are exchanged under.
const AUDIENCE: &str = "api://AzureADTokenExchange";
const TOKENS: &str = "csi.storage.k8s.io/serviceAccount.tokens";

/// What kubelet hands over in the field `secrets`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handed {
    /// The login.
    pub login: Option<Login>,
    /// Tokens of the service account, JSON by audience.
    pub tokens: Option<Secret>,
}

/// Why credentials cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCredentials {
    /// A Secret has one half of a login.
    #[error("the Secret has {0} but not {1}")]
    Half(&'static str, &'static str),
    /// Nothing names the identity.
    #[error(
        "{0} needs the attribute clientID, or a user-assigned identity in the cloud configuration"
    )]
    NoIdentity(&'static str),
    /// Nothing names the account.
    #[error(
        "nothing names the storage account: not the volume id, not storageAccount, not a Secret"
    )]
    NoAccount,
    /// Two things that exclude each other.
    #[error("{0}")]
    Conflict(&'static str),
    /// The token of the service account is not as Kubernetes writes it.
    #[error("the service account tokens hold none for the audience {AUDIENCE}")]
    NoToken,
}

const NAMES: [&str; 2] = ["azurestorageaccountname", "accountname"];
const KEYS: [&str; 2] = ["azurestorageaccountkey", "accountkey"];

/// Reads the login of a Secret. Space around a value, such as the line end that `echo` adds, is not
/// part of it.
///
/// # Errors
/// When only one half is there.
pub fn login_of<'a>(
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Option<Login>, BadCredentials> {
    let (mut user, mut key) = (None, None);
    for (name, value) in pairs {
        let value = value.trim();
        let is = |names: [&str; 2]| names.iter().any(|n| name.eq_ignore_ascii_case(n));
        if value.is_empty() {
            continue;
        }
        if is(NAMES) {
            user = Some(value.to_owned());
        } else if is(KEYS) {
            key = Some(Secret::new(value));
        }
    }
    match (user, key) {
        (Some(user), Some(key)) => Ok(Some(Login { user, key })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(BadCredentials::Half("an account name", "an account key")),
        (None, Some(_)) => Err(BadCredentials::Half("an account key", "an account name")),
    }
}

impl Handed {
    /// Reads the field.
    ///
    /// # Errors
    /// When only one half of a login is there.
    pub fn decode(map: HashMap<String, String>) -> Result<Self, BadCredentials> {
        let pairs = map
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        let login = login_of(pairs)?;
        let tokens = map.get(TOKENS).filter(|text| !text.is_empty());
        let tokens = tokens.map(Secret::new);
        for value in map.into_values() {
            drop(Secret::new(value));
        }
        Ok(Self { login, tokens })
    }
}

/// Where credentials come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// There are none: NFS.
    Nobody,
    /// Kubelet has handed them over.
    Given(Login),
    /// A Secret; without it the node's identity, where that is allowed.
    Secret {
        /// Which; `None` while nothing names it or the account.
        at: SecretRef,
        /// Whose key is fetched when there is no such Secret.
        instead: Option<KeyOf>,
    },
    /// The account's key, fetched by the pod's identity.
    Fetched {
        /// Which.
        of: KeyOf,
        /// By whom.
        by: Identity,
    },
    /// A Kerberos ticket.
    Ticket(TicketBy),
}

/// Who asks for a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketBy {
    /// An identity.
    Identity(Identity),
    /// Whoever got the token in a Secret.
    Secret(SecretRef),
}

/// Whether the volume is mounted with the token of a service account, which kubelet hands over at
/// publish only.
#[must_use]
pub fn needs_pod(context: &VolumeContext) -> bool {
    if context.protocol == Some(Protocol::Nfs) {
        return false;
    }
    match context.identity.mount {
        Some(IdentityMount::Workload) => true,
        Some(IdentityMount::Managed | IdentityMount::Token) => false,
        None => context.identity.client_id.is_some(),
    }
}

/// The tokens, from wherever kubelet puts them.
#[must_use]
pub fn tokens<'a>(context: &'a VolumeContext, handed: &'a Handed) -> Option<&'a Secret> {
    handed.tokens.as_ref().or(context.pod.tokens.as_ref())
}

#[derive(Deserialize)]
struct TokenEntry {
    token: String,
}

/// The token for Azure among those of a service account.
///
/// # Errors
/// When there is none.
pub fn pod_token(tokens: &Secret) -> Result<Secret, BadCredentials> {
    // The error of the parser could quote the text.
    let all: HashMap<String, TokenEntry> =
        serde_json::from_str(tokens.expose()).map_err(|_| BadCredentials::NoToken)?;
    let mut found = None;
    for (audience, entry) in all {
        let token = Secret::new(entry.token);
        if audience == AUDIENCE && !token.is_empty() {
            found = Some(token);
        }
    }
    found.ok_or(BadCredentials::NoToken)
}

/// Decides. `own` is the user-assigned identity of the node.
///
/// # Errors
/// For contradictions, and when nobody names the account or the identity.
pub fn plan(
    share: &Share,
    context: &VolumeContext,
    handed: &Handed,
    own: Option<&str>,
) -> Result<Plan, BadCredentials> {
    let needs_key = context.create_folder && share.folder.is_some();
    if share.protocol == Protocol::Nfs && !needs_key {
        return if context.identity.mount.is_some() {
            Err(BadCredentials::Conflict(
                "NFS has no identity mounts: use protocol smb",
            ))
        } else {
            Ok(Plan::Nobody)
        };
    }
    if let Some(mount) = context.identity.mount {
        return ticket(mount, share, context, (handed, own)).map(Plan::Ticket);
    }
    let key_of = || {
        share.account.clone().map(|account| KeyOf {
            subscription: share.subscription.clone(),
            resource_group: share.resource_group.clone(),
            account,
            latest: context.key.latest,
        })
    };
    if context.identity.client_id.is_some() {
        let of = key_of().ok_or(BadCredentials::NoAccount)?;
        let by = workload(context, handed, own)?;
        return Ok(Plan::Fetched { of, by });
    }
    if let Some(login) = &handed.login {
        return Ok(Plan::Given(login.clone()));
    }
    let account = share.account.as_ref();
    let name = context.key.secret.clone();
    let name = name
        .or_else(|| account.map(|account| format!("azure-storage-account-{account}-secret")))
        .ok_or(BadCredentials::NoAccount)?;
    Ok(Plan::Secret {
        at: SecretRef {
            namespace: namespace(share, context),
            name,
        },
        instead: key_of().filter(|_| !context.key.only_secret),
    })
}

/// The attribute wins even when it is empty; then the claim's namespace counts.
fn namespace(share: &Share, context: &VolumeContext) -> String {
    let said = context.key.namespace.clone().or(share.namespace.clone());
    said.filter(|namespace| !namespace.is_empty())
        .or_else(|| context.claim.namespace.clone())
        .unwrap_or_else(|| "default".to_owned())
}

fn ticket(
    mount: IdentityMount,
    share: &Share,
    context: &VolumeContext,
    (handed, own): (&Handed, Option<&str>),
) -> Result<TicketBy, BadCredentials> {
    match mount {
        IdentityMount::Managed => {
            let client = context.identity.client_id.as_deref().or(own);
            let client = client.ok_or(BadCredentials::NoIdentity("mountWithManagedIdentity"))?;
            Ok(TicketBy::Identity(Identity::Managed(client.to_owned())))
        }
        IdentityMount::Workload => workload(context, handed, own).map(TicketBy::Identity),
        IdentityMount::Token => {
            if context.create_folder && share.folder.is_some() {
                return Err(BadCredentials::Conflict(
                    "createFolderIfNotExist needs the account's key, which mountWithOAuthToken has not",
                ));
            }
            let name = context.key.secret.clone();
            let name = name.ok_or(BadCredentials::Conflict(
                "mountWithOAuthToken needs secretName",
            ))?;
            let namespace = context.key.namespace.clone().filter(|n| !n.is_empty());
            let namespace = namespace.or_else(|| context.claim.namespace.clone());
            Ok(TicketBy::Secret(SecretRef {
                namespace: namespace.unwrap_or_else(|| "default".to_owned()),
                name,
            }))
        }
    }
}

fn workload(
    context: &VolumeContext,
    handed: &Handed,
    own: Option<&str>,
) -> Result<Identity, BadCredentials> {
    let client = context.identity.client_id.as_deref().or(own);
    let client = client.ok_or(BadCredentials::NoIdentity("mountWithWorkloadIdentityToken"))?;
    let tokens = tokens(context, handed).ok_or(BadCredentials::NoToken)?;
    Ok(Identity::Workload {
        client_id: client.to_owned(),
        tenant_id: context.identity.tenant_id.clone(),
        token: pod_token(tokens)?,
    })
}

#[cfg(test)]
mod tests;
