//! What to start, and the command line of each process.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::csi::Driver;
use crate::process::Process;

/// What to start.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the binaries are.
    pub bin: PathBuf,
    /// Where everything of this run lives.
    pub dir: PathBuf,
    /// How many machines.
    pub nodes: u32,
    /// `uniform`, `flex`, `standalone` or `avset`.
    pub kind: &'static str,
    /// `instant`, `azure` or `stress`.
    pub profile: &'static str,
    /// How many simulated seconds pass in one.
    pub time_scale: u32,
}

/// How the driver's services are spread over processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// One controller, and one node plugin per machine, each with its own socket: as deployed.
    #[default]
    Separate,
    /// One process with one socket serves both for the first machine.
    Combined,
}

/// Where the machines are in their region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zones {
    /// All in zone 1: disks must be in that zone or in several.
    #[default]
    First,
    /// In no zone: disks must be in none, or in several.
    Regional,
}

/// What a run needs beyond its plan. The default is what the demo runs.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Which service runs where.
    pub topology: Topology,
    /// More arguments of whatever serves the Controller service.
    pub controller_args: Vec<String>,
    /// More arguments of whatever serves the Node service.
    pub node_args: Vec<String>,
    /// Seed of the simulator; 1 if not given.
    pub seed: Option<u64>,
    /// Where the machines are.
    pub zones: Zones,
    /// Size of the machines; `Standard_D4s_v5` if not given.
    pub size: Option<&'static str>,
    /// The controller alone: no machine has a node plugin, and attached disks make no devices.
    pub no_nodes: bool,
}

/// What the drivers are told about the world.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// `azure.json` of the controller.
    pub(crate) cloud_config: String,
    /// The Kubernetes stub.
    pub(crate) kubeconfig: String,
}

/// What a node plugin is told about its machine.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Name in Kubernetes.
    pub(crate) name: String,
    /// The kubelet's folder.
    pub(crate) kubelet: PathBuf,
    /// Its `/dev`; empty where attached disks make no devices.
    pub(crate) device_root: String,
    /// Its metadata service.
    pub(crate) metadata: String,
}

/// A text that the simulator printed.
pub(crate) fn text(value: &Value, key: &str) -> Result<String> {
    Ok(value[key]
        .as_str()
        .with_context(|| format!("the simulator printed no '{key}'"))?
        .to_owned())
}

fn args<const N: usize>(list: [&str; N]) -> Vec<String> {
    list.map(str::to_owned).to_vec()
}

impl World {
    pub(crate) fn read(endpoints: &Value) -> Result<Self> {
        Ok(Self {
            cloud_config: text(endpoints, "controllerConfig")?,
            kubeconfig: text(endpoints, "kubeconfig")?,
        })
    }

    fn controller_args(&self) -> Vec<String> {
        args([
            "--cloud-config",
            &self.cloud_config,
            "--allow-empty-cloud-config=false",
        ])
    }

    fn common_args(&self, socket: &Path) -> Vec<String> {
        let endpoint = format!("unix://{}", socket.display());
        args([
            "--endpoint",
            &endpoint,
            "--kubeconfig",
            &self.kubeconfig,
            "-v=5",
        ])
    }
}

impl Site {
    pub(crate) fn read(entry: &Value, dir: &Path) -> Result<Self> {
        let name = text(entry, "name")?;
        let kubelet = dir.join("kubelet").join(&name);
        std::fs::create_dir_all(&kubelet)?;
        Ok(Self {
            name,
            kubelet,
            device_root: entry["deviceRoot"].as_str().unwrap_or_default().to_owned(),
            metadata: text(entry, "imds")?,
        })
    }

    fn node_args(&self) -> Vec<String> {
        let state = self.kubelet.join("plugins/disk.csi.azure.com/state");
        let state = state.display().to_string();
        args([
            "--nodeid",
            &self.name,
            "--metadata-endpoint",
            &self.metadata,
            "--device-root",
            &self.device_root,
            "--state-dir",
            &state,
            "--remove-not-ready-taint=false",
        ])
    }
}

