//! What happens to shares, whichever plane asks: made, changed, snapshotted, deleted, restored.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;

use crate::state::{Draw as _, State};
use crate::storage::model::{Account, Deleted, Provisioned, Share, ShareSnapshot};
use crate::storage::share_rules::{self as rules, Refusal, Wanted};
use crate::storage::{share_limits as limits, share_view};
use crate::world::key;

/// Snapshots that one share may have.
const MOST_SNAPSHOTS: usize = 200;
const DAY_MS: u64 = 24 * 3600 * 1000;

/// What a delete may take along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cascade {
    /// The snapshots; somebody said so.
    Snapshots,
    /// The snapshots, because that is the default; nobody said so.
    Unsaid,
    /// Nothing.
    Nothing,
}

/// The key of a share of an account.
pub(crate) fn share_key(account: &Account, name: &str) -> String {
    format!(
        "{}/fileservices/default/shares/{}",
        key(&account.id),
        name.to_ascii_lowercase()
    )
}

/// An ETag that was never given before.
pub(crate) fn etag(state: &mut State) -> String {
    format!("\"0x8D{:013X}\"", state.bits() >> 12)
}

/// The name is not in use, and not still in use by a share that goes.
fn free(state: &State, account: &Account, (name, at): (&str, &str)) -> Result<(), Refusal> {
    let blocked = account.blocked.get(name);
    if blocked.is_some_and(|until| *until > state.now) {
        return Err(Refusal::conflict(
            "ShareBeingDeleted",
            "The specified share is being deleted. Try operation later.",
        ));
    }
    if state.world.shares.contains_key(at) {
        return Err(Refusal::conflict(
            "ShareAlreadyExists",
            "The specified share already exists.",
        ));
    }
    Ok(())
}

/// Makes a share.
pub(crate) fn create(
    state: &mut State,
    account: &Account,
    name: &str,
    wanted: &Wanted,
) -> Result<Share, Refusal> {
    rules::name(name)?;
    let at = share_key(account, name);
    free(state, account, (name, &at))?;
    let protocol = rules::protocol(account, wanted.protocol.as_deref())?;
    let tier = rules::tier(account, wanted.tier.as_deref())?;
    let root_squash = rules::squash(&protocol, wanted.root_squash.as_deref())?;
    let figures = limits::figures(account, None, wanted, state.now)?;
    limits::room(state, account, None, &figures)?;
    let contents = state.guid();
    state
        .contents
        .make(&contents)
        .map_err(|error| broken(&error))?;
    let [quota, iops, mibps] = figures;
    let share = Share {
        id: format!("{}/fileServices/default/shares/{name}", account.id),
        account: key(&account.id),
        name: name.to_owned(),
        contents,
        quota,
        iops,
        mibps,
        protocol,
        tier,
        root_squash,
        metadata: wanted.metadata.clone().unwrap_or_default(),
        policies: Vec::new(),
        snapshots: Vec::new(),
        lease: None,
        created_ms: state.wall_ms,
        modified_ms: state.wall_ms,
        etag: etag(state),
        guarded: false,
    };
    state.world.shares.insert(at, share.clone());
    state.revision += 1;
    Ok(share)
}

/// The folder of a share cannot be used; this is the machine's fault and not the client's.
pub(crate) fn broken(error: &std::io::Error) -> Refusal {
    tracing::error!(%error, "the contents of a share cannot be used");
    let message = format!("Server encountered an internal error: {error}.");
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
}

/// Changes a share.
pub(crate) fn update(
    state: &mut State,
    account: &Account,
    at: &str,
    wanted: &Wanted,
) -> Result<Share, Refusal> {
    let before = state
        .world
        .shares
        .get(at)
        .cloned()
        .ok_or_else(Refusal::no_share)?;
    let figures = limits::figures(account, Some(&before), wanted, state.now)?;
    limits::room(state, account, Some(&before), &figures)?;
    let mut after = before.clone();
    [after.quota, after.iops, after.mibps] = figures;
    if let Some(tier) = &wanted.tier {
        after.tier = rules::tier(account, Some(tier))?;
    }
    if let Some(squash) = &wanted.root_squash {
        after.root_squash = rules::squash(&after.protocol, Some(squash))?;
    }
    if let Some(metadata) = &wanted.metadata {
        after.metadata.clone_from(metadata);
    }
    after.modified_ms = state.wall_ms;
    after.etag = etag(state);
    let shown = share_view::show(state, account, &before);
    state.remember(at, shown);
    state.world.shares.insert(at.to_owned(), after.clone());
    state.revision += 1;
    Ok(after)
}

