//! What the answers of a controller promise, and whether Azure keeps those promises.

use std::collections::{BTreeMap, BTreeSet};

use azcsi_proto::csi::v1;
use azcsi_sim::world::{Machine, leaf};
use azcsi_types::lun::Lun;
use tonic::Code;

use super::step::Call;
use crate::world::{GIB, NODES, World};

/// What a call came to.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Volume(Box<v1::Volume>),
    Slot(Lun),
    Size(i64),
    Done,
    Failed(Code, String),
    /// Its process was killed.
    Killed,
}

impl Outcome {
    /// Whether a client takes it as proof that nothing happened. Those of the others it repeats.
    pub(super) const fn is_final(&self) -> bool {
        match self {
            Self::Failed(code, _) => !is_retryable(*code),
            _ => false,
        }
    }
}

/// The codes after which every sidecar assumes that the work may have been done.
pub(super) const fn is_retryable(code: Code) -> bool {
    matches!(
        code,
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Unavailable
            | Code::ResourceExhausted
            | Code::Aborted
    )
}

/// A volume that was answered.
#[derive(Clone, Debug)]
struct Made {
    volume: v1::Volume,
    unique_id: String,
    gib: u64,
}

/// A call that has begun, and what was already possible before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) call: Call,
    first: bool,
}

/// What is known from answers alone.
#[derive(Debug, Default)]
pub(super) struct Oracle {
    may_exist: BTreeSet<usize>,
    made: BTreeMap<usize, Made>,
    may_hold: BTreeSet<(usize, usize)>,
    held: BTreeMap<(usize, usize), Lun>,
    may_snap: BTreeSet<usize>,
    /// The last publishing asked for, by volume.
    pub(super) wishes: BTreeMap<usize, usize>,
}

pub(super) fn disk_name(volume: usize) -> String {
    format!("pvc-{volume}")
}

pub(super) fn snapshot_name(volume: usize) -> String {
    format!("snap-{volume}")
}

fn machine(world: &azcsi_sim::World, node: usize) -> Option<&Machine> {
    let named = |machine: &&Machine| machine.computer_name == NODES[node];
    world.machines.values().find(named)
}

/// The slot of a disk on a node, as Azure has it.
pub(super) fn slot(world: &azcsi_sim::World, volume: usize, node: usize) -> Option<u32> {
    let name = disk_name(volume);
    let disks = &machine(world, node)?.data_disks;
    let disk = disks.iter().find(|disk| leaf(&disk.disk_id) == name)?;
    Some(disk.lun)
}

pub(super) fn exists(world: &azcsi_sim::World, node: usize) -> bool {
    machine(world, node).is_some()
}

impl Oracle {
    /// The volume as it was answered last.
    pub(super) fn volume(&self, volume: usize) -> Option<&v1::Volume> {
        self.made.get(&volume).map(|made| &made.volume)
    }

    /// Where a volume may be held.
    pub(super) fn holders(&self, volume: usize) -> Vec<usize> {
        let of_volume = self.may_hold.iter().filter(|held| held.0 == volume);
        of_volume.map(|held| held.1).collect()
    }

    /// Something is asked for: from now on it may happen.
    pub(super) fn begin(&mut self, call: Call) -> Begun {
        let first = match call {
            Call::Create(volume) => self.may_exist.insert(volume),
            Call::Publish(volume, node) => {
                self.wishes.insert(volume, node);
                self.may_hold.insert((volume, node))
            }
            Call::Unpublish(volume, node) => {
                self.held.remove(&(volume, node));
                false
            }
            Call::Delete(volume) => {
                self.made.remove(&volume);
                false
            }
            Call::Snapshot(volume) => self.may_snap.insert(volume),
            Call::Expand(..) | Call::DeleteSnapshot(_) => false,
        };
        Begun { call, first }
    }

