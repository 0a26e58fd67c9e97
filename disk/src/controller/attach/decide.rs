//! What a wish means for a machine as it is: pure decisions.

use azcsi_cloud::{AttachDisk, DetachDisk, DetachOption};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::{Lun, LunSet};
use azcsi_types::sku::Caching;

use super::verify::{Seen, VmView};

/// What a waiter wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The disk in a slot of the machine.
    Attach(AttachSpec),
    /// The disk away from the machine.
    Detach(How),
}

/// How a disk is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachSpec {
    /// The disk.
    pub disk: DiskUri,
    /// Host caching that the disk can have.
    pub caching: Caching,
    /// Whether the write accelerator is wanted.
    pub write_accelerator: bool,
    /// Slots that are spoken for, whatever the machine shows.
    pub avoid: LunSet,
}

/// How a disk is detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The guest lets go of it first.
    Graceful,
    /// Without the guest; writes that it has not flushed are lost.
    Forced,
}

/// What is to be done about a wish.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It is fulfilled already; the slot of an attached disk.
    Done(Option<Lun>),
    /// Attach the disk like this.
    Attach(AttachDisk),
    /// Detach it like this.
    Detach(DetachDisk),
    /// The disk is still on its way out of this very machine.
    Leaving,
    /// No slot is left.
    Full,
}

/// Decides about one wish. `taken` holds the slots given away in the same write.
#[must_use]
pub fn decide(view: &VmView, taken: LunSet, disk: &DiskUri, wish: &Wish) -> Decision {
    match wish {
        Wish::Attach(spec) => attach(view, taken, spec),
        Wish::Detach(how) => detach(view.find(disk), disk, *how),
    }
}

fn attach(view: &VmView, taken: LunSet, spec: &AttachSpec) -> Decision {
    match view.find(&spec.disk) {
        Seen::Attached(lun) => return Decision::Done(Some(lun)),
        // Asked for again in its slot: the end of that update proves it.
        Seen::Listed(lun) => return attach_in(lun, spec),
        Seen::Leaving => return Decision::Leaving,
        Seen::Absent => {}
    }
    let used = view.luns().union(taken);
    // Claims of other volumes are avoided as long as there is another slot; a claim that the
    // machine does not show is most likely out of date.
    let Some(lun) = used
        .union(spec.avoid)
        .lowest_free()
        .or_else(|| used.lowest_free())
    else {
        return Decision::Full;
    };
    attach_in(lun, spec)
}

fn attach_in(lun: Lun, spec: &AttachSpec) -> Decision {
    Decision::Attach(AttachDisk {
        lun: Some(lun),
        caching: Some(spec.caching),
        write_accelerator_enabled: spec.write_accelerator.then_some(true),
        ..AttachDisk::new(spec.disk.clone())
    })
}

fn detach(seen: Seen, disk: &DiskUri, how: How) -> Decision {
    match (seen, how) {
        (Seen::Absent, _) => Decision::Done(None),
        // It was told to leave before; telling it again makes a machine try again that gave up.
        (Seen::Attached(_) | Seen::Listed(_) | Seen::Leaving, how) => {
            Decision::Detach(DetachDisk {
                disk_id: disk.clone(),
                detach_option: (how == How::Forced).then_some(DetachOption::ForceDetach),
            })
        }
    }
}

