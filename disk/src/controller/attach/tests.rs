//! The engine against a scripted Azure, in paused time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use azcsi_cloud::DataDiskChanges;
use azcsi_rpc::SystemClock;
use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::Fault;
use azcsi_types::lun::{Lun, LunSet};
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;
use azcsi_types::sku::Caching;
use futures_util::future::{BoxFuture, join_all};

use super::AttachEngine;
use super::decide::{AttachSpec, How};
use super::error::{AttachError, VmError, VmErrorKind};
use super::machines::Machines;
use super::verify::{Slot, VmView, Worth};

/// What the scripted Azure does with a write.
#[derive(Clone, Debug)]
enum Then {
    /// Fails without any effect.
    Fail(VmErrorKind),
    /// Has its effect, and fails all the same.
    DoAndFail(VmErrorKind),
    /// Says that it succeeded, but did nothing.
    Nothing,
}

#[derive(Debug, Default)]
struct World {
    disks: BTreeMap<String, (DiskUri, u8)>,
    writes: Vec<(Vec<String>, Vec<String>)>,
    reads: usize,
    script: Vec<Then>,
    poison: Option<(String, VmErrorKind, bool)>,
    worth: Worth,
    phantoms: Vec<String>,
    deleted: Vec<String>,
}

#[derive(Debug)]
struct Azure {
    world: Mutex<World>,
    clock: Arc<dyn Clock>,
}

const TAKES: Duration = Duration::from_secs(10);

impl Azure {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    fn view(&self) -> VmView {
        let world = self.world();
        let slot = |(disk, lun): &(DiskUri, u8)| Slot {
            disk: Some(disk.id().clone()),
            lun: Lun::try_from(i64::from(*lun)).unwrap(),
            leaving: false,
            proven: false,
        };
        VmView {
            slots: world.disks.values().map(slot).collect(),
            worth: world.worth,
            at: self.clock.now(),
        }
    }

    fn apply(&self, changes: &DataDiskChanges) {
        let mut world = self.world();
        world.worth = Worth::Fact;
        for disk in &changes.detach {
            world.disks.remove(&disk.disk_id.folded());
        }
        for disk in &changes.attach {
            let lun = disk.lun.unwrap().get();
            world
                .disks
                .insert(disk.disk_id.folded(), (disk.disk_id.clone(), lun));
        }
    }

    fn decide(&self, changes: &DataDiskChanges) -> Option<(Then, String)> {
        let mut world = self.world();
        let names =
            |disks: Vec<&DiskUri>| disks.iter().map(|disk| disk.name().to_owned()).collect();
        let attach: Vec<String> = names(changes.attach.iter().map(|disk| &disk.disk_id).collect());
        let detach: Vec<String> = names(changes.detach.iter().map(|disk| &disk.disk_id).collect());
        let poisoned = world
            .poison
            .clone()
            .filter(|(name, ..)| attach.contains(name));
        let ghost = world.deleted.iter().find(|name| {
            let on_the_list = world.disks.contains_key(&disk(name).folded());
            on_the_list && !detach.contains(name)
        });
        let ghost = ghost.map(|name| format!("disk {name} is not found"));
        world.writes.push((attach, detach));
        if let Some(text) = ghost {
            return Some((Then::Fail(VmErrorKind::DiskMissing), text));
        }
        if let Some((name, kind, named)) = poisoned {
            let text = if named {
                format!("disk {name} is bad")
            } else {
                String::new()
            };
            return Some((Then::Fail(kind), text));
        }
        let next = world.script.is_empty();
        (!next).then(|| (world.script.remove(0), String::new()))
    }
}

fn error(vm: &VmRef, kind: VmErrorKind, text: &str) -> VmError {
    VmError {
        kind,
        vm: vm.clone(),
        retry_after: None,
        text: text.into(),
        fault: Fault::Invalid,
        source: None,
    }
}

impl Machines for Azure {
    fn read<'a>(&'a self, _: &'a Op, _: &'a VmRef) -> BoxFuture<'a, Result<VmView, VmError>> {
        self.world().reads += 1;
        Box::pin(async move { Ok(self.view()) })
    }

    fn write<'a>(
        &'a self,
        _: &'a Op,
        vm: &'a VmRef,
        changes: &'a DataDiskChanges,
    ) -> BoxFuture<'a, Result<VmView, VmError>> {
        Box::pin(async move {
            let script = self.decide(changes);
            tokio::time::sleep(TAKES).await;
            match script {
                None => self.apply(changes),
                Some((Then::Nothing, _)) => {}
                Some((Then::Fail(kind), text)) => return Err(error(vm, kind, &text)),
                Some((Then::DoAndFail(kind), text)) => {
                    self.apply(changes);
                    return Err(error(vm, kind, &text));
                }
            }
            Ok(self.view())
        })
    }

    fn refresh<'a>(&'a self, _: &'a Op, _: &'a VmRef) -> BoxFuture<'a, Result<(), VmError>> {
        Box::pin(async { Ok(()) })
    }

    fn holds<'a>(
        &'a self,
        _: &'a Op,
        _: &'a VmRef,
        disk: &'a DiskUri,
    ) -> BoxFuture<'a, Result<bool, VmError>> {
        let held = !self.world().phantoms.contains(&disk.name().to_owned());
        Box::pin(async move { Ok(held) })
    }

    fn exists<'a>(
        &'a self,
        _: &'a Op,
        disk: &'a DiskUri,
    ) -> BoxFuture<'a, Result<bool, azcsi_cloud::ArmError>> {
        let exists = !self.world().deleted.contains(&disk.name().to_owned());
        Box::pin(async move { Ok(exists) })
    }
}

