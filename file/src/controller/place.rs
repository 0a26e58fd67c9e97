//! A share for a volume: the account, and the share in it, found or made.
//!
//! An account that turns out to be full is left for the next one, and at the end a new one is made;
//! each account is tried once.

use azcsi_cloud::{Account, AccountLimit, ShareFilter};
use azcsi_types::account::AccountUri;
use azcsi_types::op::Op;
use azcsi_types::share::ShareName;
use azcsi_types::share_handle::Plane;
use azcsi_types::size::GiB;

use super::Controller;
use super::access::{Access, Created};
use super::account::order::{Order, Room, Rule};
use super::account::want::{Home, Want};
use super::common::Located;
use super::create_plan::{self, Draft, Existing};
use super::credentials::Credentials;
use super::error::ControllerError;
use super::keys::Which;
use super::ports::SecretName;
use crate::model::params::{DataPlane, FileParams, NetworkParams};
use crate::model::sku::Sku;

/// What is to be placed.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    pub(super) share: ShareName,
    pub(super) draft: Draft,
    pub(super) params: FileParams,
    /// The account of what is copied.
    pub(super) prefer: Option<AccountUri>,
    pub(super) secrets: Option<Credentials>,
}

/// A share that is there.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) at: Located,
    pub(super) existing: Existing,
}

/// Whether an account was made just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Old,
    New,
}

/// What came of one account.
enum Tried {
    Placed(Placed),
    Full(AccountLimit),
}

/// What is wanted of an account, and of the way to it.
type Wish<'a> = (&'a Want, &'a NetworkParams);

/// Most accounts that are tried for one volume.
const ACCOUNTS: usize = 16;

impl Placing {
    fn plane(&self) -> Plane {
        match self.params.data_plane {
            None => Plane::Management,
            Some(DataPlane::Key) => Plane::Key,
            Some(DataPlane::Oauth) => Plane::Oauth,
        }
    }

    fn which_key(&self) -> Which {
        if self.params.secret.latest {
            Which::Latest
        } else {
            Which::First
        }
    }
}

impl Controller {
    /// Finds or makes the share.
    pub(super) async fn place(
        &self,
        op: &Op,
        placing: &Placing,
    ) -> Result<Placed, ControllerError> {
        let account = &placing.params.account;
        let (subscription, group) = (&account.subscription, &account.resource_group);
        let here = |name| self.account_in(subscription.as_deref(), group.as_deref(), name);
        let named = match (&placing.secrets, &account.name) {
            (Some(own), _) => Some(here(&own.account)?),
            (None, Some(name)) => Some(here(name)?),
            (None, None) => None,
        };
        match named {
            Some(id) => self.place_in_named(op, placing, id).await,
            None => self.place_in_any(op, placing).await,
        }
    }

    async fn place_in_named(
        &self,
        op: &Op,
        placing: &Placing,
        id: AccountUri,
    ) -> Result<Placed, ControllerError> {
        let sku = match (placing.params.account.sku, &placing.secrets) {
            (Some(sku), _) => sku,
            // Who brings a key may have no rights in Azure at all.
            (None, Some(_)) => Sku::STANDARD,
            (None, None) => {
                let account = self.account(op, &id).await?;
                Sku::named(&account.sku.name).unwrap_or(Sku::STANDARD)
            }
        };
        match self.try_in(op, placing, (id.clone(), sku)).await? {
            Tried::Placed(placed) => Ok(placed),
            Tried::Full(limit) => Err(ControllerError::NoRoom(format!(
                "account {} has no room for share {}: its limit of {} is reached",
                id.name(),
                placing.share,
                word(limit)
            ))),
        }
    }

