//! A controller over a simulator in the same process, under paused time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azcsi_cloud::auth::{Token, TokenError, TokenSource};
use azcsi_cloud::config::CloudConfig;
use azcsi_cloud::environment::Environment;
use azcsi_cloud::pipeline::throttle::Gate as ThrottleGate;
use azcsi_cloud::pipeline::transport::ServiceTransport;
use azcsi_cloud::{Azure, Seams};
use azcsi_disk::controller::service::ControllerService;
use azcsi_disk::controller::sku_migration::SkuMigration;
use azcsi_disk::controller::sku_migration::progress::Limits as MigrationLimits;
use azcsi_disk::controller::{Controller, Ports, Settings};
use azcsi_proto::csi::v1;
use azcsi_rpc::Dispatcher;
use azcsi_rpc::capability::{ControllerCapabilities, ControllerCapability};
use azcsi_rpc::clock::SystemClock;
use azcsi_rpc::dispatcher::Limits;
use azcsi_sim::faults::{Effect, Fault, Script};
use azcsi_sim::world::{Machine, MachineKind, ScaleSet, guid_of};
use azcsi_sim::{Profile, Quotas, Sim, SimOptions};
use azcsi_types::clock::Clock;
use azcsi_types::lun::Lun;
use azcsi_types::node::VmRef;
use azcsi_types::secret::Secret;
use futures_util::future::BoxFuture;
use v1::controller_server::Controller as Rpcs;

pub(crate) use crate::kubernetes::Kubernetes;
use crate::line::Line;
use crate::told::Told;

pub(crate) const SUBSCRIPTION: &str = "sub-1";
pub(crate) const GROUP: &str = "Rg";
pub(crate) const REGION: &str = "eastus2";
pub(crate) const GIB: i64 = 1 << 30;

/// Start of all tests, so that timestamps are the same in each run.
const START: Duration = Duration::from_secs(1_790_000_000);

/// A token that never changes; the simulator takes any.
#[derive(Debug)]
struct FixedToken;

impl TokenSource for FixedToken {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Token, TokenError>> {
        Box::pin(async {
            Ok(Token {
                secret: Secret::new("token"),
                lifetime: Duration::from_secs(3600),
            })
        })
    }
}

/// Everything of one test.
pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) line: Line,
    pub(crate) kubernetes: Arc<Kubernetes>,
    pub(crate) told: Arc<Told>,
    pub(crate) controller: ControllerService,
    pub(crate) migration: SkuMigration,
}

/// What is different from the usual world.
#[derive(Debug)]
pub(crate) struct Unusual {
    pub(crate) profile: Profile,
    pub(crate) limits: Limits,
    pub(crate) managed_by_lag: Duration,
    pub(crate) quotas: Quotas,
    /// Machines besides the usual ones: `many-0`, `many-1` and so on. Every second one is an instance
    /// of the Uniform scale set, the others stand alone.
    pub(crate) more_machines: u32,
}

impl Default for Unusual {
    fn default() -> Self {
        Self {
            profile: Profile::Instant,
            limits: Limits::default(),
            managed_by_lag: Duration::ZERO,
            quotas: Quotas::default(),
            more_machines: 0,
        }
    }
}

/// The nodes of every world: two of a Uniform scale set, one Flexible, one standalone; all in zone 1.
pub(crate) const NODES: [&str; 4] = ["uni000000", "uni000001", "flex_1", "vm1"];

fn machines() -> Vec<(&'static str, Machine)> {
    let compute =
        format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Compute");
    let set = format!("{compute}/virtualMachineScaleSets/uni");
    let instance = |number: &str, name: &'static str| {
        let kind = MachineKind::Instance {
            scale_set: set.clone(),
            instance_id: number.to_owned(),
        };
        let id = format!("{set}/virtualMachines/{number}");
        (
            name,
            Machine::new(&id, kind, REGION, "Standard_D4s_v5").named(name),
        )
    };
    let machine = |name: &'static str, kind: MachineKind| {
        let id = format!("{compute}/virtualMachines/{name}");
        (
            name,
            Machine::new(&id, kind, REGION, "Standard_D4s_v5").named(name),
        )
    };
    vec![
        instance("0", "uni000000"),
        instance("1", "uni000001"),
        machine(
            "flex_1",
            MachineKind::Flex(format!("{compute}/virtualMachineScaleSets/flex")),
        ),
        machine("vm1", MachineKind::Standalone),
    ]
}

fn more_machines(count: u32) -> impl Iterator<Item = (String, Machine)> {
    let compute =
        format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Compute");
    (0..count).map(move |number| {
        let name = format!("many-{number}");
        let (id, kind) = if number % 2 == 0 {
            let scale_set = format!("{compute}/virtualMachineScaleSets/uni");
            let instance_id = (1000 + number).to_string();
            let id = format!("{scale_set}/virtualMachines/{instance_id}");
            let kind = MachineKind::Instance {
                scale_set,
                instance_id,
            };
            (id, kind)
        } else {
            let id = format!("{compute}/virtualMachines/{name}");
            (id, MachineKind::Standalone)
        };
        let machine = Machine::new(&id, kind, REGION, "Standard_D4s_v5").named(&name);
        (name, machine)
    })
}

