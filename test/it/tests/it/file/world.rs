//! A file controller over a simulator in the same process, under paused time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azcsi_cloud::auth::{Token, TokenError, TokenSource};
use azcsi_cloud::config::CloudConfig;
use azcsi_cloud::environment::Environment;
use azcsi_cloud::pipeline::throttle::Gate as ThrottleGate;
use azcsi_cloud::pipeline::transport::ServiceTransport;
use azcsi_cloud::{Azure, Seams};
use azcsi_file::controller::ports::{KeySecrets, PortError, SecretName, Use, Volumes};
use azcsi_file::controller::service::ControllerService;
use azcsi_file::controller::{Controller, HomeNetwork, Ports, Settings};
use azcsi_proto::csi::v1;
use azcsi_rpc::Dispatcher;
use azcsi_rpc::capability::ControllerCapabilities;
use azcsi_rpc::clock::SystemClock;
use azcsi_rpc::dispatcher::Limits;
use azcsi_sim::faults::{Effect, Fault, Script};
use azcsi_sim::{Profile, Sim, SimOptions};
use azcsi_types::account::AccountName;
use azcsi_types::clock::Clock;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use azcsi_types::share_handle::ShareHandle;
use futures_util::future::BoxFuture;
use v1::controller_server::Controller as Rpcs;

use crate::line::Line;

pub(crate) const SUBSCRIPTION: &str = "11111111-2222-3333-4444-555555555555";
pub(crate) const GROUP: &str = "Rg";
pub(crate) const REGION: &str = "eastus2";
/// What faults on shares are about.
pub(crate) const SHARES: &str = "storageAccounts/fileServices/shares";
pub(crate) const GIB: i64 = 1 << 30;

/// Start of all tests, so that timestamps are the same in each run.
const START: Duration = Duration::from_secs(1_790_000_000);

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

/// What Kubernetes has: Secrets by namespace and name, and what it says of other volumes.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    secrets: Mutex<BTreeMap<String, (String, String)>>,
    others: Mutex<Option<Use>>,
}

impl Cluster {
    /// Namespace/name of each Secret, with the account in it.
    pub(crate) fn secrets(&self) -> Vec<(String, String)> {
        let all = self.secrets.lock().unwrap();
        let one = |(at, (account, _)): (&String, &(String, String))| (at.clone(), account.clone());
        all.iter().map(one).collect()
    }

    pub(crate) fn say_others(&self, said: Use) {
        *self.others.lock().unwrap() = Some(said);
    }
}

fn path(at: &SecretName) -> String {
    format!("{}/{}", at.namespace, at.name)
}

impl KeySecrets for Cluster {
    fn available(&self) -> bool {
        true
    }

    fn read<'a>(
        &'a self,
        _: &'a Op,
        at: &'a SecretName,
        account: &'a AccountName,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        let found = self.secrets.lock().unwrap().get(&path(at)).cloned();
        let found = found.filter(|(owner, _)| owner == account.as_str());
        Box::pin(async move { Ok(found.map(|(_, key)| Secret::new(key))) })
    }

    fn write<'a>(
        &'a self,
        _: &'a Op,
        at: &'a SecretName,
        (account, key): (&'a AccountName, &'a Secret),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        let entry = (account.to_string(), key.expose().to_owned());
        self.secrets.lock().unwrap().insert(path(at), entry);
        Box::pin(async { Ok(()) })
    }
}

impl Volumes for Cluster {
    fn others<'a>(&'a self, _: &'a ShareHandle) -> BoxFuture<'a, Use> {
        let said = self.others.lock().unwrap().unwrap_or(Use::Alone);
        Box::pin(async move { said })
    }
}

