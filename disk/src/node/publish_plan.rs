//! What to do at a target path. Pure (CSI, "NodePublishVolume", second publish on one node).

use azcsi_types::access::AccessMode;

/// What is mounted at the target path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Whether it is the volume, all of it.
    pub is_volume: bool,
    /// Whether its device still works.
    pub is_alive: bool,
    /// Whether it is read-only.
    pub read_only: bool,
}

/// What to do there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtTarget {
    /// Bind the volume there.
    Bind,
    /// Nothing: it is there already.
    Published,
    /// Take away what is left of a dead device, then bind.
    CleanUp,
    /// Leave it alone.
    Refuse(&'static str),
}

/// Decides it.
#[must_use]
pub const fn at_target(mounted: Option<Mounted>, read_only: bool) -> AtTarget {
    let Some(mounted) = mounted else {
        return AtTarget::Bind;
    };
    if !mounted.is_alive {
        return AtTarget::CleanUp;
    }
    if !mounted.is_volume {
        return AtTarget::Refuse("something else is mounted there");
    }
    if mounted.read_only != read_only {
        return AtTarget::Refuse("it is published there with other write access");
    }
    AtTarget::Published
}

/// Whether a volume that is published at `others` other paths may be published at one more. Only the
/// mode for a single writer forbids it: kubelet publishes ReadWriteOnce volumes to several pods of a
/// node, under whichever of the other modes it knows.
#[must_use]
pub const fn allows_another(mode: AccessMode, others: usize) -> bool {
    others == 0 || !matches!(mode, AccessMode::SingleNodeSingleWriter)
}

#[cfg(test)]
mod tests {
    use azcsi_types::access::AccessMode;

    use super::{AtTarget, Mounted, allows_another, at_target};

    #[test]
    fn a_target_is_bound_once() {
        let good = Mounted {
            is_volume: true,
            is_alive: true,
            read_only: false,
        };
        assert_eq!(at_target(None, false), AtTarget::Bind);
        assert_eq!(at_target(Some(good), false), AtTarget::Published);
        assert!(matches!(at_target(Some(good), true), AtTarget::Refuse(_)));
        let read_only = Mounted {
            read_only: true,
            ..good
        };
        assert_eq!(at_target(Some(read_only), true), AtTarget::Published);
        let other = Mounted {
            is_volume: false,
            ..good
        };
        assert!(matches!(at_target(Some(other), false), AtTarget::Refuse(_)));
        let dead = Mounted {
            is_alive: false,
            ..other
        };
        assert_eq!(at_target(Some(dead), false), AtTarget::CleanUp);
    }

    #[test]
    fn only_a_single_writer_is_alone() {
        for mode in AccessMode::ALL {
            assert!(allows_another(mode, 0));
            let alone = mode == AccessMode::SingleNodeSingleWriter;
            assert_eq!(allows_another(mode, 1), !alone, "{mode:?}");
        }
    }
}