fn azure_world(kubernetes: &Kubernetes, more: u32) -> azcsi_sim::World {
    let mut world = azcsi_sim::World::new(SUBSCRIPTION, GROUP, REGION);
    for (name, flexible) in [("flex", true), ("uni", false)] {
        let id = format!(
            "/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets/{name}"
        );
        world.add_scale_set(ScaleSet {
            unique_id: guid_of(&id),
            id,
            location: REGION.to_owned(),
            zones: vec!["1".to_owned()],
            size: "Standard_D4s_v5".to_owned(),
            flexible,
            prefix: name.to_owned(),
        });
    }
    let usual = machines()
        .into_iter()
        .map(|(name, machine)| (name.to_owned(), machine));
    for (node, machine) in usual.chain(more_machines(more)) {
        let vm: VmRef = machine.id.parse().unwrap();
        kubernetes.machines.lock().unwrap().insert(node, vm);
        world.add_machine(machine.zoned(Some("1")));
    }
    world
}

fn cloud_config() -> CloudConfig {
    CloudConfig {
        tenant_id: "tenant".to_owned(),
        subscription_id: SUBSCRIPTION.to_owned(),
        resource_group: GROUP.to_owned(),
        location: REGION.to_owned(),
        ..CloudConfig::default()
    }
}

/// Everything that the driver can offer.
fn capabilities() -> ControllerCapabilities {
    use ControllerCapability as C;
    [
        C::CreateDeleteVolume,
        C::PublishUnpublishVolume,
        C::ListVolumes,
        C::ListVolumesPublishedNodes,
        C::GetCapacity,
        C::CreateDeleteSnapshot,
        C::ListSnapshots,
        C::GetSnapshot,
        C::CloneVolume,
        C::ExpandVolume,
        C::GetVolume,
        C::SingleNodeMultiWriter,
        C::ModifyVolume,
        C::GetVolumeHealth,
        C::ListVolumeHealth,
    ]
    .into_iter()
    .collect()
}

fn settings() -> Settings {
    Settings {
        subscription: SUBSCRIPTION.to_owned(),
        resource_group: GROUP.to_owned(),
        location: REGION.parse().unwrap(),
        extended_location: None,
        online_resize: true,
        collision_guard: true,
        wait_for_snapshot: false,
        convert_read_write: false,
        stack: false,
        capabilities: capabilities(),
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Unusual::default())
    }

    pub(crate) fn with(unusual: Unusual) -> Self {
        let kubernetes = Arc::new(Kubernetes::default());
        let clock: Arc<dyn Clock> =
            Arc::new(SystemClock::starting_at(SystemTime::UNIX_EPOCH + START));
        let mut options = SimOptions::new(Arc::clone(&clock));
        options.profile = unusual.profile;
        options.managed_by_lag = unusual.managed_by_lag;
        options.quotas = unusual.quotas;
        let sim = Sim::new(azure_world(&kubernetes, unusual.more_machines), options);
        let line = Line::new(sim.clone());
        let told = Arc::new(Told::default());
        let (controller, migration) =
            Self::controller(&line, (&kubernetes, &told), unusual.limits, &clock);
        Self {
            sim,
            line,
            kubernetes,
            told,
            controller,
            migration,
        }
    }

    fn controller(
        line: &Line,
        (kubernetes, told): (&Arc<Kubernetes>, &Arc<Told>),
        limits: Limits,
        clock: &Arc<dyn Clock>,
    ) -> (ControllerService, SkuMigration) {
        let seams = Seams {
            transport: Arc::new(ServiceTransport::new(line.clone())),
            source: Arc::new(FixedToken),
            governor: Arc::new(ThrottleGate::new(Arc::clone(clock))),
            clock: Arc::clone(clock),
        };
        let azure = Azure::with(cloud_config(), Environment::named("").unwrap(), seams);
        let ports = Ports {
            nodes: kubernetes.clone(),
            attachments: kubernetes.clone(),
        };
        let migration = SkuMigration::new(
            azure.clone(),
            kubernetes.clone(),
            told.clone(),
            Arc::clone(clock),
            MigrationLimits::default(),
        );
        let controller = Controller::new(azure, ports, settings(), Arc::clone(clock))
            .with_notices(told.clone())
            .with_migration(migration.clone());
        let dispatcher = Dispatcher::new(Arc::clone(clock), limits);
        let service = ControllerService::new(Arc::new(controller), dispatcher);
        (service, migration)
    }

    /// Another controller process over the same Azure, with nothing remembered.
    pub(crate) fn restarted(&self) -> Self {
        let clock: Arc<dyn Clock> =
            Arc::new(SystemClock::starting_at(SystemTime::UNIX_EPOCH + START));
        let line = Line::new(self.sim.clone());
        let ports = (&self.kubernetes, &self.told);
        let (controller, migration) = Self::controller(&line, ports, Limits::default(), &clock);
        Self {
            sim: self.sim.clone(),
            line,
            told: Arc::clone(&self.told),
            kubernetes: Arc::clone(&self.kubernetes),
            controller,
            migration,
        }
    }

    /// One fault: which requests, how many of them, and what happens.
    pub(crate) fn fault(&self, method: &str, kind: &str, times: u32, effect: Effect) {
        let fault = Fault {
            method: Some(method.to_owned()),
            kind: Some(kind.to_owned()),
            name: None,
            skip: 0,
            times: Some(times),
            effect,
        };
        self.sim.inject(Script {
            faults: vec![fault],
        });
    }

    /// The classes of the requests that `work` makes Azure see.
    pub(crate) async fn requests_of<T>(&self, work: impl Future<Output = T>) -> (T, Vec<String>) {
        let before = self.sim.requests(0).last().map_or(0, |last| last.number);
        let done = work.await;
        (
            done,
            self.sim
                .requests(before)
                .into_iter()
                .map(|request| request.class)
                .collect(),
        )
    }

    /// Nothing happened that must never happen.
    pub(crate) fn assert_clean(&self) {
        self.sim.settle();
        assert_eq!(self.sim.violations(), Vec::new());
    }
}