/// Takes a snapshot; each call makes a new one.
pub(crate) fn snapshot(
    state: &mut State,
    at: &str,
    metadata: Option<BTreeMap<String, String>>,
) -> Result<(Share, ShareSnapshot), Refusal> {
    let share = state
        .world
        .shares
        .get(at)
        .cloned()
        .ok_or_else(Refusal::no_share)?;
    if share.snapshots.len() >= MOST_SNAPSHOTS {
        return Err(Refusal::conflict(
            "ShareSnapshotCountExceeded",
            "The snapshot count for the share is over the limit.",
        ));
    }
    let mut tick = u128::from(state.wall_ms) * 10_000;
    while share
        .snapshots
        .iter()
        .any(|taken| taken.time == ticks(tick))
    {
        tick += 1;
    }
    let contents = state.guid();
    state
        .contents
        .copy(&share.contents, &contents)
        .map_err(|error| broken(&error))?;
    let snapshot = ShareSnapshot {
        time: ticks(tick),
        contents,
        metadata: metadata
            .filter(|given| !given.is_empty())
            .unwrap_or_else(|| share.metadata.clone()),
        quota: share.quota.value,
    };
    if let Some(share) = state.world.shares.get_mut(at) {
        share.snapshots.push(snapshot.clone());
    }
    state.revision += 1;
    Ok((share, snapshot))
}

/// A time in steps of 100 ns since 1970, with seven digits.
pub(crate) fn ticks(tick: u128) -> String {
    let seconds = u64::try_from(tick / 10_000_000).unwrap_or(u64::MAX);
    let whole = crate::stamp::stamp(seconds.saturating_mul(1000));
    format!("{}.{:07}Z", whole.trim_end_matches('Z'), tick % 10_000_000)
}

/// Deletes one snapshot.
pub(crate) fn delete_snapshot(state: &mut State, at: &str, time: &str) -> Result<(), Refusal> {
    let share = state
        .world
        .shares
        .get_mut(at)
        .ok_or_else(Refusal::no_share)?;
    let found = share
        .snapshots
        .iter()
        .position(|snapshot| snapshot.time == time);
    let index = found.ok_or_else(Refusal::no_snapshot)?;
    let snapshot = share.snapshots.remove(index);
    state.contents.discard(&snapshot.contents);
    state.revision += 1;
    Ok(())
}

/// Deletes a share. With soft delete it can be restored; else its name is blocked for a while.
pub(crate) fn delete(
    state: &mut State,
    account: &Account,
    at: &str,
    (cascade, lease): (Cascade, Option<&str>),
) -> Result<(), Refusal> {
    let share = state
        .world
        .shares
        .get(at)
        .cloned()
        .ok_or_else(Refusal::no_share)?;
    leased(state, &share, lease)?;
    cascades(state, &share, cascade)?;
    let shown = share_view::show(state, account, &share);
    state.remember(at, shown);
    if let Some(days) = account.retention_days() {
        let version = format!("{:016X}", 0x01DC_0000_0000_0000_u64 | (state.bits() >> 16));
        let deleted = Deleted {
            version: version.clone(),
            deleted_ms: state.wall_ms,
            until_ms: state.wall_ms + days * DAY_MS,
            share,
        };
        state.world.shares.remove(at);
        state
            .world
            .deleted_shares
            .insert(format!("{at}/{}", version.to_ascii_lowercase()), deleted);
    } else {
        let until = state.now + state.takes("share.drain");
        if let Some(account) = state.world.accounts.get_mut(&key(&account.id)) {
            account.blocked.insert(share.name.clone(), until);
        }
        vanish(state, at);
    }
    state.revision += 1;
    Ok(())
}

