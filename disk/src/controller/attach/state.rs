//! The life of one wish of a waiter: its states, its events, and the one table between them.

/// Where a wish is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttachState {
    /// Nothing was sent to Azure yet; the waiter can still take it back.
    Queued,
    /// It is part of a write that is under way.
    Writing,
    /// The write ended, well or not; what Azure reports has to be looked at.
    Verifying,
    /// The waiter has its answer.
    Settled,
}

/// What can happen to a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// It was put into a write.
    Sent,
    /// The write ended, with whatever result.
    Ended,
    /// Azure reports that it is fulfilled.
    Seen,
    /// Azure reports that it is not fulfilled, and another try is allowed.
    Missing,
    /// It cannot be fulfilled now.
    Failed,
    /// The waiter has gone away.
    Withdrawn,
}

impl AttachState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Writing, Self::Verifying, Self::Settled];

    /// The next state; `None` if the event cannot happen here.
    #[must_use]
    pub const fn on(self, event: Event) -> Option<Self> {
        match (self, event) {
            (Self::Queued, Event::Sent) => Some(Self::Writing),
            // A write that is under way is not called back; its result is looked at all the same.
            (Self::Writing, Event::Ended) => Some(Self::Verifying),
            (Self::Writing, Event::Withdrawn) => Some(Self::Writing),
            (Self::Verifying, Event::Missing) => Some(Self::Queued),
            (Self::Queued | Self::Verifying, Event::Seen | Event::Failed | Event::Withdrawn) => {
                Some(Self::Settled)
            }
            _ => None,
        }
    }

    /// Whether nothing will happen any more.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Settled)
    }
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 6] = [
        Self::Sent,
        Self::Ended,
        Self::Seen,
        Self::Missing,
        Self::Failed,
        Self::Withdrawn,
    ];
}

#[cfg(test)]
mod tests {
    use super::AttachState::{Queued, Settled, Verifying, Writing};
    use super::{AttachState, Event};

    #[test]
    fn every_pair_is_decided() {
        let expected = |state, event| match (state, event) {
            (Queued, Event::Sent) => Some(Writing),
            (Queued, Event::Seen | Event::Failed | Event::Withdrawn) => Some(Settled),
            (Queued, Event::Ended | Event::Missing) => None,
            (Writing, Event::Ended) => Some(Verifying),
            (Writing, Event::Withdrawn) => Some(Writing),
            (Writing, Event::Sent | Event::Seen | Event::Missing | Event::Failed) => None,
            (Verifying, Event::Seen | Event::Failed | Event::Withdrawn) => Some(Settled),
            (Verifying, Event::Missing) => Some(Queued),
            (Verifying, Event::Sent | Event::Ended) => None,
            (Settled, _) => None,
        };
        for state in AttachState::ALL {
            for event in Event::ALL {
                assert_eq!(
                    state.on(event),
                    expected(state, event),
                    "{state:?} {event:?}"
                );
            }
        }
    }

    #[test]
    fn what_was_sent_is_looked_at_before_it_is_answered() {
        for event in Event::ALL {
            assert_ne!(Writing.on(event), Some(Settled), "{event:?}");
            assert_eq!(Settled.on(event), None, "{event:?}");
        }
    }
}
