//! Kubernetes and Azure behind the node's [`Ports`]. Neither is asked before a volume needs it, and
//! either may be missing: a node without a cloud configuration mounts with Secrets, and one without
//! an API server with what kubelet hands over (known problem AU-08).

mod identities;

use std::sync::Arc;

use azcsi_cloud::storage::data_plane::{
    FileAttributes, FileRef, FilesCredential, FilesEndpoint, SharePath, TICKET_VERSION,
};
use azcsi_cloud::{AccountKey, ArmError, Azure};
use azcsi_kube::Kube;
use azcsi_types::account::{AccountName, AccountUri};
use azcsi_types::fault::Fault;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use futures_util::future::BoxFuture;

pub use identities::CloudParts;

use super::cause::ShareSays;
use super::credentials::login_of;
use super::ports::{Granted, Identity, KeyOf, Login, Ports, SecretRef, ShareRef, Unanswered};

/// The key of a Secret that holds a token for storage.
const TOKEN: &str = "azurestorageaccounttoken";

/// Kubernetes and Azure.
#[derive(Debug)]
pub struct Sources {
    kube: Option<Kube>,
    cloud: Arc<CloudParts>,
}

impl Sources {
    /// Over what there is. Tokens that an interrupted exchange left are removed.
    #[must_use]
    pub fn new(kube: Option<Kube>, cloud: CloudParts) -> Self {
        let left = std::fs::read_dir(&cloud.tokens).into_iter().flatten();
        for file in left.flatten() {
            let _ = std::fs::remove_file(file.path());
        }
        Self {
            kube,
            cloud: Arc::new(cloud),
        }
    }

    fn kube(&self, what: &str) -> Result<&Kube, Unanswered> {
        self.kube.as_ref().ok_or_else(|| {
            let why = format!("{what} needs the API server, which this node is not connected to");
            Unanswered::because(why, Fault::Precondition)
        })
    }

    async fn read_login(&self, of: &SecretRef) -> Result<Option<Login>, Unanswered> {
        let what = format!("reading the Secret {}/{}", of.namespace, of.name);
        let read = self.kube(&what)?.secret_texts(&of.namespace, &of.name);
        let Some(texts) = read.await.map_err(|error| Unanswered::of(&what, error))? else {
            return Ok(None);
        };
        let pairs = texts
            .iter()
            .map(|(key, value)| (key.as_str(), value.expose()));
        let login = login_of(pairs).map_err(|error| Unanswered {
            what: what.clone(),
            fault: Fault::Precondition,
            source: Some(Box::new(error)),
        })?;
        let empty = || {
            Unanswered::because(
                format!("{what}: it holds no account key"),
                Fault::Precondition,
            )
        };
        login.map(Some).ok_or_else(empty)
    }

    async fn read_token(&self, of: &SecretRef) -> Result<Option<Secret>, Unanswered> {
        let what = format!("reading the Secret {}/{}", of.namespace, of.name);
        let read = self.kube(&what)?.secret(&of.namespace, &of.name, TOKEN);
        let token = read.await.map_err(|error| Unanswered::of(&what, error))?;
        let trimmed = token.map(|token| Secret::new(token.expose().trim()));
        Ok(trimmed.filter(|token| !token.is_empty()))
    }

    async fn list_key(&self, op: &Op, of: &KeyOf, by: &Identity) -> Result<Secret, Unanswered> {
        let what = format!("reading the keys of account {}", of.account);
        let access = self.cloud.azure(by).await?;
        let config = access.azure.config();
        let or = |said: &Option<String>, own: &str| said.clone().unwrap_or_else(|| own.to_owned());
        let subscription = or(&of.subscription, &config.subscription_id);
        let group = or(&of.resource_group, &config.resource_group);
        if subscription.is_empty() || group.is_empty() {
            let why = format!("{what} needs its subscription and resource group");
            return Err(Unanswered::because(why, Fault::Precondition));
        }
        let account = AccountUri::new(&subscription, &group, &of.account);
        let account = account.map_err(|error| Unanswered {
            what: what.clone(),
            fault: Fault::Invalid,
            source: Some(Box::new(error)),
        })?;
        let keys = access.azure.storage_keys().list(op, &account).await;
        let keys = keys.map_err(|error| Unanswered::of(&what, error))?;
        let none = || Unanswered::because(format!("{what}: it has none"), Fault::Precondition);
        pick(keys, of.latest).ok_or_else(none)
    }

    async fn get_ticket(&self, op: &Op, host: &str, by: &Identity) -> Result<Granted, Unanswered> {
        let what = format!("getting a Kerberos ticket from {host}");
        let access = self.cloud.azure(by).await?;
        let invalid =
            || Unanswered::because(format!("{what}: no account has that name"), Fault::Invalid);
        let name = host.split('.').next().unwrap_or_default();
        let account: AccountName = name.parse().map_err(|_| invalid())?;
        let endpoint = FilesEndpoint::at(&format!("https://{host}"), &account);
        let endpoint = endpoint
            .map_err(|_| invalid())?
            .with_version(TICKET_VERSION);
        let files = access.azure.files(endpoint, FilesCredential::Identity);
        match files.kerberos_ticket(op).await {
            Ok(ticket) => Ok(Granted {
                message: ticket.message,
            }),
            Err(error) => Err(Unanswered::of(what, error)),
        }
    }