/// Whether what Azure reports fulfils a wish; the slot of an attached disk.
#[must_use]
pub fn fulfilled(view: &VmView, disk: &DiskUri, wish: &Wish) -> Option<Option<Lun>> {
    match (wish, view.find(disk)) {
        (Wish::Attach(_), Seen::Attached(lun)) => Some(Some(lun)),
        (Wish::Detach(_), Seen::Absent) => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{AttachSpec, Decision, How, Wish, decide, fulfilled};
    use crate::controller::attach::verify::{Slot, VmView, Worth};
    use azcsi_cloud::DetachOption;
    use azcsi_types::disk_uri::DiskUri;
    use azcsi_types::lun::{Lun, LunSet};
    use azcsi_types::sku::Caching;

    fn disk(name: &str) -> DiskUri {
        DiskUri::new("s", "g", name).unwrap()
    }

    fn lun(number: i64) -> Lun {
        Lun::try_from(number).unwrap()
    }

    fn view(slots: &[(&str, i64, bool)]) -> VmView {
        let slot = |&(name, number, leaving): &(&str, i64, bool)| Slot {
            disk: Some(disk(name).id().clone()),
            lun: lun(number),
            leaving,
            proven: false,
        };
        VmView {
            slots: slots.iter().map(slot).collect(),
            ..VmView::default()
        }
    }

    fn attach(name: &str, avoid: &[i64]) -> Wish {
        Wish::Attach(AttachSpec {
            disk: disk(name),
            caching: Caching::ReadOnly,
            write_accelerator: false,
            avoid: avoid.iter().map(|&n| lun(n)).collect(),
        })
    }

    fn slot_for(view: &VmView, taken: LunSet, avoid: &[i64]) -> Option<u8> {
        match decide(view, taken, &disk("new"), &attach("new", avoid)) {
            Decision::Attach(attach) => attach.lun.map(Lun::get),
            _ => None,
        }
    }

    #[test]
    fn the_lowest_slot_that_nobody_uses_or_claims_is_taken() {
        let some = view(&[("a", 0, false), ("b", 2, true)]);
        assert_eq!(slot_for(&some, LunSet::EMPTY, &[]), Some(1));
        assert_eq!(slot_for(&some, LunSet::EMPTY, &[1]), Some(3));
        assert_eq!(
            slot_for(&some, [lun(1), lun(3)].into_iter().collect(), &[]),
            Some(4)
        );
    }

    #[test]
    fn claims_never_fill_a_machine_but_disks_do() {
        let all: Vec<i64> = (0..64).collect();
        assert_eq!(slot_for(&view(&[]), LunSet::EMPTY, &all), Some(0));
        let taken: LunSet = Lun::all().collect();
        let full = decide(&view(&[]), taken, &disk("new"), &attach("new", &[]));
        assert_eq!(full, Decision::Full);
    }

    #[test]
    fn what_is_there_is_left_alone_and_what_leaves_is_waited_for() {
        let there = view(&[("a", 7, false), ("b", 8, true)]);
        let wish = |name: &str| decide(&there, LunSet::EMPTY, &disk(name), &attach(name, &[]));
        assert_eq!(wish("A"), Decision::Done(Some(lun(7))));
        assert_eq!(wish("b"), Decision::Leaving);
    }

    #[test]
    fn what_is_only_listed_is_asked_for_again_in_its_slot_and_fulfils_nothing() {
        let listed = VmView {
            worth: Worth::Underway,
            ..view(&[("new", 7, false)])
        };
        assert_eq!(slot_for(&listed, LunSet::EMPTY, &[7]), Some(7));
        assert_eq!(fulfilled(&listed, &disk("new"), &attach("new", &[])), None);
    }

    #[test]
    fn a_detach_is_forced_only_when_told() {
        let there = view(&[("a", 7, false), ("b", 8, true)]);
        let wish = |name: &str, how| decide(&there, LunSet::EMPTY, &disk(name), &Wish::Detach(how));
        assert_eq!(wish("c", How::Forced), Decision::Done(None));
        for (name, how, option) in [
            ("a", How::Graceful, None),
            ("b", How::Graceful, None),
            ("b", How::Forced, Some(DetachOption::ForceDetach)),
        ] {
            let Decision::Detach(detach) = wish(name, how) else {
                panic!("{name} is not detached");
            };
            assert_eq!(detach.detach_option, option);
        }
    }

    #[test]
    fn only_a_report_fulfils_a_wish() {
        let there = view(&[("a", 7, false), ("b", 8, true)]);
        let seen = |name: &str, wish: &Wish| fulfilled(&there, &disk(name), wish);
        let gone = Wish::Detach(How::Graceful);
        assert_eq!(seen("a", &attach("a", &[])), Some(Some(lun(7))));
        assert_eq!(seen("b", &attach("b", &[])), None);
        assert_eq!(seen("c", &attach("c", &[])), None);
        assert_eq!(seen("a", &gone), None);
        assert_eq!(seen("b", &gone), None);
        assert_eq!(seen("c", &gone), Some(None));
    }
}