struct Rig {
    azure: Arc<Azure>,
    engine: AttachEngine,
    clock: Arc<dyn Clock>,
    vm: VmRef,
}

impl Rig {
    fn new(world: World) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let azure = Arc::new(Azure {
            world: Mutex::new(world),
            clock: Arc::clone(&clock),
        });
        let machines: Arc<dyn Machines> = Arc::clone(&azure) as Arc<dyn Machines>;
        Self {
            engine: AttachEngine::new(machines, Arc::clone(&clock)),
            azure,
            clock,
            vm: VmRef::machine("s", "g", "vm").unwrap(),
        }
    }

    fn op(&self) -> Op {
        Op::start(
            "op",
            Deadline::after(&*self.clock, Duration::from_secs(600)),
        )
    }

    async fn attach(&self, name: &str) -> Result<u8, AttachError> {
        let spec = AttachSpec {
            disk: disk(name),
            caching: Caching::None,
            write_accelerator: false,
            avoid: LunSet::EMPTY,
        };
        let lun = self.engine.attach(&self.op(), &self.vm, spec).await;
        lun.map(Lun::get)
    }

    async fn detach(&self, name: &str) -> Result<(), AttachError> {
        self.engine
            .detach(&self.op(), &self.vm, &disk(name), How::Graceful)
            .await
    }

    fn writes(&self) -> usize {
        self.azure.world().writes.len()
    }
}

fn disk(name: &str) -> DiskUri {
    DiskUri::new("s", "g", name).unwrap()
}

fn with(names: &[&str]) -> World {
    let numbered = names.iter().zip(0..);
    World {
        disks: numbered
            .map(|(name, lun)| (disk(name).folded(), (disk(name), lun)))
            .collect(),
        ..World::default()
    }
}

#[tokio::test(start_paused = true)]
async fn requests_of_one_moment_share_one_write_and_get_slots_of_their_own() {
    let rig = Rig::new(with(&["old"]));
    let names = ["a", "b", "c", "d"];
    let luns = join_all(names.iter().map(|name| rig.attach(name))).await;
    let mut luns: Vec<u8> = luns.into_iter().map(Result::unwrap).collect();
    luns.sort_unstable();
    assert_eq!(luns, [1, 2, 3, 4]);
    assert_eq!(rig.writes(), 1);
    assert_eq!(rig.azure.world().reads, 1);
}

#[tokio::test(start_paused = true)]
async fn sixty_four_disks_need_few_writes_sc_05() {
    let rig = Rig::new(World::default());
    let names: Vec<String> = (0..64).map(|number| format!("d{number}")).collect();
    let luns = join_all(names.iter().map(|name| rig.attach(name))).await;
    let mut luns: Vec<u8> = luns.into_iter().map(Result::unwrap).collect();
    luns.sort_unstable();
    assert_eq!(luns, (0..64).collect::<Vec<u8>>());
    assert!(rig.writes() <= 4, "{}", rig.writes());
}