    async fn place_in_any(&self, op: &Op, placing: &Placing) -> Result<Placed, ControllerError> {
        let exposure = self.exposure(op, &placing.params).await?;
        let home = Home {
            subscription: &self.settings.subscription,
            resource_group: &self.settings.resource_group,
            location: &self.settings.location,
        };
        let want = Want::new(&placing.params, &home, exposure);
        let wish = (&want, &placing.params.network);
        if placing.params.account.create {
            let alone = Some(placing.draft.volume.as_str());
            let account = self.make_account(op, wish, alone).await?;
            return self.place_in_named(op, placing, account.id).await;
        }
        let rule = Rule {
            pick: placing.params.account.pick,
            volume: &placing.draft.volume,
            prefer: placing.prefer.as_ref(),
            retry: self.settings.full_retry,
        };
        let Order { look, .. } = self.candidates(op, &want, &rule).await?;
        for id in look {
            if let Some(placed) = self.find_in(op, placing, id).await? {
                return Ok(placed);
            }
        }
        self.place_in_turn(op, placing, (wish, &rule)).await
    }

    /// One account after the other, and at the end a new one.
    async fn place_in_turn(
        &self,
        op: &Op,
        placing: &Placing,
        (wish, rule): (Wish<'_>, &Rule<'_>),
    ) -> Result<Placed, ControllerError> {
        let mut tried = Vec::new();
        let mut last = AccountLimit::Capacity;
        while tried.len() < ACCOUNTS {
            let (account, new) = self.next_account(op, (wish, rule), &tried).await?;
            let id = account.id.clone();
            let was_full = self.inventory.room(&account) != Room::Some;
            let sku = Sku::named(&account.sku.name).unwrap_or(Sku::STANDARD);
            match self.try_in(op, placing, (id.clone(), sku)).await? {
                Tried::Placed(placed) => {
                    if was_full {
                        self.mark_room(op, &id).await;
                    }
                    return Ok(placed);
                }
                Tried::Full(limit) => {
                    tracing::warn!(account = %id, limit = word(limit), "account is full");
                    self.mark_full(op, &id).await;
                    last = limit;
                    // A new one that has no room shows that the share has room nowhere.
                    if new == Age::New {
                        break;
                    }
                    tried.push(id);
                }
            }
        }
        Err(ControllerError::NoRoom(format!(
            "no account has room for share {}: the limit of {} is reached",
            placing.share,
            word(last)
        )))
    }

    /// The next account that was not tried yet; a new one if there is none. Who comes while it is
    /// being made waits, and uses it too.
    async fn next_account(
        &self,
        op: &Op,
        (wish, rule): (Wish<'_>, &Rule<'_>),
        tried: &[AccountUri],
    ) -> Result<(Account, Age), ControllerError> {
        let untried = async || {
            let order = self.candidates(op, wish.0, rule).await?;
            let mut tries = order.tries.into_iter();
            Ok::<_, ControllerError>(tries.find(|id| !tried.contains(id)))
        };
        if let Some(id) = untried().await? {
            return Ok((self.prepare(op, wish, &id).await?, Age::Old));
        }
        let _turn = self.serial.turn(&format!("new {}", wish.0.digest())).await;
        if let Some(id) = untried().await? {
            return Ok((self.prepare(op, wish, &id).await?, Age::Old));
        }
        Ok((self.make_account(op, wish, None).await?, Age::New))
    }

    /// The share, if an earlier try left it in an account that is full by now.
    async fn find_in(
        &self,
        op: &Op,
        placing: &Placing,
        id: AccountUri,
    ) -> Result<Option<Placed>, ControllerError> {
        let at = self.located(op, placing, id).await?;
        match self.find_share(op, &at).await? {
            None => Ok(None),
            Some(share) => {
                let existing = placing.draft.check(&share);
                let existing = existing.map_err(|difference| differs(&at, difference))?;
                Ok(Some(Placed { at, existing }))
            }
        }
    }

    /// The way to the account of a new volume.
    async fn located(
        &self,
        op: &Op,
        placing: &Placing,
        account: AccountUri,
    ) -> Result<Located, ControllerError> {
        let suffix = placing.params.network.suffix.as_deref();
        let name = account
            .account()
            .map_err(|error| ControllerError::Refused(error.to_string()))?;
        let access = match &placing.secrets {
            Some(own) => {
                let endpoint = super::access::endpoint(&self.azure, &name, suffix);
                Access::with_key(&self.azure, endpoint, own.key.clone())
            }
            None => {
                let secret = self.secret_for(&placing.params, &name);
                let key = (Some(&secret), placing.which_key());
                let plane = (placing.plane(), suffix);
                self.access_by(op, &account, plane, key).await?
            }
        };
        Ok(Located {
            account,
            share: placing.share.clone(),
            access,
        })
    }

