//! What to do at a staging path, at a target path, and with a mount that is dead. Pure.

use azcsi_host::liveness::Liveness;
use azcsi_types::access::AccessMode;

/// What is mounted at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Whether it is the volume.
    pub is_volume: bool,
    /// Whether it answers.
    pub life: Liveness,
    /// Whether it is read-only.
    pub read_only: bool,
}

/// What to do at a staging path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStaging {
    /// Mount there.
    Mount,
    /// Nothing: the volume is there already.
    Staged,
    /// Take the dead mount out of sight, then mount anew. Pods that have the old one keep it, and are
    /// reported.
    Replace,
    /// The server does not answer, which it may do again: try later.
    Wait,
    /// Leave it alone.
    Refuse(&'static str),
}

/// Decides it.
#[must_use]
pub const fn at_staging(found: Option<Mounted>, read_only: bool) -> AtStaging {
    let Some(found) = found else {
        return AtStaging::Mount;
    };
    if !found.is_volume {
        return AtStaging::Refuse("something else is mounted there");
    }
    match found.life {
        Liveness::Dead(_) => return AtStaging::Replace,
        Liveness::Silent => return AtStaging::Wait,
        Liveness::Alive => {}
    }
    if found.read_only != read_only {
        return AtStaging::Refuse("it is mounted there with other write access");
    }
    AtStaging::Staged
}

/// What to do at a target path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtTarget {
    /// Mount there.
    Mount,
    /// Nothing: the volume is there already.
    Published,
    /// It is there and dead. A running pod may have files open below it, and after an unmount it
    /// would write to the disk of the node: it stays, and is reported.
    Dead,
    /// Leave it alone.
    Refuse(&'static str),
}

/// Decides it.
#[must_use]
pub const fn at_target(found: Option<Mounted>, read_only: bool) -> AtTarget {
    let Some(found) = found else {
        return AtTarget::Mount;
    };
    if !found.is_volume {
        return AtTarget::Refuse("something else is mounted there");
    }
    if !found.life.is_alive() {
        return AtTarget::Dead;
    }
    if found.read_only != read_only {
        return AtTarget::Refuse("it is published there with other write access");
    }
    AtTarget::Published
}

/// What to do with a staged mount before it is published once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// It works.
    Use,
    /// It is dead and nobody has it: mount it anew.
    Restage,
    /// It is dead and pods have it: they have to go first.
    Report,
    /// The server does not answer, which it may do again.
    Wait,
}

/// Decides it. `others` is at how many other paths the very mount is published.
#[must_use]
pub const fn repair(life: Liveness, others: usize) -> Repair {
    match (life, others) {
        (Liveness::Alive, _) => Repair::Use,
        (Liveness::Silent, _) => Repair::Wait,
        (Liveness::Dead(_), 0) => Repair::Restage,
        (Liveness::Dead(_), _) => Repair::Report,
    }
}

/// Whether a volume that is published at `others` other paths may be published at one more (CSI,
/// "NodePublishVolume"). Only the mode for a single writer forbids it.
#[must_use]
pub const fn allows_another(mode: AccessMode, others: usize) -> bool {
    others == 0 || !matches!(mode, AccessMode::SingleNodeSingleWriter)
}

#[cfg(test)]
mod tests {
    use azcsi_host::liveness::Liveness;
    use azcsi_types::access::AccessMode;
    use nix::libc;

    use super::{
        AtStaging, AtTarget, Mounted, Repair, allows_another, at_staging, at_target, repair,
    };

    const GOOD: Mounted = Mounted {
        is_volume: true,
        life: Liveness::Alive,
        read_only: false,
    };

    fn with(life: Liveness) -> Option<Mounted> {
        Some(Mounted { life, ..GOOD })
    }

    #[test]
    fn a_dead_staging_mount_is_replaced_and_a_silent_one_waited_for_smb_01() {
        let dead = Liveness::Dead(libc::EHOSTDOWN);
        assert_eq!(at_staging(None, false), AtStaging::Mount);
        assert_eq!(at_staging(Some(GOOD), false), AtStaging::Staged);
        assert_eq!(at_staging(with(dead), false), AtStaging::Replace);
        assert_eq!(at_staging(with(Liveness::Silent), false), AtStaging::Wait);
        assert!(matches!(at_staging(Some(GOOD), true), AtStaging::Refuse(_)));
        let other = Mounted {
            is_volume: false,
            life: dead,
            ..GOOD
        };
        assert!(matches!(
            at_staging(Some(other), false),
            AtStaging::Refuse(_)
        ));
    }

    #[test]
    fn a_dead_target_stays_where_it_is() {
        assert_eq!(at_target(None, false), AtTarget::Mount);
        assert_eq!(at_target(Some(GOOD), false), AtTarget::Published);
        for life in [Liveness::Silent, Liveness::Dead(libc::ESTALE)] {
            assert_eq!(at_target(with(life), false), AtTarget::Dead);
        }
        assert!(matches!(at_target(Some(GOOD), true), AtTarget::Refuse(_)));
    }

    #[test]
    fn nothing_is_repaired_under_a_pod_smb_01() {
        let dead = Liveness::Dead(libc::ESTALE);
        assert_eq!(repair(Liveness::Alive, 3), Repair::Use);
        assert_eq!(repair(dead, 0), Repair::Restage);
        assert_eq!(repair(dead, 1), Repair::Report);
        assert_eq!(repair(Liveness::Silent, 0), Repair::Wait);
    }

    #[test]
    fn only_a_single_writer_is_alone() {
        for mode in AccessMode::ALL {
            let alone = mode == AccessMode::SingleNodeSingleWriter;
            assert!(allows_another(mode, 0));
            assert_eq!(allows_another(mode, 1), !alone);
        }
    }
}
