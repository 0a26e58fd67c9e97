//! The local Azure of a run.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use azcsi_rig::control::Control;
use azcsi_rig::process::Process;
use serde_json::Value;

use crate::Arguments;
use crate::shell;

/// A machine, as Azure knows it.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// Its name, which is that of the node.
    pub(crate) name: String,
    /// `azure://` and its id.
    pub(crate) provider_id: String,
    /// Its metadata service.
    pub(crate) metadata: SocketAddr,
    /// Its `/dev`.
    pub(crate) devices: String,
}

/// The simulator.
#[derive(Debug)]
pub(crate) struct Azure {
    /// Its control API.
    pub(crate) control: Control,
    /// Resource Manager.
    pub(crate) arm: SocketAddr,
    /// The cloud configuration of the controller.
    pub(crate) config: Value,
    /// The certificate to trust.
    pub(crate) ca: String,
    /// The machines.
    pub(crate) machines: Vec<Machine>,
    process: Process,
}

fn text(value: &Value, key: &str) -> Result<String> {
    let found = value[key].as_str();
    Ok(found
        .with_context(|| format!("the simulator printed no '{key}'"))?
        .to_owned())
}

/// The address in a URL of this machine.
fn address(url: &str) -> Result<SocketAddr> {
    let (_, port) = url.rsplit_once(':').context("a URL without a port")?;
    Ok(SocketAddr::from(([127, 0, 0, 1], port.parse()?)))
}

impl Azure {
    pub(crate) async fn start(arguments: &Arguments, folder: &Path, logs: &Path) -> Result<Self> {
        let program = arguments.bin.join("azcsi-sim");
        let world = [
            "world",
            "--nodes",
            "2",
            "--size",
            "Standard_D4s_v5",
            "--kind",
            "uniform",
        ];
        let world = shell::run(&program, &[&world[..], &["--zones", "1"]].concat(), "").await?;
        let path = folder.join("world.toml");
        std::fs::write(&path, world)?;
        let dir = folder.join("azure").display().to_string();
        let path = path.display().to_string();
        let args = [
            "serve",
            "--world",
            &path,
            "--dir",
            &dir,
            "--host-link",
            "loop",
        ];
        let args = args.map(str::to_owned);
        let mut process = Process::start("azcsi-sim", &program, &args, logs)?;
        let printed = process.first_json().await?;
        let machines = printed["nodes"].as_array().context("machines")?;
        let machines = machines.iter().map(|entry| {
            Ok(Machine {
                name: text(entry, "name")?,
                provider_id: text(entry, "providerID")?,
                metadata: address(&text(entry, "imds")?)?,
                devices: text(entry, "deviceRoot")?,
            })
        });
        let config = std::fs::read_to_string(text(&printed, "controllerConfig")?)?;
        Ok(Self {
            control: Control::new(&text(&printed, "control")?)?,
            arm: address(&text(&printed, "arm")?)?,
            config: serde_json::from_str(&config)?,
            ca: std::fs::read_to_string(text(&printed, "caFile")?)?,
            machines: machines.collect::<Result<_>>()?,
            process,
        })
    }

    /// Names of the disks, or of the snapshots, that there are.
    pub(crate) async fn names(&self, kind: &str) -> Result<Vec<String>> {
        let state = self.control.get("/_sim/state").await?;
        Ok(match &state[kind] {
            Value::Object(map) => map.keys().cloned().collect(),
            Value::Array(list) => list.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        })
    }

    /// Fails if the simulator saw what must never happen.
    pub(crate) async fn no_violations(&self) -> Result<()> {
        let answer = self.control.get("/_sim/violations").await?;
        let list = answer
            .as_array()
            .or_else(|| answer["violations"].as_array());
        let list = list.context("violations")?;
        if list.is_empty() {
            return Ok(());
        }
        bail!("the simulator saw what must not happen: {list:?}")
    }

    pub(crate) async fn stop(self) -> Result<()> {
        self.process.stop().await
    }
}
