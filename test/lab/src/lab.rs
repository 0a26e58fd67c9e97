//! Everything that runs: the local Azure, the controller on the host, the nodes in their machines,
//! and the file server in its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use azcsi_rig::control::Control;
use azcsi_rig::csi::Driver;
use azcsi_rig::process::Process;
use serde_json::{Value, json};

use crate::hub::Hub;
use crate::image::Image;
use crate::machine::accel::Accel;
use crate::machine::{Machine, Site, Spec};
use crate::node::Node;
use crate::run::run;
use crate::shares::Shares;

/// Size of the machines as Azure calls it: it takes 32 data disks.
const SIZE: &str = "Standard_D16s_v5";
/// Name of the file server's machine.
pub const FILES: &str = "files";

/// Where everything comes from and goes to.
#[derive(Clone, Debug)]
pub struct Place {
    /// Folder of the binaries.
    pub bin: PathBuf,
    /// Folder of this run; it is removed at its end.
    pub dir: PathBuf,
    /// What the machines boot.
    pub image: Image,
    /// How they are run.
    pub accel: Accel,
    /// The real csi-sanity, where there is one.
    pub suite: Option<PathBuf>,
}

/// A running lab.
#[derive(Debug)]
pub struct Lab {
    /// The simulator's control API.
    pub control: Control,
    /// The controller.
    pub controller: Driver,
    /// The nodes: the first with SCSI disks, the second with NVMe namespaces.
    pub nodes: Vec<Node>,
    /// The file server's machine, switched off until a case needs it.
    pub files: Machine,
    /// The network between the machines.
    pub hub: Hub,
    /// The File driver's controller and the shares' servers, once a case needs them.
    pub shares: Option<Shares>,
    pub(crate) place: Place,
    pub(crate) endpoints: Value,
    sim: Process,
}

/// The node whose data disks are SCSI disks.
pub const SCSI: usize = 0;
/// The node whose data disks are NVMe namespaces.
pub const NVME: usize = 1;

pub(crate) fn args<const N: usize>(list: [&str; N]) -> Vec<String> {
    list.map(str::to_owned).to_vec()
}

/// A text that the simulator printed.
pub(crate) fn text(value: &Value, key: &str) -> Result<String> {
    let text = value[key].as_str();
    Ok(text
        .with_context(|| format!("the simulator printed no '{key}'"))?
        .to_owned())
}

impl Place {
    /// Where logs and consoles are while the lab runs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    /// The simulator's state.
    fn azure(&self) -> PathBuf {
        self.dir.join("azure")
    }

    /// Makes what all machines share.
    async fn site(&self) -> Result<Site> {
        fs::create_dir_all(self.logs())?;
        let ramdisk = self.dir.join("ramdisk");
        self.image
            .ramdisk(&self.bin.join("azcsi-lab-guest"), &ramdisk)?;
        Ok(Site {
            image: self.image.clone(),
            accel: self.accel,
            ramdisk,
            drivers: Some(self.drivers().await?),
            logs: self.logs(),
            hub: Hub::default(),
        })
    }

    /// A filesystem with the drivers, without what only a debugger needs.
    async fn drivers(&self) -> Result<PathBuf> {
        let folder = self.dir.join("drivers");
        fs::create_dir_all(&folder)?;
        for name in ["azuredisk-csi", "azurefile-csi"] {
            let (from, to) = (self.bin.join(name), folder.join(name));
            run(&[Path::new("strip"), Path::new("-o"), &to, &from]).await?;
        }
        let image = self.dir.join("drivers.ext4");
        let (folder, path) = (folder.display().to_string(), image.display().to_string());
        run(&[
            "mke2fs",
            "-q",
            "-t",
            "ext4",
            "-O",
            "^has_journal",
            "-E",
            "root_owner=0:0",
            "-d",
            &folder,
            &path,
            "512M",
        ])
        .await?;
        Ok(image)
    }

