//! The accounts that there are, and which of them are full. All of it is bounded and may be lost: what
//! has to survive is in the tags of the accounts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use azcsi_cloud::cache::Cache;
use azcsi_cloud::{Account, ArmError, Azure, FileServiceProperties, GroupScope};
use azcsi_types::account::AccountUri;
use azcsi_types::clock::Clock;
use azcsi_types::op::Op;

use super::order::{self, Room};

/// For how long a list is good: Azure allows 100 lists in five minutes.
const LIST: Duration = Duration::from_secs(60);
/// For how long settings of a file service are good.
const SERVICE: Duration = Duration::from_secs(300);
/// For how long an account that was made here may be missing in Azure's lists.
const LAG: Duration = Duration::from_secs(120);

/// The accounts that there are.
#[derive(Debug)]
pub struct Inventory {
    azure: Azure,
    clock: Arc<dyn Clock>,
    lists: Cache<GroupScope, Arc<Vec<Account>>>,
    services: Cache<String, FileServiceProperties>,
    noted: Mutex<Noted>,
}

/// What happened here and is not in Azure's lists yet.
#[derive(Debug, Default)]
struct Noted {
    made: HashMap<String, (Duration, Account)>,
    full: HashMap<String, Duration>,
}

impl Inventory {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(azure: Azure, clock: Arc<dyn Clock>) -> Self {
        Self {
            lists: Cache::new(Arc::clone(&clock), LIST),
            services: Cache::new(Arc::clone(&clock), SERVICE),
            noted: Mutex::default(),
            azure,
            clock,
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The accounts of a resource group. Many that ask at once share one request.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn accounts(
        &self,
        op: &Op,
        subscription: &str,
        resource_group: &str,
    ) -> Result<Vec<Account>, ArmError> {
        let scope = GroupScope::ResourceGroup {
            subscription: subscription.to_ascii_lowercase(),
            resource_group: resource_group.to_ascii_lowercase(),
        };
        let accounts = self.azure.accounts();
        let fetch = async { accounts.list(op, &scope).await.map(Arc::new) };
        let listed = self.lists.get_or_fetch(&scope, fetch).await?;
        let mut all = Vec::clone(&listed);
        let now = self.clock.now();
        let mut noted = self.noted();
        noted
            .made
            .retain(|_, (at, _)| now.saturating_sub(*at) < LAG);
        for (_, account) in noted.made.values() {
            let here = account.id.subscription().eq_ignore_ascii_case(subscription)
                && account
                    .id
                    .resource_group()
                    .eq_ignore_ascii_case(resource_group);
            if here {
                all.retain(|other| other.id != account.id);
                all.push(account.clone());
            }
        }
        Ok(all)
    }

    /// The settings of an account's file service.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn service(
        &self,
        op: &Op,
        account: &AccountUri,
    ) -> Result<FileServiceProperties, ArmError> {
        let services = self.azure.file_services();
        let fetch = services.get(op, account);
        self.services.get_or_fetch(&account.folded(), fetch).await
    }

    /// Notes an account that was made or changed: it counts before what the list says.
    pub fn note_made(&self, account: &Account) {
        let at = self.clock.now();
        let entry = (at, account.clone());
        self.services.forget(&account.id.folded());
        self.noted().made.insert(account.id.folded(), entry);
    }

    /// Notes that an account is full.
    pub fn note_full(&self, account: &AccountUri) {
        let now = self.clock.now();
        let mut noted = self.noted();
        noted
            .full
            .retain(|_, at| now.saturating_sub(*at) < order::LOOK_BACK);
        noted.full.insert(account.folded(), now);
    }

    /// Notes that an account has room again.
    pub fn note_room(&self, account: &AccountUri) {
        self.noted().full.remove(&account.folded());
    }

    /// How full an account is, as far as is known.
    #[must_use]
    pub fn room(&self, account: &Account) -> Room {
        let at = self.noted().full.get(&account.id.folded()).copied();
        match at {
            Some(at) => Room::FullSince(self.clock.now().saturating_sub(at)),
            None => order::room(account, self.wall()),
        }
    }

    /// Seconds since 1970.
    #[must_use]
    pub fn wall(&self) -> Duration {
        let since = self.clock.wall().duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap_or_default()
    }
}
