//! When a disk may be detached without its guest.
//!
//! Writes that the guest has not flushed are lost, so nothing but this rule leads there: never an
//! error, a conflict or throttling.

use std::time::Duration;

use super::decide::How;
use crate::controller::ports::NodeState;

/// How long a detach is tried gracefully on a node that an operator has fenced.
pub const FENCED: Duration = Duration::from_secs(30);
/// How long it is tried on a node that does not report; Kubernetes itself waits as long.
pub const SILENT: Duration = Duration::from_secs(6 * 60);

/// Decides how to detach, from the state of the node and for how long the disk has been stuck.
#[must_use]
pub fn decide(state: NodeState, stuck: Option<Duration>) -> How {
    let patience = match state {
        NodeState::OutOfService => FENCED,
        NodeState::NotReady | NodeState::Absent => SILENT,
        NodeState::Ready | NodeState::Unknown => return How::Graceful,
    };
    match stuck {
        Some(time) if time >= patience => How::Forced,
        _ => How::Graceful,
    }
}

#[cfg(test)]
mod tests {
    use super::{FENCED, SILENT, decide};
    use crate::controller::attach::decide::How;
    use crate::controller::ports::NodeState;
    use std::time::Duration;

    #[test]
    fn a_disk_is_forced_off_only_when_stuck_on_a_node_that_is_down() {
        let states = [
            (NodeState::Ready, None),
            (NodeState::Unknown, None),
            (NodeState::NotReady, Some(SILENT)),
            (NodeState::Absent, Some(SILENT)),
            (NodeState::OutOfService, Some(FENCED)),
        ];
        for (state, patience) in states {
            assert_eq!(decide(state, None), How::Graceful, "{state:?}");
            for seconds in [0, 29, 30, 359, 360, 100_000] {
                let stuck = Duration::from_secs(seconds);
                let forced = patience.is_some_and(|patience| stuck >= patience);
                let expected = if forced { How::Forced } else { How::Graceful };
                assert_eq!(decide(state, Some(stuck)), expected, "{state:?} {seconds}");
            }
        }
    }
}