    async fn says(&self, op: &Op, share: &ShareRef, key: &Secret) -> ShareSays {
        let Ok(name) = share.share.parse() else {
            return ShareSays::Unknown;
        };
        let endpoint = FilesEndpoint::with_suffix(&share.suffix, &share.account);
        let Ok(azure) = self.cloud.with_key() else {
            return ShareSays::Unknown;
        };
        let files = azure.files(endpoint, FilesCredential::SharedKey(key.clone()));
        meaning(files.get_share(op, &name).await.err().as_ref())
    }

    async fn make(&self, op: &Op, share: &ShareRef, key: &Secret) -> Result<(), Unanswered> {
        let what = format!(
            "making the directory {:?} of share {}",
            share.folder, share.share
        );
        let invalid =
            || Unanswered::because(format!("{what}: a name is not usable"), Fault::Invalid);
        let name = share.share.parse().map_err(|_| invalid())?;
        let azure = self.cloud.with_key()?;
        let endpoint = FilesEndpoint::with_suffix(&share.suffix, &share.account);
        let files = azure.files(endpoint, FilesCredential::SharedKey(key.clone()));
        let plain = FileAttributes::default();
        let mut at = FileRef::live(name, SharePath::root());
        let folder = share.folder.as_deref().unwrap_or_default();
        for part in folder.split('/').filter(|part| !part.is_empty()) {
            at = at.with_path(at.path.join(part).map_err(|_| invalid())?);
            let made = files.create_directory(op, &at, &plain).await;
            match made {
                Ok(_) => {}
                Err(error) if error.has_code("ResourceAlreadyExists") => {}
                Err(error) => return Err(Unanswered::of(what, error)),
            }
        }
        Ok(())
    }

    async fn review(&self, account: (&str, &str), of: &SecretRef) -> Result<bool, Unanswered> {
        let what = "reviewing the access of a pod";
        let asked = self
            .kube(what)?
            .may_get_secret(account, (&of.namespace, &of.name));
        asked.await.map_err(|error| Unanswered::of(what, error))
    }
}

/// The first key that allows everything, or the newest.
fn pick(keys: Vec<AccountKey>, latest: bool) -> Option<Secret> {
    let mut full = keys.into_iter().filter(AccountKey::is_full);
    let found = if latest {
        // Times are of one form, so their order is that of their texts.
        full.max_by(|a, b| a.creation_time.cmp(&b.creation_time))
    } else {
        full.next()
    };
    found.map(|key| key.value)
}

/// What an answer about a share means for its mount.
fn meaning(error: Option<&ArmError>) -> ShareSays {
    let Some(error) = error else {
        return ShareSays::There;
    };
    if error.has_code("ShareNotFound") || error.has_code("ShareBeingDeleted") {
        ShareSays::Missing
    } else if error.has_code("AuthenticationFailed") {
        ShareSays::KeyRefused
    } else if error.is_key_refused() {
        ShareSays::KeysOff
    } else if error.is_network_refused() {
        ShareSays::NetworkRule
    } else {
        ShareSays::Unknown
    }
}

impl Ports for Sources {
    fn secret<'a>(
        &'a self,
        _: &'a Op,
        of: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<Login>, Unanswered>> {
        Box::pin(self.read_login(of))
    }

    fn token<'a>(
        &'a self,
        _: &'a Op,
        of: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<Secret>, Unanswered>> {
        Box::pin(self.read_token(of))
    }

    fn account_key<'a>(
        &'a self,
        op: &'a Op,
        of: &'a KeyOf,
        by: &'a Identity,
    ) -> BoxFuture<'a, Result<Secret, Unanswered>> {
        Box::pin(self.list_key(op, of, by))
    }

    fn ticket<'a>(
        &'a self,
        op: &'a Op,
        host: &'a str,
        by: &'a Identity,
    ) -> BoxFuture<'a, Result<Granted, Unanswered>> {
        Box::pin(self.get_ticket(op, host, by))
    }

    fn ask_share<'a>(
        &'a self,
        op: &'a Op,
        share: &'a ShareRef,
        key: &'a Secret,
    ) -> BoxFuture<'a, ShareSays> {
        Box::pin(self.says(op, share, key))
    }

    fn make_folder<'a>(
        &'a self,
        op: &'a Op,
        share: &'a ShareRef,
        key: &'a Secret,
    ) -> BoxFuture<'a, Result<(), Unanswered>> {
        Box::pin(self.make(op, share, key))
    }

    fn may_read<'a>(
        &'a self,
        _: &'a Op,
        account: (&'a str, &'a str),
        of: &'a SecretRef,
    ) -> BoxFuture<'a, Result<bool, Unanswered>> {
        Box::pin(self.review(account, of))
    }
}

/// An [`Azure`] as one identity sees it, for one question.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) azure: Azure,
    /// Removed with the last use of the identity.
    _token: Option<identities::TokenFile>,
}

#[cfg(test)]
mod tests;
