//! In which order accounts that match are used.
//!
//! The order depends on the accounts and on the volume's name alone, so a repeated request, even to
//! another process, comes to the account of the first.

use std::time::Duration;

use azcsi_cloud::Account;
use azcsi_types::account::AccountUri;
use sha2::{Digest as _, Sha256};

use crate::model::params::Pick;
use crate::model::tags;

/// For how long after it became full an account is asked whether it has the volume: longer than a
/// provisioner waits between two tries.
pub const LOOK_BACK: Duration = Duration::from_secs(3600);

/// How full an account is, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Nothing says that it is full.
    Some,
    /// It became full so long ago.
    FullSince(Duration),
    /// Its owner, or another driver, marked it at an unknown time.
    Marked,
}

/// An account that matches.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The account.
    pub account: Account,
    /// How full it is.
    pub room: Room,
}

/// In which order accounts are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// These became full lately: an earlier try may have left the volume in one of them.
    pub look: Vec<AccountUri>,
    /// These are tried, one after the other.
    pub tries: Vec<AccountUri>,
}

/// How to order.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    /// The class's choice.
    pub pick: Pick,
    /// The volume.
    pub volume: &'a str,
    /// The account of the volume that is copied.
    pub prefer: Option<&'a AccountUri>,
    /// After this time a full account is tried again, before a new one is made.
    pub retry: Duration,
}

/// The order of some accounts, all of which match.
#[must_use]
pub fn order(mut candidates: Vec<Candidate>, rule: &Rule<'_>) -> Order {
    candidates.sort_by_cached_key(|candidate| rank(candidate, rule));
    let mut order = Order::default();
    let mut last = Vec::new();
    for Candidate { account, room } in candidates {
        match room {
            Room::Some => order.tries.push(account.id),
            Room::FullSince(age) => {
                if age < LOOK_BACK {
                    order.look.push(account.id.clone());
                }
                if age >= rule.retry {
                    last.push(account.id);
                }
            }
            Room::Marked => {}
        }
    }
    order.tries.extend(last);
    order
}

/// What sorts first is used first. New accounts come last among the old, so that the first choice of
/// a volume does not change when one is added.
fn rank(candidate: &Candidate, rule: &Rule<'_>) -> (bool, String, String) {
    let id = &candidate.account.id;
    let spread = match rule.pick {
        Pick::Oldest => {
            let made = candidate.account.properties.creation_time.as_deref();
            made.unwrap_or("9999").to_owned()
        }
        Pick::Spread => {
            let digest = Sha256::digest(format!("{}\n{}", rule.volume, id.folded()).as_bytes());
            crate::model::names::hex(&digest, 32)
        }
    };
    (rule.prefer != Some(id), spread, id.folded())
}

/// How full an account's own tag says that it is. The driver writes the time; an empty value is
/// another driver's, or the owner's.
#[must_use]
pub fn room(account: &Account, wall: Duration) -> Room {
    match tags::find(&account.tags, tags::SKIP) {
        None => Room::Some,
        Some(text) => match text.parse::<u64>() {
            Ok(since) => Room::FullSince(wall.saturating_sub(Duration::from_secs(since))),
            Err(_) => Room::Marked,
        },
    }
}

#[cfg(test)]
mod tests;