    async fn start_sim(&self) -> Result<(Process, Value)> {
        let program = self.bin.join("azcsi-sim");
        let name = program.display().to_string();
        let world = run(&[
            &name, "world", "--nodes", "2", "--kind", "uniform", "--size", SIZE, "--zones", "1",
        ])
        .await?;
        let file = self.dir.join("world.toml");
        fs::write(&file, world)?;
        let (file, dir) = (file.display().to_string(), self.azure());
        let dir = dir.display().to_string();
        let list = args([
            "serve",
            "--world",
            &file,
            "--dir",
            &dir,
            "--host-link",
            "qmp",
            "--profile",
            "instant",
        ]);
        let mut sim = Process::start("azcsi-sim", &program, &list, &self.logs())?;
        let endpoints = sim.first_json().await?;
        Ok((sim, endpoints))
    }

    async fn start_controller(&self, endpoints: &Value) -> Result<Driver> {
        let socket = self.dir.join("controller.sock");
        let endpoint = format!("unix://{}", socket.display());
        let list = args([
            "controller",
            "--endpoint",
            &endpoint,
            "--cloud-config",
            &text(endpoints, "controllerConfig")?,
            "--allow-empty-cloud-config=false",
            "--kubeconfig",
            &text(endpoints, "kubeconfig")?,
            "-v=5",
        ]);
        let program = self.bin.join("azuredisk-csi");
        let process = Process::start("controller", &program, &list, &self.logs())?;
        Driver::connect(process, &socket).await
    }

    async fn node(
        &self,
        site: &Site,
        entry: &Value,
        index: usize,
        endpoints: &Value,
    ) -> Result<Node> {
        let name = text(entry, "name")?;
        let dir = self.azure().join("nodes").join(&name);
        fs::create_dir_all(&dir)?;
        let nvme = index == NVME;
        if nvme {
            fs::write(dir.join("nvme"), "")?;
        }
        let spec = Spec {
            number: u8::try_from(index)? + 11,
            name,
            udev: !nvme,
            nvme,
            memory: 640,
            silent: false,
            decoys: true,
            shares: None,
        };
        let machine = Machine::new(site, spec, &dir).await?;
        Node::new(machine, dir, entry, endpoints)
    }
}

impl Lab {
    /// Starts everything but the machines.
    ///
    /// # Errors
    /// The first part that does not come up.
    pub async fn start(place: &Place) -> Result<Self> {
        // An earlier lab of this run has another world.
        for folder in [place.azure(), place.dir.join(FILES), place.logs()] {
            if folder.is_dir() {
                fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
            }
        }
        let site = place.site().await?;
        let (sim, endpoints) = place.start_sim().await?;
        let control = Control::new(&text(&endpoints, "control")?)?;
        let controller = place.start_controller(&endpoints).await?;
        let mut nodes = Vec::new();
        for (index, entry) in endpoints["nodes"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            nodes.push(place.node(&site, entry, index, &endpoints).await?);
        }
        let files = Spec {
            name: FILES.to_owned(),
            number: 100,
            udev: false,
            nvme: false,
            memory: 512,
            silent: false,
            decoys: false,
            shares: Some(PathBuf::from(text(&endpoints, "shares")?)),
        };
        let files = Machine::new(&site, files, &place.dir.join(FILES)).await?;
        Ok(Self {
            control,
            controller,
            nodes,
            files,
            hub: site.hub,
            shares: None,
            place: place.clone(),
            endpoints,
            sim,
        })
    }

    /// Starts the nodes, all at the same time.
    ///
    /// # Errors
    /// The first that does not come up.
    pub async fn come_up(&mut self) -> Result<()> {
        for node in &mut self.nodes {
            node.machine.switch_on()?;
        }
        for node in &mut self.nodes {
            node.come_up().await?;
        }
        Ok(())
    }

    /// Ends everything: machines first, then the controller and the simulator.
    ///
    /// # Errors
    /// The first part that did not end.
    pub async fn stop(mut self) -> Result<()> {
        let mut problems = Vec::new();
        for node in &mut self.nodes {
            problems.extend(node.machine.power_off().await.err());
        }
        problems.extend(self.files.power_off().await.err());
        if let Some(shares) = self.shares {
            problems.extend(shares.controller.process.stop().await.err());
        }
        problems.extend(self.controller.process.stop().await.err());
        problems.extend(self.sim.stop().await.err());
        problems.into_iter().next().map_or(Ok(()), Err)
    }