    /// It was answered. `alone` says that no other call of the time could undo it.
    pub(super) fn end(
        &mut self,
        world: &World,
        (begun, outcome, alone): (Begun, &Outcome, bool),
    ) -> Result<(), String> {
        if !alone {
            return Ok(());
        }
        let azure = world.sim.world();
        match (begun.call, outcome) {
            (Call::Create(volume), Outcome::Volume(made)) => self.created(&azure, volume, made)?,
            (Call::Create(volume), failed) if failed.is_final() && begun.first => {
                self.may_exist.remove(&volume);
            }
            (Call::Delete(volume), Outcome::Done) => {
                self.may_exist.remove(&volume);
            }
            (Call::Publish(volume, node), Outcome::Slot(lun)) => {
                self.held.insert((volume, node), *lun);
            }
            (Call::Publish(volume, node), failed) if failed.is_final() && begun.first => {
                self.free(world, volume, node);
            }
            (Call::Unpublish(volume, node), Outcome::Done) => self.free(world, volume, node),
            (Call::Expand(volume, gib), Outcome::Size(size)) => self.grown(volume, gib, *size)?,
            (Call::Snapshot(volume), failed) if failed.is_final() && begun.first => {
                self.may_snap.remove(&volume);
            }
            (Call::DeleteSnapshot(volume), Outcome::Done) => {
                self.may_snap.remove(&volume);
            }
            _ => {}
        }
        Ok(())
    }

    fn free(&mut self, world: &World, volume: usize, node: usize) {
        self.may_hold.remove(&(volume, node));
        world
            .kubernetes
            .unclaim(&super::play::volume_id(volume), NODES[node]);
    }

    fn created(
        &mut self,
        azure: &azcsi_sim::World,
        volume: usize,
        answered: &v1::Volume,
    ) -> Result<(), String> {
        let name = disk_name(volume);
        let disk = azure.disks.values().find(|disk| leaf(&disk.id) == name);
        let disk = disk.ok_or_else(|| format!("{name} was answered and does not exist"))?;
        let gib = u64::try_from(answered.capacity_bytes / GIB).unwrap();
        if let Some(before) = self.made.get(&volume)
            && before.unique_id != disk.unique_id
        {
            return Err(format!("{name} was replaced by another disk"));
        }
        let gib = self.made.get(&volume).map_or(gib, |made| made.gib.max(gib));
        let made = Made {
            volume: answered.clone(),
            unique_id: disk.unique_id.clone(),
            gib,
        };
        self.made.insert(volume, made);
        Ok(())
    }

    fn grown(&mut self, volume: usize, asked: u64, size: i64) -> Result<(), String> {
        let gib = u64::try_from(size / GIB).unwrap();
        if gib < asked {
            return Err(format!("{volume} should have {asked} GiB and has {gib}"));
        }
        if let Some(made) = self.made.get_mut(&volume) {
            made.gib = made.gib.max(gib);
        }
        Ok(())
    }

    /// Whether Azure is as the answers say.
    pub(super) fn check(&self, world: &World) -> Result<(), String> {
        world.sim.settle();
        let violations = world.sim.violations();
        if !violations.is_empty() {
            return Err(format!("{violations:?}"));
        }
        let azure = world.sim.world();
        self.check_disks(&azure)?;
        self.check_slots(&azure)?;
        for snapshot in azure.snapshots.values() {
            let known = |volume: &usize| snapshot_name(*volume) == leaf(&snapshot.id);
            if !self.may_snap.iter().any(known) {
                return Err(format!("{} is nobody's", snapshot.id));
            }
        }
        Ok(())
    }

    fn check_disks(&self, azure: &azcsi_sim::World) -> Result<(), String> {
        for disk in azure.disks.values() {
            let known = |volume: &usize| disk_name(*volume) == leaf(&disk.id);
            if !self.may_exist.iter().any(known) {
                return Err(format!("{} is nobody's", disk.id));
            }
        }
        for (volume, made) in &self.made {
            let name = disk_name(*volume);
            let disk = azure.disks.values().find(|disk| leaf(&disk.id) == name);
            let disk = disk.ok_or_else(|| format!("{name} is lost"))?;
            if disk.unique_id != made.unique_id {
                return Err(format!("{name} is another disk"));
            }
            if disk.gib < made.gib {
                return Err(format!("{name} has {} GiB, not {}", disk.gib, made.gib));
            }
        }
        Ok(())
    }

    fn check_slots(&self, azure: &azcsi_sim::World) -> Result<(), String> {
        for volume in 0..super::step::VOLUMES {
            for (node, name) in NODES.iter().enumerate() {
                let pair = (volume, node);
                let real = slot(azure, volume, node);
                if real.is_some() && !self.may_hold.contains(&pair) {
                    return Err(format!("pvc-{volume} is on {name}, where nobody wants it"));
                }
                let promised = self.held.get(&pair).map(|lun| u32::from(lun.get()));
                if promised.is_some() && exists(azure, node) && real != promised {
                    return Err(format!(
                        "pvc-{volume} on {name}: answered slot {promised:?}, real {real:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}