#[tokio::test(start_paused = true)]
async fn a_lone_request_waits_for_nothing_and_a_warm_one_reads_nothing() {
    let rig = Rig::new(World::default());
    let before = rig.clock.now();
    rig.attach("a").await.unwrap();
    assert_eq!(
        rig.clock.now().saturating_sub(before).as_secs(),
        TAKES.as_secs()
    );
    rig.attach("b").await.unwrap();
    rig.detach("a").await.unwrap();
    let world = rig.azure.world();
    assert_eq!((world.reads, world.writes.len()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn what_arrives_during_a_write_forms_the_next_one_with_both_directions() {
    let rig = Rig::new(with(&["old"]));
    let late = async {
        tokio::time::sleep(TAKES / 2).await;
        let (b, c, old) = tokio::join!(rig.attach("b"), rig.attach("c"), rig.detach("old"));
        assert!(b.is_ok() && c.is_ok() && old.is_ok());
    };
    let (first, ()) = tokio::join!(rig.attach("a"), late);
    first.unwrap();
    let writes = rig.azure.world().writes.clone();
    assert_eq!(writes.len(), 2);
    assert_eq!(writes[1].0.len(), 2);
    assert_eq!(writes[1].1, ["old"]);
    // With nothing left to do, the actor ends by itself.
    while rig.engine.actors() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_is_there_is_answered_without_a_write() {
    let rig = Rig::new(with(&["a"]));
    assert_eq!(rig.attach("a").await.unwrap(), 0);
    rig.detach("b").await.unwrap();
    assert_eq!(rig.writes(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_bad_disk_spoils_nothing_for_the_others() {
    for named in [true, false] {
        let rig = Rig::new(World {
            poison: Some(("bad".to_owned(), VmErrorKind::Rejected, named)),
            ..World::default()
        });
        let names = ["a", "b", "bad", "c", "d"];
        let answers = join_all(names.iter().map(|name| rig.attach(name))).await;
        for (name, answer) in names.iter().zip(answers) {
            assert_eq!(answer.is_err(), *name == "bad", "{name} {named}");
        }
        if named {
            assert_eq!(rig.writes(), 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_disk_on_the_list_blocks_no_other_and_a_living_one_is_left_alone() {
    let rig = Rig::new(World {
        deleted: vec!["dead".to_owned()],
        ..with(&["alive", "dead"])
    });
    assert_eq!(rig.attach("new").await.unwrap(), 2);
    let detached: Vec<String> = rig
        .azure
        .world()
        .writes
        .iter()
        .flat_map(|write| write.1.clone())
        .collect();
    assert_eq!(detached, ["dead"]);
}

#[tokio::test(start_paused = true)]
async fn an_uncertain_write_is_looked_at_and_never_guessed() {
    let uncertain = VmErrorKind::Uncertain;
    let rig = Rig::new(World {
        script: vec![Then::DoAndFail(uncertain.clone()), Then::Fail(uncertain)],
        ..World::default()
    });
    assert_eq!(rig.attach("a").await.unwrap(), 0);
    let error = rig.attach("b").await.unwrap_err();
    assert!(error.is_stuck());
    assert_eq!(rig.attach("b").await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_retried_within_the_request() {
    let rig = Rig::new(World {
        script: vec![
            Then::Fail(VmErrorKind::Conflict),
            Then::DoAndFail(VmErrorKind::Conflict),
        ],
        ..World::default()
    });
    assert_eq!(rig.attach("a").await.unwrap(), 0);
    assert_eq!(rig.writes(), 2);
}

#[tokio::test(start_paused = true)]
async fn throttling_is_passed_on_and_the_next_request_writes_anew() {
    let rig = Rig::new(World {
        script: vec![Then::Fail(VmErrorKind::Throttled)],
        ..World::default()
    });
    let error = rig.attach("a").await.unwrap_err();
    assert!(!error.is_stuck());
    assert_eq!(rig.attach("a").await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_success_without_effect_is_no_success() {
    let rig = Rig::new(World {
        script: vec![Then::Nothing, Then::Nothing],
        ..with(&["old"])
    });
    let error = rig.detach("old").await.unwrap_err();
    assert!(matches!(error, AttachError::Unproven { .. }));
    let vm = rig.vm.clone();
    assert!(rig.engine.stuck_for(&vm, &disk("old")).is_some());
    rig.detach("old").await.unwrap();
    assert_eq!(rig.engine.stuck_for(&vm, &disk("old")), None);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_left_before_the_write_leaves_nothing_behind() {
    let rig = Rig::new(World::default());
    let leave = tokio::time::timeout(TAKES / 2, async {
        tokio::time::sleep(TAKES / 4).await;
        rig.attach("left").await
    });
    let (first, left) = tokio::join!(rig.attach("a"), leave);
    assert!(first.is_ok() && left.is_err());
    rig.attach("b").await.unwrap();
    let world = rig.azure.world();
    assert!(
        world
            .writes
            .iter()
            .all(|(attach, _)| !attach.contains(&"left".to_owned()))
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_machine_is_not_believed() {
    let rig = Rig::new(World {
        worth: Worth::Failed,
        phantoms: vec!["a".to_owned()],
        ..with(&["a", "b"])
    });
    assert_eq!(rig.attach("b").await.unwrap(), 1);
    assert_eq!(rig.writes(), 0);
    assert!(rig.attach("a").await.is_ok());
    let world = rig.azure.world();
    assert_eq!(world.writes[0], (vec![], vec!["a".to_owned()]));
    assert_eq!(world.writes[1], (vec!["a".to_owned()], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_full_machine_takes_what_a_detach_makes_room_for() {
    let names: Vec<String> = (0..64).map(|number| format!("d{number}")).collect();
    let rig = Rig::new(with(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    let error = rig.attach("a").await.unwrap_err();
    assert!(matches!(error, AttachError::Full { .. }));
    rig.detach("d7").await.unwrap();
    assert_eq!(rig.attach("a").await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn wishes_for_one_disk_keep_their_order() {
    let rig = Rig::new(with(&["a"]));
    let (gone, back) = tokio::join!(rig.detach("a"), rig.attach("a"));
    gone.unwrap();
    assert_eq!(back.unwrap(), 0);
    assert_eq!(rig.writes(), 2);
}
