//! Leases on shares: taken, renewed, changed, given back, broken.

use std::time::Duration;

use crate::state::State;
use crate::storage::model::Lease;
use crate::storage::share_rules::Refusal;

/// What was sent along: the lease's id, a new one, and seconds (-1 for ever).
pub(crate) type Given = (Option<String>, Option<String>, i64);

/// Does what is asked and gives the id of the lease; none when there is no lease any more.
pub(crate) fn act(
    state: &mut State,
    at: &str,
    action: &str,
    (id, proposed, seconds): Given,
) -> Result<Option<String>, Refusal> {
    let now = state.now;
    let fresh = Lease {
        id: proposed.unwrap_or_else(|| state.guid()),
        until: until(now, seconds)?,
    };
    let share = state
        .world
        .shares
        .get_mut(at)
        .ok_or_else(Refusal::no_share)?;
    let current = share.lease.clone();
    let current = current.filter(|lease| lease.until.is_none_or(|until| until > now));
    share.lease = after(action, (current, id.as_deref()), fresh)?;
    let given = share.lease.as_ref().map(|lease| lease.id.clone());
    state.revision += 1;
    Ok(given)
}

/// When a lease of so many seconds ends.
fn until(now: Duration, seconds: i64) -> Result<Option<Duration>, Refusal> {
    match seconds {
        -1 => Ok(None),
        15..=60 => Ok(Some(now + Duration::from_secs(seconds.unsigned_abs()))),
        _ => Err(Refusal::bad(
            "InvalidHeaderValue",
            "The value for one of the HTTP headers is not in the correct format.",
        )
        .about("x-ms-lease-duration", seconds)),
    }
}

/// The lease after an action by someone who names `id`.
fn after(
    action: &str,
    (current, id): (Option<Lease>, Option<&str>),
    fresh: Lease,
) -> Result<Option<Lease>, Refusal> {
    let mine = |lease: &Lease| id.is_some_and(|id| id.eq_ignore_ascii_case(&lease.id));
    let refuse = |code, message: &str| Err(Refusal::conflict(code, message));
    match (action, current) {
        ("acquire", Some(lease)) if !mine(&lease) => {
            refuse("LeaseAlreadyPresent", "There is already a lease present.")
        }
        ("acquire", _) => Ok(Some(fresh)),
        ("break", Some(_)) => Ok(None),
        ("release" | "renew" | "change", Some(lease)) if !mine(&lease) => refuse(
            "LeaseIdMismatchWithLeaseOperation",
            "The lease ID specified did not match the lease ID for the file share.",
        ),
        ("release", Some(_)) => Ok(None),
        ("renew", Some(lease)) => Ok(Some(lease)),
        ("change", Some(lease)) => Ok(Some(Lease {
            id: fresh.id,
            until: lease.until,
        })),
        ("release" | "renew" | "change" | "break", None) => refuse(
            "LeaseNotPresentWithLeaseOperation",
            "There is currently no lease on the file share.",
        ),
        _ => Err(Refusal::bad(
            "InvalidHeaderValue",
            "The lease action is not one of those known.",
        )
        .about("x-ms-lease-action", action)),
    }
}
