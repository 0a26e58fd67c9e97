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
    let fresh = proposed.unwrap_or_else(|| state.guid());
    let share = state
        .world
        .shares
        .get_mut(at)
        .ok_or_else(Refusal::no_share)?;
    let current = share
        .lease
        .clone()
        .filter(|lease| lease.until.is_none_or(|until| until > now));
    let mine = current.as_ref().is_some_and(|lease| {
        id.as_ref()
            .is_some_and(|id| id.eq_ignore_ascii_case(&lease.id))
    });
    let until = match seconds {
        -1 => None,
        15..=60 => Some(now + Duration::from_secs(seconds.unsigned_abs())),
        _ => {
            return Err(Refusal::bad(
                "InvalidHeaderValue",
                "The value for one of the HTTP headers is not in the correct format.",
            )
            .about("x-ms-lease-duration", seconds));
        }
    };
    let refuse = |code, message: &str| Err(Refusal::conflict(code, message));
    let left = match (action, &current) {
        ("acquire", Some(_)) if !mine => {
            return refuse("LeaseAlreadyPresent", "There is already a lease present.");
        }
        ("acquire", _) => Some(Lease { id: fresh, until }),
        ("break", Some(_)) => None,
        ("release" | "renew" | "change", Some(_)) if !mine => {
            return refuse(
                "LeaseIdMismatchWithLeaseOperation",
                "The lease ID specified did not match the lease ID for the file share.",
            );
        }
        ("release", Some(_)) => None,
        ("renew", Some(lease)) => Some(lease.clone()),
        ("change", Some(lease)) => Some(Lease {
            id: fresh,
            until: lease.until,
        }),
        ("release" | "renew" | "change" | "break", None) => {
            return refuse(
                "LeaseNotPresentWithLeaseOperation",
                "There is currently no lease on the file share.",
            );
        }
        _ => {
            return Err(Refusal::bad(
                "InvalidHeaderValue",
                "The lease action is not one of those known.",
            )
            .about("x-ms-lease-action", action));
        }
    };
    let given = left.as_ref().map(|lease| lease.id.clone());
    share.lease = left;
    state.revision += 1;
    Ok(given)
}