impl Plan {
    fn binary(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// Where each process writes its log.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    /// The socket of the controller, or of the one process that serves all.
    #[must_use]
    pub(crate) fn controller_socket(&self) -> PathBuf {
        self.dir.join("controller.sock")
    }

    /// The socket of a machine's node plugin.
    #[must_use]
    pub(crate) fn node_socket(&self, machine: &str) -> PathBuf {
        self.dir.join(format!("{machine}.sock"))
    }

    /// Has the simulator write a world of so many machines.
    async fn write_world(&self, more: &Setup) -> Result<PathBuf> {
        let path = self.dir.join("world.toml");
        let nodes = self.nodes.to_string();
        let mut list = vec![
            "world",
            "--nodes",
            &nodes,
            "--size",
            more.size.unwrap_or("Standard_D4s_v5"),
            "--kind",
            self.kind,
        ];
        // An availability set has no zones.
        if more.zones == Zones::First && self.kind != "avset" {
            list.extend(["--zones", "1"]);
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a launcher of binaries; drivers spawn through azcsi-host"
        )]
        let output = tokio::process::Command::new(self.binary("azcsi-sim"))
            .args(list)
            .output()
            .await
            .context("azcsi-sim world")?;
        if !output.status.success() {
            bail!(
                "azcsi-sim world: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        std::fs::write(&path, output.stdout)?;
        Ok(path)
    }

    /// Starts the local Azure.
    pub(crate) async fn start_sim(&self, more: &Setup) -> Result<(Process, Value)> {
        std::fs::create_dir_all(self.logs())?;
        let world = self.write_world(more).await?.display().to_string();
        let state = self.dir.join("azure").display().to_string();
        let (scale, seed) = (
            self.time_scale.to_string(),
            more.seed.unwrap_or(1).to_string(),
        );
        let list = args([
            "serve",
            "--world",
            &world,
            "--dir",
            &state,
            "--host-link",
            if more.no_nodes { "none" } else { "loop" },
            "--profile",
            self.profile,
            "--time-scale",
            &scale,
            "--seed",
            &seed,
        ]);
        let mut sim = Process::start("azcsi-sim", &self.binary("azcsi-sim"), &list, &self.logs())?;
        let endpoints = sim.first_json().await?;
        Ok((sim, endpoints))
    }

    async fn start_driver(&self, name: &str, list: Vec<String>, socket: &Path) -> Result<Driver> {
        let program = self.binary("azuredisk-csi");
        let process = Process::start(name, &program, &list, &self.logs())?;
        Driver::connect(process, socket).await
    }

    /// Starts the controller plugin.
    pub(crate) async fn start_controller(&self, world: &World, more: &Setup) -> Result<Driver> {
        let socket = self.controller_socket();
        let mut list = args(["controller"]);
        list.extend(world.common_args(&socket));
        list.extend(world.controller_args());
        list.extend(more.controller_args.iter().cloned());
        self.start_driver("controller", list, &socket).await
    }

    /// Starts the node plugin of a machine.
    pub(crate) async fn start_node(
        &self,
        site: &Site,
        world: &World,
        more: &Setup,
    ) -> Result<Driver> {
        let socket = self.node_socket(&site.name);
        let mut list = args(["node"]);
        list.extend(world.common_args(&socket));
        list.extend(site.node_args());
        list.extend(more.node_args.iter().cloned());
        self.start_driver(&site.name, list, &socket).await
    }

    /// Starts one process that is both.
    pub(crate) async fn start_combined(
        &self,
        site: &Site,
        world: &World,
        more: &Setup,
    ) -> Result<Driver> {
        let socket = self.controller_socket();
        let mut list = args(["all"]);
        list.extend(world.common_args(&socket));
        list.extend(world.controller_args());
        list.extend(site.node_args());
        list.extend(more.controller_args.iter().cloned());
        list.extend(more.node_args.iter().cloned());
        self.start_driver("combined", list, &socket).await
    }
}
