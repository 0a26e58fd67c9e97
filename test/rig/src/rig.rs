//! The simulator, one controller, and a node plugin per machine of the world.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::control::Control;
use crate::csi::Driver;
use crate::leftovers::unmount_below;
use crate::plan::{Site, World, text};
use crate::process::Process;

/// Lines of a log in one request.
const LINES: usize = 10_000;

pub use crate::plan::{Plan, Setup, Topology, Zones};

/// A machine of the world with its node plugin.
#[derive(Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The kubelet's folder of this machine.
    pub kubelet: PathBuf,
    /// The node plugin. Absent while the machine has no power, where the controller's process
    /// serves the node as well, and where the setup wants none.
    pub driver: Option<Driver>,
    site: Site,
}

/// Everything that runs.
#[derive(Debug)]
pub struct Rig {
    /// The simulator's control API.
    pub control: Control,
    /// The controller plugin; in [`Topology::Combined`] the one process that serves all.
    pub controller: Driver,
    /// The machines.
    pub machines: Vec<Machine>,
    plan: Plan,
    setup: Setup,
    world: World,
    sim: Process,
}

impl Machine {
    fn new(site: Site, driver: Option<Driver>) -> Self {
        Self {
            name: site.name.clone(),
            kubelet: site.kubelet.clone(),
            driver,
            site,
        }
    }

    /// The link that a disk in this slot has on the machine.
    #[must_use]
    pub fn slot(&self, lun: &str) -> PathBuf {
        Path::new(&self.site.device_root)
            .join("disk/azure/scsi1")
            .join(format!("lun{lun}"))
    }

    /// The client of the node plugin.
    ///
    /// # Errors
    /// If it does not run.
    pub fn plugin(&self) -> Result<&Driver> {
        self.driver
            .as_ref()
            .with_context(|| format!("{} runs no node plugin", self.name))
    }
}

impl Rig {
    /// Starts everything, as deployed.
    ///
    /// # Errors
    /// The first part that does not come up, with the end of its log.
    pub async fn start(plan: Plan) -> Result<Self> {
        Self::start_with(plan, Setup::default()).await
    }

    /// Starts everything.
    ///
    /// # Errors
    /// The first part that does not come up, with the end of its log.
    pub async fn start_with(plan: Plan, setup: Setup) -> Result<Self> {
        let (sim, endpoints) = plan.start_sim(&setup).await?;
        let control = Control::new(&text(&endpoints, "control")?)?;
        let world = World::read(&endpoints)?;
        let sites = endpoints["nodes"]
            .as_array()
            .context("the simulator printed no nodes")?
            .iter()
            .map(|entry| Site::read(entry, &plan.dir))
            .collect::<Result<Vec<_>>>()?;
        let first = sites.first().context("the world has no machine")?;
        let controller = match setup.topology {
            Topology::Separate => plan.start_controller(&world, &setup).await?,
            Topology::Combined => plan.start_combined(first, &world, &setup).await?,
        };
        let mut machines = Vec::new();
        for site in sites {
            let driver = match setup.topology {
                Topology::Separate if !setup.no_nodes => {
                    Some(plan.start_node(&site, &world, &setup).await?)
                }
                Topology::Separate | Topology::Combined => None,
            };
            machines.push(Machine::new(site, driver));
        }
        Ok(Self {
            control,
            controller,
            machines,
            plan,
            setup,
            world,
            sim,
        })
    }

    /// Where the Controller service is.
    #[must_use]
    pub fn controller_socket(&self) -> PathBuf {
        self.plan.controller_socket()
    }

    /// Where the Node service of a machine is.
    #[must_use]
    pub fn node_socket(&self, machine: &Machine) -> PathBuf {
        match self.setup.topology {
            Topology::Separate => self.plan.node_socket(&machine.name),
            Topology::Combined => self.plan.controller_socket(),
        }
    }

    /// The client of a machine's Node service.
    ///
    /// # Errors
    /// If it does not run.
    pub fn node<'a>(&'a self, machine: &'a Machine) -> Result<&'a Driver> {
        match self.setup.topology {
            Topology::Separate => machine.plugin(),
            Topology::Combined => Ok(&self.controller),
        }
    }

