//! Keys of accounts: from a Secret where one is named, else from Azure. One request serves everybody
//! who asks within some minutes, because Azure counts them.

use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::cache::Cache;
use azcsi_cloud::{AccountKey, Azure};
use azcsi_types::account::AccountUri;
use azcsi_types::clock::Clock;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;

use super::error::ControllerError;
use super::ports::{KeySecrets, SecretName};

/// For how long a key is good.
const AGE: Duration = Duration::from_secs(180);

/// Which of the keys of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// The first.
    First,
    /// The newest.
    Latest,
}

/// Keys of accounts.
#[derive(Debug)]
pub struct Keys {
    azure: Azure,
    secrets: Arc<dyn KeySecrets>,
    known: Cache<(String, Which), Secret>,
}

impl Keys {
    /// No key is known yet.
    #[must_use]
    pub fn new(azure: Azure, secrets: Arc<dyn KeySecrets>, clock: Arc<dyn Clock>) -> Self {
        Self {
            azure,
            secrets,
            known: Cache::new(clock, AGE),
        }
    }

    /// The key that Azure tells.
    ///
    /// # Errors
    /// If it does not, or the account has none.
    pub async fn of_azure(
        &self,
        op: &Op,
        account: &AccountUri,
        which: Which,
    ) -> Result<Secret, ControllerError> {
        let fetch = async {
            let list = self.azure.storage_keys().list(op, account).await;
            let doing = || format!("reading the keys of account {}", account.name());
            let list = list.map_err(|error| ControllerError::azure(doing(), error))?;
            pick(list, which).ok_or_else(|| {
                ControllerError::State(format!("account {} has no key", account.name()))
            })
        };
        self.known
            .get_or_fetch(&(account.folded(), which), fetch)
            .await
    }

    /// The key from a Secret, else the one that Azure tells.
    ///
    /// # Errors
    /// If neither can be had.
    pub async fn find(
        &self,
        op: &Op,
        account: &AccountUri,
        (secret, which): (Option<&SecretName>, Which),
    ) -> Result<Secret, ControllerError> {
        if let Some(key) = self.known.peek(&(account.folded(), which)) {
            return Ok(key);
        }
        if let Some(key) = self.of_secret(op, account, secret).await {
            return Ok(key);
        }
        self.of_azure(op, account, which).await
    }

    /// A Secret that cannot be read is no reason not to ask Azure.
    async fn of_secret(
        &self,
        op: &Op,
        account: &AccountUri,
        secret: Option<&SecretName>,
    ) -> Option<Secret> {
        let name = account.account().ok()?;
        match self.secrets.read(op, secret?, &name).await {
            Ok(found) => found.filter(super::credentials::is_key),
            Err(error) => {
                tracing::warn!(%error, "Azure is asked for the key of account {name}");
                None
            }
        }
    }

    /// Forgets the keys of an account: one was refused.
    pub fn forget(&self, account: &AccountUri) {
        for which in [Which::First, Which::Latest] {
            self.known.forget(&(account.folded(), which));
        }
    }
}

fn pick(list: Vec<AccountKey>, which: Which) -> Option<Secret> {
    let mut full = list.into_iter().filter(AccountKey::is_full);
    let found = match which {
        Which::First => full.next(),
        // Times are of one form, so their order is that of their texts.
        Which::Latest => full.max_by(|a, b| a.creation_time.cmp(&b.creation_time)),
    };
    found.map(|key| key.value)
}
