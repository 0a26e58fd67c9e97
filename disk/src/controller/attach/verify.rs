//! What Azure reports about the disks of a machine.

use std::time::Duration;

use azcsi_cloud::{DataDiskList, ProvisioningState, StorageProfile, Vm};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::{Lun, LunSet};
use azcsi_types::resource_id::ResourceId;

/// What the list of a machine's disks is worth. It shows what was asked for, so it is a fact only
/// once the last update has succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Worth {
    /// The machine is as its list says.
    #[default]
    Fact,
    /// An update is under way, or nobody ever ended it.
    Underway,
    /// The last update failed.
    Failed,
}

/// The data disks of a machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmView {
    /// Its slots in use.
    pub slots: Vec<Slot>,
    /// What they are worth.
    pub worth: Worth,
    /// When Azure reported it, on the axis of the clock.
    pub at: Duration,
}

/// One slot in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The disk; `None` for disks that are no managed ones.
    pub disk: Option<ResourceId>,
    /// The slot.
    pub lun: Lun,
    /// Whether the disk is on its way out.
    pub leaving: bool,
    /// Whether the disk itself says that the machine holds it.
    pub proven: bool,
}

/// Where a disk is on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// In this slot.
    Attached(Lun),
    /// In this slot as far as a list says that is no fact.
    Listed(Lun),
    /// In a slot, on its way out.
    Leaving,
    /// Nowhere.
    Absent,
}

impl VmView {
    /// The view of a machine that was read.
    #[must_use]
    pub fn of_vm(vm: &Vm, at: Duration) -> Self {
        Self {
            slots: slots(vm.data_disks()),
            worth: match vm.properties.provisioning_state {
                Some(ProvisioningState::Succeeded) => Worth::Fact,
                Some(ProvisioningState::Failed) => Worth::Failed,
                _ => Worth::Underway,
            },
            at,
        }
    }

    /// The view in the answer of a write that succeeded.
    #[must_use]
    pub fn of_profile(profile: &StorageProfile, at: Duration) -> Self {
        Self {
            slots: slots(&profile.data_disks),
            worth: Worth::Fact,
            at,
        }
    }

    /// Where a disk is.
    #[must_use]
    pub fn find(&self, disk: &DiskUri) -> Seen {
        let of_disk = |slot: &&Slot| slot.disk.as_ref() == Some(disk.id());
        match self.slots.iter().find(of_disk) {
            None => Seen::Absent,
            Some(slot) if slot.leaving => Seen::Leaving,
            Some(slot) if slot.proven || self.worth == Worth::Fact => Seen::Attached(slot.lun),
            Some(slot) => Seen::Listed(slot.lun),
        }
    }

    /// The disk itself says that this machine holds it.
    pub fn prove(&mut self, disk: &DiskUri) {
        let of_disk = |slot: &&mut Slot| slot.disk.as_ref() == Some(disk.id());
        if let Some(slot) = self.slots.iter_mut().find(of_disk) {
            slot.proven = true;
        }
    }

    /// The slots in use, those of leaving disks included.
    #[must_use]
    pub fn luns(&self) -> LunSet {
        self.slots.iter().map(|slot| slot.lun).collect()
    }
}

fn slots(list: &DataDiskList) -> Vec<Slot> {
    list.entries()
        .iter()
        .map(|entry| Slot {
            disk: entry.disk_id().cloned(),
            lun: entry.lun,
            leaving: entry.is_leaving(),
            proven: false,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Seen, Slot, VmView, Worth};
    use azcsi_types::disk_uri::DiskUri;
    use azcsi_types::lun::Lun;

    #[test]
    fn a_disk_is_found_whatever_the_case_of_its_id() {
        let disk = DiskUri::new("S", "G", "D").unwrap();
        let slot = |leaving| Slot {
            disk: Some(DiskUri::new("s", "g", "d").unwrap().id().clone()),
            lun: Lun::try_from(5).unwrap(),
            leaving,
            proven: false,
        };
        let view = |slots| VmView {
            slots,
            ..VmView::default()
        };
        assert_eq!(view(vec![]).find(&disk), Seen::Absent);
        assert_eq!(view(vec![slot(true)]).find(&disk), Seen::Leaving);
        let there = view(vec![slot(false)]);
        assert_eq!(there.find(&disk), Seen::Attached(Lun::try_from(5).unwrap()));
        assert!(there.luns().contains(Lun::try_from(5).unwrap()));
    }

    #[test]
    fn a_list_is_no_proof_while_an_update_runs_or_after_it_failed_ad_14_ad_16() {
        let disk = DiskUri::new("s", "g", "d").unwrap();
        let lun = Lun::try_from(5).unwrap();
        for worth in [Worth::Underway, Worth::Failed] {
            let slot = Slot {
                disk: Some(disk.id().clone()),
                lun,
                leaving: false,
                proven: false,
            };
            let mut view = VmView {
                slots: vec![slot],
                worth,
                ..VmView::default()
            };
            assert_eq!(view.find(&disk), Seen::Listed(lun));
            view.prove(&disk);
            assert_eq!(view.find(&disk), Seen::Attached(lun));
        }
    }
}