    /// The Secret with the key of a volume's account, as the class names it.
    pub(super) fn secret_for(
        &self,
        params: &FileParams,
        account: &azcsi_types::account::AccountName,
    ) -> SecretName {
        let secret = &params.secret;
        let namespace = secret.namespace.as_deref();
        let namespace = namespace.or(params.claim.namespace.as_deref());
        Self::secret_of(account, secret.name.as_deref(), namespace)
    }

    /// One account: the share that is there, or a new one.
    async fn try_in(
        &self,
        op: &Op,
        placing: &Placing,
        (account, sku): (AccountUri, Sku),
    ) -> Result<Tried, ControllerError> {
        let at = self.located(op, placing, account).await?;
        // A share that several volumes have in common is made by one of them.
        let turn = format!("share {} {}", at.account.folded(), at.share);
        let _turn = self.serial.turn(&turn).await;
        let found = at.access.find(op, &at.share).await;
        let doing = || format!("reading share {} of {}", at.share, at.account.name());
        if let Some(share) = found.map_err(|error| ControllerError::azure(doing(), error))? {
            let existing = placing.draft.check(&share);
            let existing = existing.map_err(|difference| differs(&at, difference))?;
            return Ok(Tried::Placed(Placed { at, existing }));
        }
        let size = create_plan::size(placing.draft.range, sku)?;
        if self.is_over_quota(op, placing, (&at, size)).await? {
            return Ok(Tried::Full(AccountLimit::Capacity));
        }
        self.make_share(op, placing, (at, size)).await
    }

    async fn make_share(
        &self,
        op: &Op,
        placing: &Placing,
        (at, size): (Located, GiB),
    ) -> Result<Tried, ControllerError> {
        let body = placing.draft.body(size);
        let doing = || format!("making share {} in {}", at.share, at.account.name());
        match at.access.create(op, &at.share, &body).await {
            Ok(Created::Ours) => {}
            Ok(Created::There) => {
                // An earlier sending made it, or another process: its own words tell.
                let share = self.need_share(op, &at).await?;
                let existing = placing.draft.check(&share);
                let existing = existing.map_err(|difference| differs(&at, difference))?;
                return Ok(Tried::Placed(Placed { at, existing }));
            }
            Err(error) => {
                return match error.account_limit() {
                    Some(limit) => Ok(Tried::Full(limit)),
                    None => Err(ControllerError::azure(doing(), error)),
                };
            }
        }
        let existing = match placing.draft.copy_of {
            None => Existing::Complete(size),
            Some(_) => Existing::Copying(size),
        };
        Ok(Tried::Placed(Placed { at, existing }))
    }

    /// Whether the share would take the account beyond the class's own limit.
    async fn is_over_quota(
        &self,
        op: &Op,
        placing: &Placing,
        (at, size): (&Located, GiB),
    ) -> Result<bool, ControllerError> {
        let Some(quota) = placing.params.account.quota else {
            return Ok(false);
        };
        let filter = ShareFilter::live();
        let listed = match &at.access {
            Access::Management(azure, account) => azure.shares().list(op, account, &filter).await,
            Access::Data(files) => files.list_shares(op, &filter).await,
        };
        let doing = || format!("listing the shares of {}", at.account.name());
        let listed = listed.map_err(|error| ControllerError::azure(doing(), error))?;
        let sizes = listed.iter().filter_map(azcsi_cloud::Share::quota);
        let taken: u64 = sizes.map(|size| u64::from(size.get())).sum();
        Ok(taken + u64::from(size.get()) > quota)
    }
}

fn word(limit: AccountLimit) -> &'static str {
    match limit {
        AccountLimit::Shares => "shares",
        AccountLimit::Capacity => "capacity",
        AccountLimit::Iops => "IOPS",
        AccountLimit::Bandwidth => "bandwidth",
    }
}

pub(super) fn differs(at: &Located, difference: String) -> ControllerError {
    ControllerError::Differs {
        what: format!("share {} of account {}", at.share, at.account.name()),
        difference,
    }
}
