//! The simulator, one controller, and a node plugin per machine of the world.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::control::Control;
use crate::csi::Driver;
use crate::leftovers::unmount_below;
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

/// A machine of the world with its node plugin.
#[derive(Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The kubelet's folder of this machine.
    pub kubelet: PathBuf,
    /// The node plugin; absent while the machine has no power.
    pub driver: Option<Driver>,
    device_root: String,
    metadata: String,
}

/// Everything that runs.
#[derive(Debug)]
pub struct Rig {
    /// The simulator's control API.
    pub control: Control,
    /// The controller plugin.
    pub controller: Driver,
    /// The machines.
    pub machines: Vec<Machine>,
    plan: Plan,
    kubeconfig: String,
    sim: Process,
}

fn text(value: &Value, key: &str) -> Result<String> {
    Ok(value[key]
        .as_str()
        .with_context(|| format!("the simulator printed no '{key}'"))?
        .to_owned())
}

fn args<const N: usize>(list: [&str; N]) -> Vec<String> {
    list.map(str::to_owned).to_vec()
}

impl Plan {
    fn binary(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    /// Has the simulator write a world of so many machines.
    async fn write_world(&self) -> Result<PathBuf> {
        let path = self.dir.join("world.toml");
        let nodes = self.nodes.to_string();
        let list = [
            "world",
            "--nodes",
            &nodes,
            "--zones",
            "1",
            "--size",
            "Standard_D4s_v5",
        ];
        #[expect(
            clippy::disallowed_methods,
            reason = "a launcher of binaries; drivers spawn through azcsi-host"
        )]
        let output = tokio::process::Command::new(self.binary("azcsi-sim"))
            .args(list)
            .args(["--kind", self.kind])
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
    async fn start_sim(&self) -> Result<(Process, Value)> {
        std::fs::create_dir_all(self.logs())?;
        let world = self.write_world().await?.display().to_string();
        let state = self.dir.join("azure").display().to_string();
        let scale = self.time_scale.to_string();
        let list = args([
            "serve",
            "--world",
            &world,
            "--dir",
            &state,
            "--host-link",
            "loop",
            "--profile",
            self.profile,
            "--time-scale",
            &scale,
            "--seed",
            "1",
        ]);
        let mut sim = Process::start("azcsi-sim", &self.binary("azcsi-sim"), &list, &self.logs())?;
        let endpoints = sim.first_json().await?;
        Ok((sim, endpoints))
    }

    /// Starts the controller plugin.
    async fn start_controller(&self, cloud_config: &str, kubeconfig: &str) -> Result<Driver> {
        let socket = self.dir.join("controller.sock");
        let endpoint = format!("unix://{}", socket.display());
        let list = args([
            "controller",
            "--endpoint",
            &endpoint,
            "--cloud-config",
            cloud_config,
            "--kubeconfig",
            kubeconfig,
            "--allow-empty-cloud-config=false",
            "-v=5",
        ]);
        let process = Process::start(
            "controller",
            &self.binary("azuredisk-csi"),
            &list,
            &self.logs(),
        )?;
        Driver::connect(process, &socket).await
    }

    /// Starts the node plugin of a machine.
    async fn start_node(&self, node: &Machine, kubeconfig: &str) -> Result<Driver> {
        let socket = self.dir.join(format!("{}.sock", node.name));
        let endpoint = format!("unix://{}", socket.display());
        let state = node
            .kubelet
            .join("plugins/disk.csi.azure.com/state")
            .display()
            .to_string();
        let list = args([
            "node",
            "--endpoint",
            &endpoint,
            "--nodeid",
            &node.name,
            "--kubeconfig",
            kubeconfig,
            "--metadata-endpoint",
            &node.metadata,
            "--device-root",
            &node.device_root,
            "--state-dir",
            &state,
            "--remove-not-ready-taint=false",
            "-v=5",
        ]);
        let process = Process::start(
            &node.name,
            &self.binary("azuredisk-csi"),
            &list,
            &self.logs(),
        )?;
        Driver::connect(process, &socket).await
    }
}

impl Machine {
    /// The client of the node plugin.
    ///
    /// # Errors
    /// If the machine has no power.
    pub fn plugin(&self) -> Result<&Driver> {
        self.driver
            .as_ref()
            .with_context(|| format!("{} has no power", self.name))
    }
}

impl Rig {
    /// Starts everything.
    ///
    /// # Errors
    /// The first part that does not come up, with the end of its log.
    pub async fn start(plan: Plan) -> Result<Self> {
        let (sim, endpoints) = plan.start_sim().await?;
        let control = Control::new(&text(&endpoints, "control")?)?;
        let kubeconfig = text(&endpoints, "kubeconfig")?;
        let cloud_config = text(&endpoints["cloudConfig"], "disk-controller")?;
        let controller = plan.start_controller(&cloud_config, &kubeconfig).await?;
        let mut machines = Vec::new();
        for entry in endpoints["nodes"]
            .as_array()
            .context("the simulator printed no nodes")?
        {
            let name = text(entry, "name")?;
            let kubelet = plan.dir.join("kubelet").join(&name);
            std::fs::create_dir_all(&kubelet)?;
            let (device_root, metadata) = (text(entry, "deviceRoot")?, text(entry, "imds")?);
            let mut machine = Machine {
                name,
                kubelet,
                driver: None,
                device_root,
                metadata,
            };
            machine.driver = Some(plan.start_node(&machine, &kubeconfig).await?);
            machines.push(machine);
        }
        Ok(Self {
            control,
            controller,
            machines,
            plan,
            kubeconfig,
            sim,
        })
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

    /// What the simulator says must never happen, and did.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn violations(&self) -> Result<Vec<String>> {
        let list = self.control.get("/_sim/violations").await?;
        let entries = list
            .as_array()
            .or_else(|| list["violations"].as_array())
            .context("violations")?;
        Ok(entries.iter().map(ToString::to_string).collect())
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
        machine.driver = Some(self.plan.start_node(machine, &self.kubeconfig).await?);
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