/// A filesystem for one node.
pub(crate) fn filesystem() -> v1::VolumeCapability {
    use v1::volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode};
    v1::VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeWriter.into(),
        }),
    }
}

/// A raw device for several nodes.
pub(crate) fn shared_block() -> v1::VolumeCapability {
    use v1::volume_capability::{AccessMode, AccessType, BlockVolume, access_mode::Mode};
    v1::VolumeCapability {
        access_type: Some(AccessType::Block(BlockVolume {})),
        access_mode: Some(AccessMode {
            mode: Mode::MultiNodeMultiWriter.into(),
        }),
    }
}

/// A request for a volume in zone 1.
pub(crate) fn create_request(name: &str, gib: i64) -> v1::CreateVolumeRequest {
    let segments: HashMap<_, _> = [(
        "topology.disk.csi.azure.com/zone".to_owned(),
        format!("{REGION}-1"),
    )]
    .into();
    let zone = v1::Topology { segments };
    v1::CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(v1::CapacityRange {
            required_bytes: gib * GIB,
            limit_bytes: 0,
        }),
        volume_capabilities: vec![filesystem()],
        accessibility_requirements: Some(v1::TopologyRequirement {
            requisite: vec![zone.clone()],
            preferred: vec![zone],
        }),
        ..v1::CreateVolumeRequest::default()
    }
}

/// What a call came to.
pub(crate) type Outcome<T> = Result<T, tonic::Status>;

impl World {
    pub(crate) async fn create(&self, request: v1::CreateVolumeRequest) -> Outcome<v1::Volume> {
        let reply = self
            .controller
            .create_volume(tonic::Request::new(request))
            .await?;
        Ok(reply.into_inner().volume.unwrap())
    }

    /// A volume of so many GiB that is simply there.
    pub(crate) async fn volume(&self, name: &str, gib: i64) -> v1::Volume {
        self.create(create_request(name, gib)).await.unwrap()
    }

    pub(crate) async fn delete(&self, id: &str) -> Outcome<()> {
        let request = v1::DeleteVolumeRequest {
            volume_id: id.to_owned(),
            ..Default::default()
        };
        self.controller
            .delete_volume(tonic::Request::new(request))
            .await
            .map(drop)
    }

    pub(crate) fn publish_request(
        volume: &v1::Volume,
        node: &str,
    ) -> v1::ControllerPublishVolumeRequest {
        v1::ControllerPublishVolumeRequest {
            volume_id: volume.volume_id.clone(),
            node_id: node.to_owned(),
            volume_capability: Some(filesystem()),
            volume_context: volume.volume_context.clone(),
            ..Default::default()
        }
    }

    /// Attaches; answers with the LUN.
    pub(crate) async fn publish(&self, volume: &v1::Volume, node: &str) -> Outcome<Lun> {
        let request = Self::publish_request(volume, node);
        let reply = self
            .controller
            .controller_publish_volume(tonic::Request::new(request))
            .await?;
        Ok(reply.into_inner().publish_context["LUN"].parse().unwrap())
    }

    pub(crate) async fn unpublish(&self, id: &str, node: &str) -> Outcome<()> {
        let request = v1::ControllerUnpublishVolumeRequest {
            volume_id: id.to_owned(),
            node_id: node.to_owned(),
            ..Default::default()
        };
        self.controller
            .controller_unpublish_volume(tonic::Request::new(request))
            .await
            .map(drop)
    }

    /// The disks on a node as Azure has them: name and LUN.
    pub(crate) fn disks_on(&self, node: &str) -> BTreeMap<String, u32> {
        let world = self.sim.world();
        let machine = world
            .machines
            .values()
            .find(|machine| machine.computer_name == node)
            .unwrap();
        machine
            .data_disks
            .iter()
            .map(|disk| (disk.name.clone(), disk.lun))
            .collect()
    }

    /// Whether Azure has a disk of this name.
    pub(crate) fn has_disk(&self, name: &str) -> bool {
        self.sim
            .world()
            .disks
            .values()
            .any(|disk| disk.id.ends_with(&format!("/{name}")))
    }
}
