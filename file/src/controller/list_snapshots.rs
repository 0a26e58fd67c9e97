//! ListSnapshots: those of one volume, one by its id, or all that this driver took in the accounts
//! that drivers made.

use std::num::NonZeroUsize;
use std::sync::Arc;

use azcsi_cloud::{Share, ShareFilter, ShareSnapshot};
use azcsi_proto::csi::v1;
use azcsi_rpc::paging::{Page, page};
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use azcsi_types::share::ShareName;
use azcsi_types::share_handle::{ShareHandle, ShareParts, ShareSnapshotHandle};

use super::Controller;
use super::access::Access;
use super::account::matching::is_ours;
use super::common::Located;
use super::credentials::{self, Credentials};
use super::error::ControllerError;
use super::taken::{SOURCE, Taken};
use crate::model::snapshot_params::INITIATOR;

/// The RPC.
#[derive(Debug)]
pub struct ListSnapshots;

/// Which snapshots are asked for.
#[derive(Clone, Debug)]
pub enum Filter {
    /// All.
    All,
    /// Those of a volume.
    Of(Box<ShareHandle>),
    /// One, if it is one of the volume, where one is named.
    One(Box<ShareSnapshotHandle>, Option<Box<ShareHandle>>),
    /// None: what is named is no volume's and no snapshot's id.
    None,
}

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    most: Option<NonZeroUsize>,
    after: Option<String>,
    filter: Filter,
    secrets: Option<Credentials>,
}

impl Handler for ListSnapshots {
    type Ctx = Controller;
    type Wire = v1::ListSnapshotsRequest;
    type WireReply = v1::ListSnapshotsResponse;
    type Request = Request;
    type Reply = Page<Taken>;
    type Error = ControllerError;
    const METHOD: Method = Method::ListSnapshots;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let token = wire.starting_token;
        // A token is the key of an entry: what cannot be one was not handed out.
        if !token.is_empty() && token.matches('#').count() < 3 {
            return Err(ControllerError::Token(token.chars().take(80).collect()));
        }
        Ok(Request {
            most: validate::max_entries(wire.max_entries)?,
            after: (!token.is_empty()).then_some(token),
            filter: filter(&wire.snapshot_id, &wire.source_volume_id),
            secrets: credentials::read(wire.secrets)?,
        })
    }

    fn scope(_: &Request) -> Scope {
        Scope::Read
    }

    async fn run(
        ctx: Arc<Controller>,
        request: Request,
        op: Op,
    ) -> Result<Page<Taken>, ControllerError> {
        let secrets = request.secrets.as_ref();
        let mut found = match &request.filter {
            Filter::None => Vec::new(),
            Filter::One(id, volume) => {
                let same = |of: &ShareHandle| of.parts().share == id.volume().parts().share;
                match volume.as_deref().is_none_or(same) {
                    true => ctx
                        .find_taken(&op, id, secrets)
                        .await?
                        .into_iter()
                        .collect(),
                    false => Vec::new(),
                }
            }
            Filter::Of(volume) => ctx.taken_of(&op, volume, secrets).await?,
            Filter::All => ctx.all_taken(&op).await?,
        };
        found.sort_by_key(Taken::key);
        let sorted: Vec<(String, Taken)> = found.into_iter().map(|one| (one.key(), one)).collect();
        Ok(page(&sorted, request.after.as_deref(), request.most))
    }

    fn encode(reply: Page<Taken>) -> Self::WireReply {
        let entry = |taken: &Taken| v1::list_snapshots_response::Entry {
            snapshot: Some(taken.to_wire()),
        };
        v1::ListSnapshotsResponse {
            entries: reply.items.iter().map(entry).collect(),
            next_token: reply.next,
        }
    }
}

fn filter(snapshot: &str, volume: &str) -> Filter {
    let volume = match volume {
        "" => None,
        text => match text.parse::<ShareHandle>() {
            Ok(volume) => Some(volume),
            Err(_) => return Filter::None,
        },
    };
    match (snapshot, volume) {
        ("", None) => Filter::All,
        ("", Some(volume)) => Filter::Of(Box::new(volume)),
        (text, volume) => match text.parse() {
            Ok(snapshot) => Filter::One(Box::new(snapshot), volume.map(Box::new)),
            Err(_) => Filter::None,
        },
    }
}

impl Controller {
    async fn taken_of(
        &self,
        op: &Op,
        volume: &ShareHandle,
        secrets: Option<&Credentials>,
    ) -> Result<Vec<Taken>, ControllerError> {
        let at = self.locate(op, volume.parts(), secrets).await?;
        let listed = match at.access.history(op, &at.share).await {
            Ok(listed) => listed,
            // A volume that is gone has no snapshots.
            Err(error) if error.absence().is_some() => return Ok(Vec::new()),
            Err(error) => {
                let doing = format!("listing the snapshots of share {}", at.share);
                return Err(ControllerError::azure(doing, error));
            }
        };
        let one = |snapshot: &ShareSnapshot| {
            let size = snapshot.share.quota().unwrap_or_default();
            let id = self.snapshot_id(volume, snapshot);
            Taken::new(id, volume.to_string(), size.bytes())
        };
        Ok(listed.snapshots.iter().map(one).collect())
    }

    async fn all_taken(&self, op: &Op) -> Result<Vec<Taken>, ControllerError> {
        let home = &self.settings;
        let accounts = self
            .inventory
            .accounts(op, &home.subscription, &home.resource_group)
            .await
            .map_err(|error| ControllerError::azure("listing accounts", error))?;
        let filter = ShareFilter {
            snapshots: true,
            ..ShareFilter::default()
        };
        let mut all = Vec::new();
        for account in accounts.iter().filter(|account| is_ours(account)) {
            let listed = match self.azure.shares().list(op, &account.id, &filter).await {
                Ok(listed) => listed,
                Err(error) if error.absence().is_some() => continue,
                Err(error) => {
                    let doing = format!("listing the snapshots of {}", account.id.name());
                    return Err(ControllerError::azure(doing, error));
                }
            };
            for share in listed {
                all.extend(self.taken_in(op, &account.id, share).await?);
            }
        }
        Ok(all)
    }

    /// One entry of a list of an account, if it is a snapshot that this driver took.
    async fn taken_in(
        &self,
        op: &Op,
        account: &azcsi_types::account::AccountUri,
        share: Share,
    ) -> Result<Option<Taken>, ControllerError> {
        let name = share.name.parse::<ShareName>();
        let (Some(time), Ok(name), Ok(account_name)) = (
            share.properties.snapshot_time.clone(),
            name,
            account.account(),
        ) else {
            return Ok(None);
        };
        let access = Access::Management(Box::new(self.azure.clone()), account.clone());
        let at = Located {
            account: account.clone(),
            share: name.clone(),
            access,
        };
        let snapshot = ShareSnapshot { time, share };
        let metadata = self.metadata_of(op, &at, &snapshot).await?;
        let told = |key| azcsi_cloud::storage::shares::lookup(&metadata, key);
        if told(INITIATOR).is_none() {
            return Ok(None);
        }
        let mut parts = ShareParts::of(account_name, name);
        parts.resource_group = Some(account.resource_group().to_owned());
        let volume = match told(SOURCE).and_then(|text| text.parse::<ShareHandle>().ok()) {
            Some(volume) => volume,
            None => ShareHandle::new(parts)?,
        };
        let id = self.snapshot_id(&volume, &snapshot);
        let size = snapshot.share.quota().unwrap_or_default();
        Ok(Some(Taken::new(id, volume.to_string(), size.bytes())))
    }
}
