//! `serve`: from options to a world that answers, and back to nothing left behind.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use azcsi_types::clock::Clock;
use time::OffsetDateTime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::backend::Backend;
use super::clock::ScaledClock;
use super::endpoints::{Endpoints, NodeEndpoints};
use super::keeper::{self, Keeper};
use super::secrets::Secrets;
use super::site::{Listener, Site, ended};
use super::sites::{ArmSite, ImdsSite, KubeSite};
use super::tls::Authority;
use super::{directory, machine};
use crate::cli::client::ENDPOINTS_FILE;
use crate::cli::{HostLink, ServeArgs};
use crate::control::ControlSite;
use crate::entra::Entra;
use crate::imds::identity::Identities;
use crate::imds::{Imds, Throttle};
use crate::kubeapi::{Store, seed};
use crate::link::sync::Sync;
use crate::persist::Journal;
use crate::worldfile::WorldFile;

/// How often, in real time, things that are due happen although nobody asks.
const TICK: Duration = Duration::from_millis(100);
/// How long the last requests may take once the end was asked for.
const GRACE: Duration = Duration::from_millis(500);

/// Makes the world behind the sockets from the options, the world file, what was saved, and time.
pub type Build = fn(
    &ServeArgs,
    &WorldFile,
    &BTreeMap<String, serde_json::Value>,
    Arc<dyn Clock>,
    &Secrets,
) -> anyhow::Result<Arc<dyn Backend>>;

/// Everything that is up before the sockets are.
#[derive(Debug)]
struct World {
    dir: PathBuf,
    file: WorldFile,
    clock: Arc<ScaledClock>,
    secrets: Secrets,
    backend: Arc<dyn Backend>,
    kube: Arc<Store>,
    keeper: Arc<Keeper>,
    devices: bool,
}

/// A socket with what it will answer.
type Served = (Listener, Option<TlsAcceptor>, Arc<dyn Site>);

/// A simulator that serves. Dropping it leaves its sockets open until the process ends; call
/// [`Running::stop`].
#[derive(Debug)]
pub struct Running {
    world: World,
    endpoints: Endpoints,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When the world, the directory or an address is no good; says which and what to do.
pub async fn run(args: ServeArgs, build: Build) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be watched")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be watched")?;
    let running = start(&args, build).await?;
    let printed = running
        .endpoints
        .print(&args.print_endpoints)
        .with_context(|| format!("{}: endpoints cannot be written", args.print_endpoints));
    if printed.is_ok() {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
    running.stop().await?;
    printed
}

/// Starts everything and returns once every socket answers.
///
/// # Errors
/// As [`run`].
pub async fn start(args: &ServeArgs, build: Build) -> anyhow::Result<Running> {
    if args.host_link == HostLink::Qmp {
        bail!(
            "--host-link qmp comes with the node lab and is not part of this build; use --host-link loop or none"
        );
    }
    let options = args.clone();
    super::limits::raise_open_files();
    let world = tokio::task::spawn_blocking(move || open(&options, build)).await??;
    let (stop, stopped) = watch::channel(false);
    let (endpoints, served) = match bind(args, &world).await {
        Ok(bound) => bound,
        Err(error) => {
            world.keeper.shutdown();
            return Err(error);
        }
    };
    endpoints
        .write_files(&world.dir, world.file.first_kind())
        .with_context(|| format!("{}: files cannot be written", world.dir.display()))?;
    let mut tasks = JoinSet::new();
    for (listener, tls, site) in served {
        tasks.spawn(listener.serve(tls, site, stopped.clone()));
    }
    tasks.spawn(tick(Arc::clone(&world.keeper), stopped));
    Ok(Running {
        world,
        endpoints,
        stop,
        tasks,
    })
}

impl Running {
    /// Where everything is.
    #[must_use]
    pub const fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Ends all connections, saves what is left to save and takes all devices away.
    ///
    /// # Errors
    /// When the writer has died.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.stop.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            tracing::warn!("some requests were cut off");
        }
        let keeper = Arc::clone(&self.world.keeper);
        tokio::task::spawn_blocking(move || keeper.shutdown()).await?;
        if let Err(error) = std::fs::remove_file(self.world.dir.join(ENDPOINTS_FILE)) {
            tracing::debug!(%error, "endpoints.json stays");
        }
        Ok(())
    }
}

fn open(args: &ServeArgs, build: Build) -> anyhow::Result<World> {
    let mut journal = Journal::open(&args.dir)?;
    let dir = args
        .dir
        .canonicalize()
        .with_context(|| args.dir.display().to_string())?;
    let file = directory::world_file(args.world.as_deref(), &mut journal)?;
    let secrets = Secrets::open(&dir)?;
    let (now, wall) = keeper::saved_time(&journal);
    let clock = Arc::new(ScaledClock::start(args.time_scale, now, wall));
    let backend = build(args, &file, journal.current(), clock.clone(), &secrets)?;
    backend.settle();
    let nodes = backend.nodes();
    let kube = Arc::new(Store::new(clock.clone()));
    let saved = journal
        .current()
        .iter()
        .filter(|(key, _)| key.starts_with(keeper::KUBE_PREFIX));
    kube.import(saved.map(|(_, object)| object));
    seed::nodes(&kube, &nodes).context("a node cannot be shown to Kubernetes")?;
    let devices = args.host_link == HostLink::Loop;
    let sync = if devices {
        let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
        Some(Sync::start(&dir, &names, &backend.desired())?)
    } else {
        None
    };
    let keeper = Keeper::new(backend.clone(), kube.clone(), clock.clone(), journal, sync);
    keeper.keep()?;
    let keeper = Arc::new(keeper);
    Ok(World {
        dir,
        file,
        clock,
        secrets,
        backend,
        kube,
        keeper,
        devices,
    })
}

