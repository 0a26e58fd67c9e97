//! From what is wanted of an account to accounts that are tried, and to a new one.

use azcsi_cloud::storage::account_body::AccountUpdate;
use azcsi_cloud::{Account, AccountSettings, ArmError, VirtualNetworkRule};
use azcsi_types::account::AccountUri;
use azcsi_types::op::Op;

use super::Controller;
use super::account::creation::{self, Which};
use super::account::matching;
use super::account::order::{Candidate, Order, Rule, order};
use super::account::want::{Exposure, Want};
use super::error::ControllerError;
use crate::model::params::NetworkParams;
use crate::model::tags;

/// How many names are tried that somebody else in the world may have.
const NAMES: usize = 5;

impl Controller {
    /// The accounts that match, in the order in which they are tried.
    pub(super) async fn candidates(
        &self,
        op: &Op,
        want: &Want,
        rule: &Rule<'_>,
    ) -> Result<Order, ControllerError> {
        let mut matching = Vec::new();
        for account in self.inventory_of(op, want).await? {
            match self.matches(op, want, &account).await? {
                Ok(()) => matching.push(Candidate {
                    room: self.inventory.room(&account),
                    account,
                }),
                Err(mismatch) => tracing::debug!(account = %account.id, %mismatch, "not used"),
            }
        }
        Ok(order(matching, rule))
    }

    async fn inventory_of(&self, op: &Op, want: &Want) -> Result<Vec<Account>, ControllerError> {
        let (subscription, group) = (&want.subscription, &want.resource_group);
        let found = self.inventory.accounts(op, subscription, group).await;
        found.map_err(|error| ControllerError::azure(format!("listing accounts of {group}"), error))
    }

    /// Whether an account is used: the settings of its file service are asked for only if they count,
    /// and one that was made for this and left half-made is completed later.
    async fn matches(
        &self,
        op: &Op,
        want: &Want,
        account: &Account,
    ) -> Result<Result<(), matching::Mismatch>, ControllerError> {
        if let Err(mismatch) = matching::account(want, account) {
            return Ok(Err(mismatch));
        }
        if !matching::missing_subnets(want, account).is_empty() && !matching::is_ours(account) {
            return Ok(Err(matching::Mismatch("list of subnets")));
        }
        if !want.needs_service() || want.made(&account.tags) {
            return Ok(Ok(()));
        }
        let service = self.inventory.service(op, &account.id).await;
        let doing = || format!("reading the file service of {}", account.id.name());
        let service = service.map_err(|error| ControllerError::azure(doing(), error))?;
        Ok(matching::service(want, &service))
    }

    /// An account of the list that is to be used, completed as far as it is not complete.
    pub(super) async fn prepare(
        &self,
        op: &Op,
        (want, network): (&Want, &NetworkParams),
        account: &AccountUri,
    ) -> Result<Account, ControllerError> {
        let listed = self.inventory_of(op, want).await?;
        let account = listed.into_iter().find(|one| &one.id == account);
        let account =
            account.ok_or_else(|| ControllerError::Going("the accounts changed".into()))?;
        self.complete(op, (want, network), account).await
    }

    async fn complete(
        &self,
        op: &Op,
        (want, network): (&Want, &NetworkParams),
        account: Account,
    ) -> Result<Account, ControllerError> {
        let mut account = account;
        let missing = matching::missing_subnets(want, &account);
        if !missing.is_empty() {
            account = self.admit(op, account, missing).await?;
        }
        if want.needs_service() {
            self.set_service(op, want, &account).await?;
        }
        if let Exposure::Private { .. } = want.exposure {
            let mut connections = account.properties.private_endpoint_connections.iter();
            let open = connections.any(|one| {
                let state = &one.properties.private_link_service_connection_state;
                state.as_ref().is_some_and(|state| state.is_approved())
            });
            if !open {
                self.open_privately(op, network, &account).await?;
                let read = self.azure.accounts().get(op, &account.id).await;
                let doing = || format!("reading account {}", account.id.name());
                account = read.map_err(|error| ControllerError::azure(doing(), error))?;
                self.inventory.note_made(&account);
            }
        }
        Ok(account)
    }

