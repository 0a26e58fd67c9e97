//! The states of one conversion and their order.
//!
//! A state is written to the journal before its work begins. Work is the same when it is done twice,
//! so whoever finds a journal repeats its state and goes on.

use serde::{Deserialize, Serialize};

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Step {
    /// Everything is written down.
    Journaled,
    /// The server was asked whether it will take the new objects.
    DryRunOk,
    /// The old volume has the policy Retain, seen by all.
    Retained,
    /// Nothing uses the claim.
    Quiesced,
    /// Nothing is attached.
    Detached,
    /// The old claim is gone.
    Unbound,
    /// The old volume is gone.
    OldVolumeDeleted,
    /// The new volume is there.
    NewVolume,
    /// The claim is bound to it.
    NewClaim,
    /// Old and new were compared.
    Verified,
    /// The workload runs again.
    Resumed,
    /// The reclaim policy is what it was.
    Finalized,
    /// Back: nothing uses the claim.
    BackQuiesced,
    /// Back: nothing is attached.
    BackDetached,
    /// Back: whatever volume is there has the policy Retain.
    BackRetained,
    /// Back: the new claim is gone.
    BackUnbound,
    /// Back: the new volume is gone.
    BackVolumeDeleted,
    /// Back: the old volume is there.
    BackVolume,
    /// Back: the claim is bound to it.
    BackClaim,
    /// Back: the workload runs again.
    BackResumed,
    /// Back: the reclaim policy is what it was.
    RolledBack,
}

impl Step {
    /// The way forward.
    pub const FORWARD: [Self; 11] = [
        Self::Journaled,
        Self::DryRunOk,
        Self::Retained,
        Self::Quiesced,
        Self::Detached,
        Self::Unbound,
        Self::OldVolumeDeleted,
        Self::NewVolume,
        Self::NewClaim,
        Self::Verified,
        Self::Resumed,
    ];

    /// The way back.
    pub const BACK: [Self; 9] = [
        Self::BackQuiesced,
        Self::BackDetached,
        Self::BackRetained,
        Self::BackUnbound,
        Self::BackVolumeDeleted,
        Self::BackVolume,
        Self::BackClaim,
        Self::BackResumed,
        Self::RolledBack,
    ];

    /// What comes after it; `None` at an end.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        [&Self::FORWARD[..], &Self::BACK[..]]
            .into_iter()
            .find_map(|way| {
                let at = way.iter().position(|step| *step == self)?;
                way.get(at + 1).copied()
            })
    }

    /// Whether the old objects are still there, so that stopping costs nothing.
    #[must_use]
    pub fn is_harmless(self) -> bool {
        self < Self::Unbound
    }

    /// Whether it is on the way back.
    #[must_use]
    pub fn is_back(self) -> bool {
        self >= Self::BackQuiesced
    }

    /// What it does, for people.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::Journaled => "write the originals down",
            Self::DryRunOk => "ask whether the new objects will be taken",
            Self::Retained => "set the reclaim policy to Retain and wait until all have seen it",
            Self::Quiesced | Self::BackQuiesced => "pause the workload and wait for its pods to go",
            Self::Detached | Self::BackDetached => "wait until nothing is attached",
            Self::Unbound => "delete the old claim",
            Self::OldVolumeDeleted => "delete the old volume object, never its disk",
            Self::NewVolume => "make the CSI volume",
            Self::NewClaim => "make the claim and wait until it is bound",
            Self::Verified => "compare old and new",
            Self::Resumed | Self::BackResumed => "let the workload run again",
            Self::Finalized | Self::RolledBack => "put the reclaim policy back",
            Self::BackRetained => "make sure of the policy Retain",
            Self::BackUnbound => "delete the new claim",
            Self::BackVolumeDeleted => "delete the CSI volume object, never its disk",
            Self::BackVolume => "make the old volume again",
            Self::BackClaim => "make the old claim again and wait until it is bound",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn both_ways_lead_to_their_ends() {
        let mut step = Step::Journaled;
        let mut count = 1;
        while let Some(next) = step.next() {
            assert!(step < next);
            step = next;
            count += 1;
        }
        assert_eq!((step, count), (Step::Resumed, Step::FORWARD.len()));
        assert_eq!(Step::BackResumed.next(), Some(Step::RolledBack));
        assert_eq!(Step::RolledBack.next(), None);
        assert_eq!(Step::Finalized.next(), None);
        assert!(Step::Detached.is_harmless() && !Step::Unbound.is_harmless());
        assert!(Step::BackQuiesced.is_back() && !Step::Finalized.is_back());
    }
}