    /// The world as the simulator has it.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn state(&self) -> Result<Value> {
        self.control.get("/_sim/state").await
    }

    /// The file with the contents of a volume.
    ///
    /// # Errors
    /// When Azure has no such disk.
    pub async fn contents(&self, volume_id: &str) -> Result<PathBuf> {
        let state = self.state().await?;
        let disks = state["disks"].as_object().into_iter().flatten();
        let disks: Vec<&Value> = disks
            .map(|(_, disk)| disk)
            .chain(state["disks"].as_array().into_iter().flatten())
            .collect();
        let found = disks.iter().find(|disk| {
            disk["id"]
                .as_str()
                .is_some_and(|id| id.eq_ignore_ascii_case(volume_id))
        });
        let key = found
            .and_then(|disk| {
                disk["uniqueId"]
                    .as_str()
                    .or_else(|| disk["unique_id"].as_str())
            })
            .with_context(|| format!("no disk {volume_id} in {state:.400}"))?;
        Ok(self.place.azure().join("disks").join(format!("{key}.img")))
    }

    /// Has devices appear later than Azure says.
    ///
    /// # Errors
    /// When the simulator does not take it.
    pub async fn device_lag(&self, seconds: u32) -> Result<()> {
        let body = json!({"seconds": seconds});
        self.control
            .post("/_sim/devices/lag", &body)
            .await
            .map(drop)
    }

    /// Tells Azure about the power of a machine.
    ///
    /// # Errors
    /// When the simulator does not take it.
    pub async fn azure_power(&self, node: usize, state: &str) -> Result<()> {
        let name = &self.node(node)?.machine.spec.name;
        let path = format!("/_sim/vms/{name}/power");
        self.control
            .post(&path, &json!({"state": state}))
            .await
            .map(drop)
    }

    /// A node.
    ///
    /// # Errors
    /// When there is none with that number.
    pub fn node(&self, index: usize) -> Result<&Node> {
        self.nodes.get(index).context("no such node")
    }

    /// A node, to be changed.
    ///
    /// # Errors
    /// When there is none with that number.
    pub fn node_mut(&mut self, index: usize) -> Result<&mut Node> {
        self.nodes.get_mut(index).context("no such node")
    }

    /// What has to hold after every case: Azure saw nothing that must not happen, nothing is left
    /// in it, and no decoy was touched.
    ///
    /// # Errors
    /// What does not hold.
    pub async fn audit(&self) -> Result<()> {
        let violations = self.control.get("/_sim/violations").await?;
        let is_empty = violations.as_array().is_some_and(Vec::is_empty)
            || violations["violations"]
                .as_array()
                .is_some_and(Vec::is_empty);
        if !is_empty {
            bail!("the simulator saw what must not happen: {violations}");
        }
        let state = self.state().await?;
        let count = |key: &str| {
            let value = &state[key];
            value.as_object().map_or_else(
                || value.as_array().map_or(0, Vec::len),
                serde_json::Map::len,
            )
        };
        let left = ["disks", "snapshots", "shares"].map(|table| (table, count(table)));
        if left.iter().any(|(_, count)| *count > 0) {
            bail!("left in Azure: {left:?}");
        }
        for node in &self.nodes {
            let touched = node.touched_decoys()?;
            if !touched.is_empty() {
                bail!("{}: written to {touched:?}", node.machine.spec.name);
            }
        }
        Ok(())
    }

    /// Collects what tells why a case failed into a folder.
    pub async fn collect(&self, to: &Path) {
        // What cannot be had is not there: the rest is collected all the same.
        let _ = fs::create_dir_all(to);
        for node in &self.nodes {
            node.collect(to).await;
        }
        for (name, argv) in [
            ("files.dmesg", ["dmesg", "-T"]),
            ("files.samba", ["cat", "/run/lab/samba.log"]),
            ("files.smbd", ["cat", "/run/lab/smbd.log"]),
            ("files.conf", ["cat", "/run/lab/smb.conf"]),
        ] {
            if let Ok(text) = self.files.agent.run(&argv).await {
                let _ = fs::write(to.join(name), text);
            }
        }
        for entry in fs::read_dir(self.place.logs())
            .into_iter()
            .flatten()
            .flatten()
        {
            let _ = fs::copy(entry.path(), to.join(entry.file_name()));
        }
    }
}