/// Everything of one test.
pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) line: Line,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) azure: Azure,
    pub(crate) controller: ControllerService,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Profile::Instant)
    }

    /// With documented times and limits.
    pub(crate) fn throttled() -> Self {
        Self::with(Profile::Azure)
    }

    pub(crate) fn with(profile: Profile) -> Self {
        let clock = clock();
        let mut options = SimOptions::new(Arc::clone(&clock));
        options.profile = profile;
        let sim = Sim::new(azcsi_sim::World::new(SUBSCRIPTION, GROUP, REGION), options);
        let cluster = Arc::new(Cluster::default());
        let line = Line::new(sim.clone());
        let azure = azure(&line, &clock);
        Self {
            controller: controller(azure.clone(), &cluster, &clock),
            azure,
            line,
            sim,
            cluster,
        }
    }

    /// Another controller process over the same Azure, with nothing remembered.
    pub(crate) fn restarted(&self) -> Self {
        let clock = clock();
        let line = Line::new(self.sim.clone());
        let azure = azure(&line, &clock);
        Self {
            sim: self.sim.clone(),
            line,
            cluster: Arc::clone(&self.cluster),
            controller: controller(azure.clone(), &self.cluster, &clock),
            azure,
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
        let seen = self.sim.requests(before).into_iter();
        (done, seen.map(|request| request.class).collect())
    }

    /// Names of the accounts that there are.
    pub(crate) fn accounts(&self) -> Vec<String> {
        let world = self.sim.world();
        world
            .accounts
            .values()
            .map(|one| one.name.clone())
            .collect()
    }

    /// Names of the live shares that there are, with their sizes in GiB.
    pub(crate) fn shares(&self) -> Vec<(String, u64)> {
        let world = self.sim.world();
        let all = world.shares.values();
        all.map(|one| (one.name.clone(), one.quota.value)).collect()
    }
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::starting_at(SystemTime::UNIX_EPOCH + START))
}

fn azure(line: &Line, clock: &Arc<dyn Clock>) -> Azure {
    let seams = Seams {
        transport: Arc::new(ServiceTransport::new(line.clone())),
        source: Arc::new(FixedToken),
        governor: Arc::new(ThrottleGate::new(Arc::clone(clock))),
        clock: Arc::clone(clock),
    };
    let config = CloudConfig {
        subscription_id: SUBSCRIPTION.to_owned(),
        resource_group: GROUP.to_owned(),
        location: REGION.to_owned(),
        ..CloudConfig::default()
    };
    Azure::with(config, Environment::named("").unwrap(), seams)
}

fn controller(azure: Azure, cluster: &Arc<Cluster>, clock: &Arc<dyn Clock>) -> ControllerService {
    let ports = Ports {
        secrets: Arc::clone(cluster) as Arc<dyn KeySecrets>,
        volumes: Arc::clone(cluster) as Arc<dyn Volumes>,
    };
    let settings = Settings {
        driver: "file.csi.azure.com".to_owned(),
        subscription: SUBSCRIPTION.to_owned(),
        resource_group: GROUP.to_owned(),
        location: REGION.parse().unwrap(),
        network: HomeNetwork {
            name: "vnet".to_owned(),
            subnet: "nodes".to_owned(),
            ..HomeNetwork::default()
        },
        full_retry: Duration::from_secs(1800),
        delete_snapshots: false,
        capabilities: ControllerCapabilities::default(),
    };
    let controller = Controller::new(azure, ports, settings, clock);
    let dispatcher = Dispatcher::new(Arc::clone(clock), Limits::default());
    ControllerService::new(Arc::new(controller), dispatcher)
}

/// A filesystem for many nodes.
pub(crate) fn filesystem() -> v1::VolumeCapability {
    use v1::volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode};
    v1::VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        access_mode: Some(AccessMode {
            mode: Mode::MultiNodeMultiWriter.into(),
        }),
    }
}

/// A request for a volume of a class.
pub(crate) fn create_request(
    name: &str,
    gib: i64,
    class: &[(&str, &str)],
) -> v1::CreateVolumeRequest {
    let pairs = class.iter();
    v1::CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(v1::CapacityRange {
            required_bytes: gib * GIB,
            limit_bytes: 0,
        }),
        volume_capabilities: vec![filesystem()],
        parameters: pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
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

    /// A volume of so many GiB of a class that is simply there.
    pub(crate) async fn volume(&self, name: &str, gib: i64, class: &[(&str, &str)]) -> v1::Volume {
        self.create(create_request(name, gib, class)).await.unwrap()
    }

    pub(crate) async fn delete(&self, id: &str) -> Outcome<()> {
        let request = v1::DeleteVolumeRequest {
            volume_id: id.to_owned(),
            ..Default::default()
        };
        let done = self
            .controller
            .delete_volume(tonic::Request::new(request))
            .await;
        done.map(drop)
    }
}
