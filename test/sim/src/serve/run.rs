//! `serve`: from options to a world that answers, and back to nothing left behind.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use azcsi_types::clock::Clock;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::backend::Backend;
use super::clock::ScaledClock;
use super::endpoints::Endpoints;
use super::keeper::{self, Keeper};
use super::lag::Lag;
use super::secrets::Secrets;
use super::site::ended;
use super::{bind, directory};
use crate::cli::client::ENDPOINTS_FILE;
use crate::cli::{HostLink, ServeArgs};
use crate::entra::Entra;
use crate::kubeapi::{Store, seed};
use crate::link::sync::{Kind, Sync};
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
pub(super) struct World {
    pub(super) dir: PathBuf,
    pub(super) file: WorldFile,
    pub(super) clock: Arc<ScaledClock>,
    pub(super) secrets: Secrets,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) kube: Arc<Store>,
    pub(super) keeper: Arc<Keeper>,
    pub(super) lag: Arc<Lag>,
    pub(super) devices: bool,
}

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
    let options = args.clone();
    super::limits::raise_open_files();
    let world = tokio::task::spawn_blocking(move || open(&options, build)).await??;
    let (stop, stopped) = watch::channel(false);
    let (endpoints, served) = match bind::bind(args, &world).await {
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
    let kind = match args.host_link {
        HostLink::None => None,
        HostLink::Loop => Some(Kind::Loop),
        HostLink::Qmp => Some(Kind::Qmp),
    };
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let sync = kind.map(|kind| Sync::start(kind, &dir, &names, &backend.desired()));
    let sync = sync.transpose()?;
    let after = Duration::from_secs(u64::from(args.imds_lag));
    let lag = Arc::new(Lag::new(after, clock.clone()));
    let keeper = Keeper::new(backend.clone(), kube.clone(), clock.clone(), journal, sync);
    let keeper = Arc::new(keeper.with_lag(Arc::clone(&lag)));
    keeper.keep()?;
    Ok(World {
        dir,
        file,
        clock,
        secrets,
        backend,
        kube,
        keeper,
        lag,
        devices: kind == Some(Kind::Loop),
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

impl World {
    pub(super) fn entra(&self) -> anyhow::Result<Entra> {
        let issuer = self.secrets.issuer()?;
        let directory = directory::entra(&self.file, &issuer)?;
        if let Some(subject) = self.file.own_subject() {
            directory::write_token(&self.dir, &issuer, subject, self.clock.wall())?;
        }
        let clock: Arc<dyn Clock> = self.clock.clone();
        Ok(Entra::new(directory, self.secrets.token_key(), clock))
    }
}
