//! A virtual machine: its command line, its start and its ends, and the agent in it.
//!
//! | module | holds |
//! |---|---|
//! | [`accel`] | whether hardware virtualisation really works |
//! | [`qemu`] | the command line |
//! | [`agent`] | talking to the agent |
//! | `ports` | ports of the host that lead into it |

pub mod accel;
pub mod agent;
mod ports;
pub mod qemu;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use azcsi_rig::process::Process;

use crate::hub::{Hub, Plug};
use crate::image::Image;
use crate::run::run;
use crate::wait::until;
use accel::Accel;
use agent::Agent;
use ports::Port;

/// What all machines of a run share.
#[derive(Clone, Debug)]
pub struct Site {
    /// What they boot.
    pub image: Image,
    /// How they are run.
    pub accel: Accel,
    /// Initial ramdisk with the guest program.
    pub ramdisk: PathBuf,
    /// A filesystem with the drivers; `None` while nothing but the machine is needed.
    pub drivers: Option<PathBuf>,
    /// Consoles and logs go here.
    pub logs: PathBuf,
    /// The network between them.
    pub hub: Hub,
}

/// What one machine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name, which is the name of the node.
    pub name: String,
    /// Its number, from 1: last part of its addresses.
    pub number: u8,
    /// Whether udev runs in it.
    pub udev: bool,
    /// Whether data disks are NVMe namespaces.
    pub nvme: bool,
    /// MiB of memory.
    pub memory: u32,
    /// Whether the controller of data disks tells of disks that come and go; where it does not, the
    /// driver has to ask.
    pub silent: bool,
    /// Whether it has the decoys of a virtual machine on Azure.
    pub decoys: bool,
    /// A folder of the host that it sees as its own: the contents of the simulator's shares.
    pub shares: Option<PathBuf>,
}

impl Spec {
    /// Its address on the network between the machines.
    #[must_use]
    pub fn address(&self) -> String {
        format!("10.77.0.{}", self.number)
    }
}

/// A machine, with or without power.
#[derive(Debug)]
pub struct Machine {
    /// What it is.
    pub spec: Spec,
    /// The agent in it.
    pub agent: Agent,
    /// Port of the host's loopback that leads to the driver in it.
    pub csi_port: u16,
    /// The same for the File driver.
    pub file_port: u16,
    site: Site,
    dir: PathBuf,
    plug: Plug,
    process: Option<Process>,
    starts: u32,
    /// Its ports, kept until the first start.
    reserved: Vec<Port>,
}

impl Machine {
    /// Prepares a machine; `dir` is where the simulator looks for its monitor.
    ///
    /// # Errors
    /// When its files cannot be made.
    pub async fn new(site: &Site, spec: Spec, dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)?;
        layer(&site.image.root(), &dir.join("os.qcow2")).await?;
        if spec.decoys {
            qemu::decoys(dir)?;
        }
        let plug = site.hub.plug(&spec.name).await?;
        let [agent, csi, file] = [Port::reserve()?, Port::reserve()?, Port::reserve()?];
        Ok(Self {
            agent: Agent::new(agent.number),
            csi_port: csi.number,
            file_port: file.number,
            site: site.clone(),
            dir: dir.to_owned(),
            plug,
            spec,
            process: None,
            starts: 0,
            reserved: vec![agent, csi, file],
        })
    }

    /// Switches it on and waits for the agent.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn power_on(&mut self) -> Result<()> {
        self.switch_on()?;
        self.wait_ready().await
    }

    /// Switches it on.
    ///
    /// # Errors
    /// When QEMU cannot be started.
    pub fn switch_on(&mut self) -> Result<()> {
        self.starts += 1;
        let name = format!("{}.{}", self.spec.name, self.starts);
        let argv = qemu::command_line(&qemu::Parts {
            site: &self.site,
            spec: &self.spec,
            dir: &self.dir,
            console: &self.console(),
            agent_port: self.agent.port(),
            csi_port: self.csi_port,
            file_port: self.file_port,
            lan_port: self.plug.port,
        });
        let (program, arguments) = argv.split_first().context("no program")?;
        self.reserved.drain(..).for_each(Port::release);
        let process = Process::start(
            &format!("{name}.qemu"),
            Path::new(program),
            arguments,
            &self.site.logs,
        )?;
        self.process = Some(process);
        Ok(())
    }

    /// Waits for the agent.
    ///
    /// # Errors
    /// When the machine ended, or does not answer.
    pub async fn wait_ready(&mut self) -> Result<()> {
        let console = self.console();
        let (agent, process) = (&self.agent, &mut self.process);
        let what = format!("the start of {}", self.spec.name);
        until(&what, || {
            let alive = match process.as_mut() {
                Some(process) => process.check(),
                None => Err(anyhow::anyhow!("it has no power")),
            };
            let panicked =
                fs::read_to_string(&console).is_ok_and(|text| text.contains("Kernel panic"));
            async move {
                alive?;
                ensure!(!panicked, "the kernel gave up: its console tells why");
                Ok(agent.ping().await.then_some(()))
            }
        })
        .await
    }

    fn console(&self) -> PathBuf {
        let name = format!("{}.{}.console", self.spec.name, self.starts);
        self.site.logs.join(name)
    }

    /// Takes the power away, without warning.
    ///
    /// # Errors
    /// When QEMU cannot be killed.
    pub async fn power_off(&mut self) -> Result<()> {
        match self.process.take() {
            Some(process) => process.kill().await,
            None => Ok(()),
        }
    }

    /// Whether it has power.
    #[must_use]
    pub const fn has_power(&self) -> bool {
        self.process.is_some()
    }
}

/// A layer for writes on top of a filesystem that stays as it is.
async fn layer(base: &Path, to: &Path) -> Result<()> {
    let (base, to) = (base.display().to_string(), to.display().to_string());
    run(&[
        "qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", &base, &to,
    ])
    .await
    .map(drop)
}