    /// Where each process writes its log.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.plan.logs()
    }

    /// The folder of this run.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.plan.dir
    }

    /// Requests to Resource Manager after a sequence number: the newest number, and each as
    /// `VERB type`.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn requests_since(&self, seen: u64) -> Result<(u64, Vec<String>)> {
        let list = self
            .control
            .get(&format!("/_sim/requests?since={seen}"))
            .await?;
        let entries = list
            .as_array()
            .or_else(|| list["requests"].as_array())
            .context("requests")?;
        let mut newest = seen;
        let mut lines = Vec::new();
        for entry in entries {
            newest = newest.max(entry["seq"].as_u64().unwrap_or_default());
            let path = entry["path"].as_str().unwrap_or_default();
            if path.starts_with("/subscriptions/") {
                lines.push(format!(
                    "{} {}",
                    entry["method"].as_str().unwrap_or("?"),
                    noun(path)
                ));
            }
        }
        Ok((newest, lines))
    }

    /// What the simulator says must never happen, and did; secrets in the logs of all processes are
    /// among it.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn violations(&self) -> Result<Vec<String>> {
        self.show_logs().await?;
        let list = self.control.get("/_sim/violations").await?;
        let entries = list
            .as_array()
            .or_else(|| list["violations"].as_array())
            .context("violations")?;
        Ok(entries.iter().map(ToString::to_string).collect())
    }

    /// Gives all logs to the simulator, which knows the secrets.
    async fn show_logs(&self) -> Result<()> {
        for entry in std::fs::read_dir(self.logs())? {
            let path = entry?.path();
            let (Ok(text), Some(name)) = (std::fs::read(&path), path.file_stem()) else {
                continue;
            };
            let lines: Vec<String> = String::from_utf8_lossy(&text)
                .lines()
                .map(str::to_owned)
                .collect();
            // In pieces, because a request has a limit.
            for piece in lines.chunks(LINES) {
                let path = format!("/_sim/logs?from={}", name.to_string_lossy());
                self.control.post_text(&path, piece.join("\n")).await?;
            }
        }
        Ok(())
    }

    /// Cuts the power of a machine: its plugin dies, its mounts are gone, Azure sees it stopped.
    ///
    /// # Errors
    /// If a step fails.
    pub async fn power_off(&mut self, index: usize) -> Result<()> {
        let machine = self.machines.get_mut(index).context("no such machine")?;
        if let Some(driver) = machine.driver.take() {
            driver.process.kill().await?;
        }
        unmount_below(&machine.kubelet)?;
        let path = format!("/_sim/vms/{}/power", machine.name);
        self.control
            .post(&path, &serde_json::json!({"state": "off"}))
            .await?;
        Ok(())
    }

    /// Gives the power back, and starts the plugin again.
    ///
    /// # Errors
    /// If a step fails.
    pub async fn power_on(&mut self, index: usize) -> Result<()> {
        let machine = self.machines.get_mut(index).context("no such machine")?;
        let path = format!("/_sim/vms/{}/power", machine.name);
        self.control
            .post(&path, &serde_json::json!({"state": "on"}))
            .await?;
        self.start_plugin(index).await
    }

    /// Kills the plugin of a machine, and nothing else: what it has mounted and started stays.
    ///
    /// # Errors
    /// If it cannot be killed.
    pub async fn kill_plugin(&mut self, index: usize) -> Result<()> {
        let machine = self.machines.get_mut(index).context("no such machine")?;
        match machine.driver.take() {
            Some(driver) => driver.process.kill().await,
            None => Ok(()),
        }
    }

    /// Starts the plugin of a machine that has none.
    ///
    /// # Errors
    /// If it does not come up.
    pub async fn start_plugin(&mut self, index: usize) -> Result<()> {
        let machine = self.machines.get_mut(index).context("no such machine")?;
        let node = self
            .plan
            .start_node(&machine.site, &self.world, &self.setup);
        machine.driver = Some(node.await?);
        Ok(())
    }

    /// Ends everything; the simulator last, so that every device can be let go.
    ///
    /// # Errors
    /// The first part that did not end by itself.
    pub async fn stop(self) -> Result<()> {
        let mut problems = Vec::new();
        for machine in self.machines {
            if let Some(driver) = machine.driver {
                problems.extend(driver.process.stop().await.err());
            }
        }
        problems.extend(self.controller.process.stop().await.err());
        problems.extend(unmount_below(&self.plan.dir).err());
        problems.extend(self.sim.stop().await.err());
        problems.into_iter().next().map_or(Ok(()), Err)
    }
}

/// The resource type of an ARM path, with the action if it has one.
fn noun(path: &str) -> String {
    let path = path.split('?').next().unwrap_or(path);
    if path.contains("/DiskOperations/") || path.contains("/operations/") {
        return "operation status".to_owned();
    }
    let parts: Vec<&str> = path.split('/').collect();
    match parts
        .iter()
        .rposition(|part| part.eq_ignore_ascii_case("Microsoft.Compute"))
    {
        Some(at) => {
            let tail = &parts[at + 1..];
            let types: Vec<&str> = tail.iter().step_by(2).copied().collect();
            types.join("/")
        }
        None => path.to_owned(),
    }
}
