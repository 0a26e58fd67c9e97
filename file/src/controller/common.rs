//! What several RPCs share: ids, guards, and the way from an id to its share.

use azcsi_cloud::storage::data_plane::FilesEndpoint;
use azcsi_cloud::{Account, Share};
use azcsi_rpc::{GuardKey, validate};
use azcsi_types::account::{AccountName, AccountUri};
use azcsi_types::op::Op;
use azcsi_types::share::ShareName;
use azcsi_types::share_handle::{Plane, ShareHandle, ShareParts};

use super::Controller;
use super::access::{self, Access};
use super::credentials::Credentials;
use super::error::ControllerError;
use super::keys::Which;
use super::ports::SecretName;

/// Reads a volume id where CSI wants to hear that an unknown one was not found.
pub(super) fn handle(id: String) -> Result<ShareHandle, ControllerError> {
    let id = validate::required("volume_id", id)?;
    id.parse()
        .map_err(|source| ControllerError::NoSuchId { id, source })
}

/// What makes or deletes a whole share.
pub(super) fn share_guard(share: &ShareName) -> GuardKey {
    GuardKey::new("share", share.as_str())
}

/// What works in a share that several volumes have in common, or only needs it to stay.
pub(super) fn in_share_guard(share: &ShareName) -> GuardKey {
    GuardKey::shared("share", share.as_str())
}

/// What makes or deletes a volume of a name.
pub(super) fn volume_guard(name: &str) -> GuardKey {
    GuardKey::new("volume", name)
}

/// A share, and the way to it.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub(super) account: AccountUri,
    pub(super) share: ShareName,
    pub(super) access: Access,
}

impl Controller {
    /// The Secret in which the key of an account is, unless a class says otherwise.
    pub(super) fn secret_of(
        account: &AccountName,
        name: Option<&str>,
        namespace: Option<&str>,
    ) -> SecretName {
        SecretName {
            namespace: namespace.unwrap_or("default").to_owned(),
            name: name.map_or_else(
                || format!("azure-storage-account-{account}-secret"),
                str::to_owned,
            ),
        }
    }

    /// An account in the place that is said, or in the configured one.
    pub(super) fn account_in(
        &self,
        subscription: Option<&str>,
        group: Option<&str>,
        account: &AccountName,
    ) -> Result<AccountUri, ControllerError> {
        let subscription = subscription.unwrap_or(&self.settings.subscription);
        let group = group.unwrap_or(&self.settings.resource_group);
        AccountUri::new(subscription, group, account)
            .map_err(|error| ControllerError::Refused(error.to_string()))
    }

    /// The way to the share of a volume, the one that stands in its id.
    pub(super) async fn locate(
        &self,
        op: &Op,
        parts: &ShareParts,
        secrets: Option<&Credentials>,
    ) -> Result<Located, ControllerError> {
        let name = parts.account.as_ref().or(secrets.map(|own| &own.account));
        let Some(name) = name else {
            return Err(ControllerError::Refused(format!(
                "the id of share {} names no account, so the request needs secrets with azurestorageaccountname and azurestorageaccountkey",
                parts.share
            )));
        };
        let (subscription, group) = (&parts.subscription, &parts.resource_group);
        let account = self.account_in(subscription.as_deref(), group.as_deref(), name)?;
        let access = match secrets {
            Some(own) if &own.account != name => {
                return Err(ControllerError::Refused(format!(
                    "the secrets are those of account {}, but share {} is in {name}",
                    own.account, parts.share
                )));
            }
            Some(own) => {
                let endpoint = access::endpoint(&self.azure, name, parts.suffix.as_deref());
                Access::with_key(&self.azure, endpoint, own.key.clone())
            }
            None => self.access(op, &account, parts).await?,
        };
        Ok(Located {
            account,
            share: parts.share.clone(),
            access,
        })
    }

    async fn access(
        &self,
        op: &Op,
        account: &AccountUri,
        parts: &ShareParts,
    ) -> Result<Access, ControllerError> {
        let suffix = parts.suffix.as_deref();
        let secret = parts.account.as_ref().map(|name| {
            let namespace = parts.namespace.as_deref();
            Self::secret_of(name, None, namespace)
        });
        let plane = (parts.plane, suffix);
        self.access_by(op, account, plane, (secret.as_ref(), Which::First))
            .await
    }

    /// The way to an account that a plane means.
    pub(super) async fn access_by(
        &self,
        op: &Op,
        account: &AccountUri,
        (plane, suffix): (Plane, Option<&str>),
        key: (Option<&SecretName>, Which),
    ) -> Result<Access, ControllerError> {
        if plane == Plane::Management {
            let azure = Box::new(self.azure.clone());
            return Ok(Access::Management(azure, account.clone()));
        }
        let endpoint = self.endpoint(op, account, suffix).await?;
        Ok(match plane {
            Plane::Management | Plane::Oauth => Access::with_identity(&self.azure, endpoint),
            Plane::Key => {
                let key = self.keys.find(op, account, key).await?;
                Access::with_key(&self.azure, endpoint, key)
            }
        })
    }

    /// Where the file service of an account is. Azure is asked, because an account may have another
    /// host than its name says; who may not ask takes the usual one.
    pub(super) async fn endpoint(
        &self,
        op: &Op,
        account: &AccountUri,
        suffix: Option<&str>,
    ) -> Result<FilesEndpoint, ControllerError> {
        let name = account
            .account()
            .map_err(|error| ControllerError::Refused(error.to_string()))?;
        if suffix.is_none()
            && let Ok(found) = self.account(op, account).await
            && let Some(url) = &found.properties.primary_endpoints.file
            && let Ok(endpoint) = FilesEndpoint::at(url, &name)
        {
            return Ok(endpoint);
        }
        Ok(access::endpoint(&self.azure, &name, suffix))
    }

    /// An account, as it was some minutes ago at the most.
    pub(super) async fn account(
        &self,
        op: &Op,
        account: &AccountUri,
    ) -> Result<Account, ControllerError> {
        let accounts = self.azure.accounts();
        let fetch = async {
            match accounts.get(op, account).await {
                Ok(found) => Ok(found),
                Err(error) if error.absence().is_some() => Err(ControllerError::Absent {
                    what: format!("account {account}"),
                }),
                Err(error) => {
                    let doing = format!("reading account {}", account.name());
                    Err(ControllerError::azure(doing, error))
                }
            }
        };
        self.accounts.get_or_fetch(&account.folded(), fetch).await
    }

    /// The share of a volume; `None` only if it is proven that there is none.
    pub(super) async fn find_share(
        &self,
        op: &Op,
        at: &Located,
    ) -> Result<Option<Share>, ControllerError> {
        let found = at.access.find(op, &at.share).await;
        match found {
            Ok(found) => Ok(found),
            // A share cannot outlive its account.
            Err(error) if error.absence().is_some() => Ok(None),
            Err(error) => {
                let doing = format!("reading share {} of {}", at.share, at.account.name());
                Err(ControllerError::azure(doing, error))
            }
        }
    }

    /// The share of a volume that has to exist.
    pub(super) async fn need_share(&self, op: &Op, at: &Located) -> Result<Share, ControllerError> {
        let found = self.find_share(op, at).await?;
        found.ok_or_else(|| ControllerError::Absent {
            what: format!("share {} of account {}", at.share, at.account.name()),
        })
    }
}