async fn tick(keeper: Arc<Keeper>, mut stopped: watch::Receiver<bool>) {
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = interval.tick() => {
                if let Err(error) = keeper.kept().await {
                    tracing::error!(%error, "a change could not be kept");
                }
            }
            () = ended(&mut stopped) => return,
        }
    }
}

async fn bind(args: &ServeArgs, world: &World) -> anyhow::Result<(Endpoints, Vec<Served>)> {
    let arm = listen(args.listen).await?;
    let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let arm_http = listen(any).await?;
    let control = listen(any).await?;
    let kubernetes = listen(any).await?;
    let now = OffsetDateTime::from(world.clock.wall());
    let certificates = Authority::open(&world.dir, now)?;
    let ca_file = certificates.pem().to_owned();
    let tls = certificates.acceptor(now)?;

    let mut endpoints = describe(world, ca_file);
    endpoints.arm = format!("https://localhost:{}", arm.address().port());
    endpoints.authority.clone_from(&endpoints.arm);
    endpoints.arm_http = format!("http://{}", arm_http.address());
    endpoints.control = format!("http://{}", control.address());
    endpoints.kubernetes = format!("http://{}", kubernetes.address());

    let entra = world.entra()?;
    let arm_site: Arc<dyn Site> = Arc::new(ArmSite {
        backend: Arc::clone(&world.backend),
        keeper: Arc::clone(&world.keeper),
        entra: Arc::new(entra),
        authority: endpoints.authority.clone(),
    });
    let kube_site = KubeSite {
        store: Arc::clone(&world.kube),
        keeper: Arc::clone(&world.keeper),
    };
    let mut served: Vec<Served> = vec![
        (arm, Some(tls), Arc::clone(&arm_site)),
        (arm_http, None, arm_site),
        (kubernetes, None, Arc::new(kube_site)),
    ];
    let throttles = bind_nodes(world, &mut endpoints, &mut served).await?;
    let control_site = ControlSite {
        backend: Arc::clone(&world.backend),
        keeper: Arc::clone(&world.keeper),
        clock: Arc::clone(&world.clock),
        throttles,
        endpoints: endpoints.clone(),
    };
    served.push((control, None, Arc::new(control_site)));
    Ok((endpoints, served))
}

async fn bind_nodes(
    world: &World,
    endpoints: &mut Endpoints,
    served: &mut Vec<Served>,
) -> anyhow::Result<BTreeMap<String, Throttle>> {
    let clock: Arc<dyn Clock> = world.clock.clone();
    let tenant = world.file.tenant.get_ref();
    let key = world.secrets.token_key();
    let identities = Arc::new(Identities::new(tenant, key, clock, Vec::new()));
    let mut throttles = BTreeMap::new();
    for node in world.backend.nodes() {
        let listener = listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await?;
        let throttle = Throttle::default();
        let machine = machine::Node::new(&node.name, &world.backend);
        let imds = Imds::new(Arc::new(machine), Arc::clone(&identities), throttle.clone());
        endpoints.nodes.push(NodeEndpoints {
            imds: format!("http://{}", listener.address()),
            device_root: world
                .devices
                .then(|| world.dir.join("nodes").join(&node.name).join("dev")),
            provider_id: node.provider_id,
            name: node.name.clone(),
        });
        let site = ImdsSite {
            imds,
            backend: Arc::clone(&world.backend),
        };
        served.push((listener, None, Arc::new(site)));
        throttles.insert(node.name, throttle);
    }
    Ok(throttles)
}

async fn listen(address: SocketAddr) -> anyhow::Result<Listener> {
    Listener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; choose another --listen address on 127.0.0.1")
    })
}

fn describe(world: &World, ca_file: PathBuf) -> Endpoints {
    let app = world.file.apps.first();
    let file = |name: &str| world.dir.join(name);
    Endpoints {
        arm: String::new(),
        arm_http: String::new(),
        authority: String::new(),
        control: String::new(),
        kubernetes: String::new(),
        kubeconfig: file("kubeconfig"),
        ca_file,
        controller_config: file("disk-controller/azure.json"),
        node_config: file("disk-node/azure.json"),
        federated_token_file: world.file.own_subject().map(|_| file("federated-token")),
        tenant: world.file.tenant.get_ref().clone(),
        subscription: world.file.subscription.get_ref().clone(),
        resource_group: world.file.resource_group.get_ref().clone(),
        location: world.file.location.get_ref().clone(),
        client_id: app
            .map(|app| app.client_id.get_ref().clone())
            .unwrap_or_default(),
        client_secret: app.and_then(|app| app.secret.clone()).unwrap_or_default(),
        nodes: Vec::new(),
        pid: std::process::id(),
    }
}

impl World {
    fn entra(&self) -> anyhow::Result<Entra> {
        let issuer = self.secrets.issuer()?;
        let directory = directory::entra(&self.file, &issuer)?;
        if let Some(subject) = self.file.own_subject() {
            directory::write_token(&self.dir, &issuer, subject, self.clock.wall())?;
        }
        let clock: Arc<dyn Clock> = self.clock.clone();
        Ok(Entra::new(directory, self.secrets.token_key(), clock))
    }
}