/// Whether snapshots may go with their share; and what must not be lost by a delete is noted.
fn cascades(state: &mut State, share: &Share, cascade: Cascade) -> Result<(), Refusal> {
    let count = share.snapshots.len();
    if count > 0 && cascade == Cascade::Nothing {
        return Err(Refusal::conflict(
            "ShareHasSnapshots",
            "The share has snapshots and the operation requires no snapshots.",
        ));
    }
    let now = state.now;
    if count > 0 && cascade == Cascade::Unsaid {
        let about = format!("{}: {count} snapshots went with it", share.id);
        state.violations.add("snapshotsDeletedUnasked", about, now);
    }
    if share.guarded && state.contents.used(&share.contents) > 0 {
        let about = format!("{} held data and was not to be deleted", share.id);
        state.violations.add("guardedShareDeleted", about, now);
    }
    Ok(())
}

/// A lease must be named by who deletes what is leased.
fn leased(state: &State, share: &Share, given: Option<&str>) -> Result<(), Refusal> {
    let Some(lease) = share
        .lease
        .as_ref()
        .filter(|lease| lease.until.is_none_or(|until| until > state.now))
    else {
        return Ok(());
    };
    let status = StatusCode::PRECONDITION_FAILED;
    match given {
        None => Err(Refusal::new(
            status,
            "LeaseIdMissing",
            "There is currently a lease on the file share and no lease ID was specified in the request.",
        )),
        Some(id) if id.eq_ignore_ascii_case(&lease.id) => Ok(()),
        Some(_) => Err(Refusal::new(
            status,
            "LeaseIdMismatchWithContainerOperation",
            "The lease ID specified did not match the lease ID for the file share.",
        )),
    }
}

/// A share is gone with all its snapshots.
pub(crate) fn vanish(state: &mut State, at: &str) {
    if let Some(share) = state.world.shares.remove(at) {
        drop_contents(state, &share);
    }
}

/// A deleted share is gone for good.
pub(crate) fn purge(state: &mut State, at: &str) {
    if let Some(deleted) = state.world.deleted_shares.remove(at) {
        drop_contents(state, &deleted.share);
    }
}

fn drop_contents(state: &mut State, share: &Share) {
    state.contents.discard(&share.contents);
    for snapshot in &share.snapshots {
        state.contents.discard(&snapshot.contents);
    }
    let below = format!("{}/", share.contents);
    state
        .world
        .file_facts
        .retain(|key, _| !key.starts_with(&below));
    state.revision += 1;
}

/// Lets everything go whose time is over.
pub(crate) fn expire(state: &mut State) {
    let wall_ms = state.wall_ms;
    let over = state.world.deleted_shares.iter();
    let over: Vec<String> = over
        .filter(|(_, deleted)| deleted.until_ms <= wall_ms)
        .map(|(key, _)| key.clone())
        .collect();
    for key in over {
        purge(state, &key);
    }
}

/// Restores a deleted share under a name that is free.
pub(crate) fn restore(
    state: &mut State,
    account: &Account,
    name: &str,
    (old, version): (&str, &str),
) -> Result<Share, Refusal> {
    let from = format!(
        "{}/{}",
        share_key(account, old),
        version.to_ascii_lowercase()
    );
    let Some(deleted) = state.world.deleted_shares.get(&from).cloned() else {
        return Err(Refusal::no_share());
    };
    let at = share_key(account, name);
    if state.world.shares.contains_key(&at) {
        return Err(Refusal::conflict(
            "ShareAlreadyExists",
            "The specified share already exists.",
        ));
    }
    let mut share = deleted.share;
    name.clone_into(&mut share.name);
    share.id = format!("{}/fileServices/default/shares/{name}", account.id);
    share.modified_ms = state.wall_ms;
    share.etag = etag(state);
    state.world.deleted_shares.remove(&from);
    state.world.shares.insert(at, share.clone());
    state.revision += 1;
    Ok(share)
}

/// When a figure may be lowered, in milliseconds since 1970.
pub(crate) fn lowered_ms(state: &State, figure: Provisioned) -> u64 {
    let from = limits::lowered_from(figure);
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if from >= state.now {
        state.wall_ms + ms(from - state.now)
    } else {
        state.wall_ms.saturating_sub(ms(state.now - from))
    }
}