    /// Lets more subnets in, and leaves every rule that is there.
    async fn admit(
        &self,
        op: &Op,
        account: Account,
        subnets: Vec<azcsi_types::resource_id::ResourceId>,
    ) -> Result<Account, ControllerError> {
        let _turn = self.serial.turn(&account.id.folded()).await;
        let doing = || format!("adding subnets to the firewall of {}", account.id.name());
        let failed = |error| ControllerError::azure(doing(), error);
        let fresh = self
            .azure
            .accounts()
            .get(op, &account.id)
            .await
            .map_err(failed)?;
        let mut acls = fresh.properties.network_acls.clone().unwrap_or_default();
        let rules = subnets.into_iter().map(VirtualNetworkRule::allow);
        acls.virtual_network_rules.extend(rules);
        let update = AccountUpdate {
            properties: AccountSettings {
                network_acls: Some(acls),
                ..AccountSettings::default()
            },
            ..AccountUpdate::default()
        };
        let updated = self.azure.accounts().update(op, &account.id, &update).await;
        let updated = updated.map_err(failed)?;
        self.inventory.note_made(&updated);
        Ok(updated)
    }

    async fn set_service(
        &self,
        op: &Op,
        want: &Want,
        account: &Account,
    ) -> Result<(), ControllerError> {
        let doing = || format!("setting up the file service of {}", account.id.name());
        let failed = |error| ControllerError::azure(doing(), error);
        let there = self
            .inventory
            .service(op, &account.id)
            .await
            .map_err(failed)?;
        if matching::service(want, &there).is_ok() {
            return Ok(());
        }
        if let Some(service) = creation::service(want) {
            let services = self.azure.file_services();
            services
                .set(op, &account.id, service)
                .await
                .map_err(failed)?;
            self.inventory.note_made(account);
        }
        Ok(())
    }

    /// A new account. One that an earlier try left behind is completed instead.
    pub(super) async fn make_account(
        &self,
        op: &Op,
        (want, network): (&Want, &NetworkParams),
        alone: Option<&str>,
    ) -> Result<Account, ControllerError> {
        let accounts = self.inventory_of(op, want).await?;
        let which = match alone {
            Some(volume) => Which::Of(volume),
            None => Which::Next(creation::made(want, &accounts)),
        };
        let body = creation::body(want);
        for attempt in 0..NAMES {
            let Some(name) = creation::name(want, which, attempt) else {
                continue;
            };
            let (subscription, group) = (&want.subscription, &want.resource_group);
            let id = self.account_in(Some(subscription), Some(group), &name)?;
            let mut finished = accounts.iter().filter(|one| creation::is_finished(one));
            if let Some(there) = finished.find(|account| account.id == id) {
                let there = there.clone();
                return self.complete(op, (want, network), there).await;
            }
            match self.azure.accounts().create(op, &id, &body).await {
                Ok(account) => {
                    tracing::info!(account = %id, "made for {}", want.digest());
                    self.inventory.note_made(&account);
                    return self.complete(op, (want, network), account).await;
                }
                Err(error) if error.is_account_name_taken() => {}
                Err(error) => {
                    let doing = format!("making account {name} in {group}");
                    return Err(ControllerError::azure(doing, error));
                }
            }
        }
        Err(ControllerError::Going(
            "every name for a new account is taken".to_owned(),
        ))
    }

    /// Marks an account as full, for this process and for others. A mark that cannot be set is only
    /// missing to the others.
    pub(super) async fn mark_full(&self, op: &Op, account: &AccountUri) {
        self.inventory.note_full(account);
        let since = self.inventory.wall().as_secs().to_string();
        if let Err(error) = self.mark(op, account, Some(since)).await {
            tracing::warn!(%account, %error, "the full account could not be marked");
        }
    }

    /// Takes the mark from an account that has room again.
    pub(super) async fn mark_room(&self, op: &Op, account: &AccountUri) {
        self.inventory.note_room(account);
        if let Err(error) = self.mark(op, account, None).await {
            tracing::warn!(%account, %error, "the mark could not be taken from the account");
        }
    }

    /// Tags are replaced as a whole, and Azure keeps no version of them: one writer at a time.
    async fn mark(&self, op: &Op, id: &AccountUri, since: Option<String>) -> Result<(), ArmError> {
        let _turn = self.serial.turn(&id.folded()).await;
        let account = self.azure.accounts().get(op, id).await?;
        let mut wanted = account.tags.clone();
        wanted.retain(|key, _| !key.eq_ignore_ascii_case(tags::SKIP));
        if let Some(since) = since {
            wanted.insert(tags::SKIP.to_owned(), since);
        }
        if wanted == account.tags {
            return Ok(());
        }
        let update = AccountUpdate {
            tags: Some(wanted),
            ..AccountUpdate::default()
        };
        let updated = self.azure.accounts().update(op, id, &update).await?;
        self.inventory.note_made(&updated);
        Ok(())
    }
}
