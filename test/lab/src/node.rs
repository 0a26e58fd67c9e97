//! A node: a machine with the driver's node plugin in it, and the File driver's when a case needs it.

mod file;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use azcsi_proto::csi::v1::ProbeRequest;
use azcsi_proto::csi::v1::identity_client::IdentityClient;
use azcsi_proto::csi::v1::node_client::NodeClient;
use serde_json::Value;
use tonic::transport::{Channel, Endpoint};

use crate::machine::{Machine, qemu};
use crate::wait::until;
use crate::wire::{AZURE_SYS, CSI_PORT, RUN, Request, Span};
use crate::writer::Writer;

/// Name of the driver among the programs of the agent.
const DRIVER: &str = "driver";
/// How long a call of CSI may take.
const CALL: Duration = Duration::from_secs(240);
const KUBECONFIG: &str = "/run/lab/kubeconfig";
/// Where ports of the host appear in the machine.
const METADATA: &str = "169.254.169.254:80";
const RESOURCE_MANAGER: &str = "169.254.169.253:443";

/// Which sysfs the driver sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// With the places that an Azure machine shows.
    #[default]
    Azure,
    /// As it is: the controllers of QEMU.
    Plain,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// Its machine.
    pub machine: Machine,
    dir: PathBuf,
    /// Addresses in the machine, with the ports of the host that they lead to.
    relays: BTreeMap<String, u16>,
    /// Files that the machine gets.
    files: BTreeMap<&'static str, String>,
    channel: Channel,
    file: file::Plugin,
}

fn port(url: &Value) -> Result<u16> {
    let url = url.as_str().context("an address of the simulator")?;
    let port = url.trim_end_matches('/').rsplit(':').next();
    port.and_then(|port| port.parse().ok())
        .with_context(|| format!("no port in {url}"))
}

impl Node {
    /// A node with its machine, from what the simulator printed.
    ///
    /// # Errors
    /// When that lacks something.
    pub fn new(machine: Machine, dir: PathBuf, entry: &Value, endpoints: &Value) -> Result<Self> {
        let kubernetes = port(&endpoints["kubernetes"])?;
        let arm = port(&endpoints["arm"])?;
        let loopback = |port: u16| (format!("127.0.0.1:{port}"), port);
        let relays = [
            (METADATA.to_owned(), port(&entry["imds"])?),
            (RESOURCE_MANAGER.to_owned(), arm),
            loopback(arm),
            loopback(kubernetes),
        ];
        let read = |key: &str| {
            let file = endpoints[key].as_str().context("a file of the simulator")?;
            fs::read_to_string(file).with_context(|| file.to_owned())
        };
        // No certificates: what the Disk driver's node plugin talks to needs none.
        let files = [(KUBECONFIG, read("kubeconfig")?)];
        let file = file::Plugin::new(&machine, &read("fileNodeConfig")?, read("caFile")?)?;
        let url = format!("http://127.0.0.1:{}", machine.csi_port);
        Ok(Self {
            channel: Endpoint::from_shared(url)?.timeout(CALL).connect_lazy(),
            relays: relays.into(),
            files: files.into(),
            machine,
            dir,
            file,
        })
    }

    /// Waits for the machine, and starts what a node has.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn come_up(&mut self) -> Result<()> {
        self.machine.wait_ready().await?;
        self.file.is_running = false;
        let agent = &self.machine.agent;
        for (listen, port) in &self.relays {
            let relay = Request::Relay {
                listen: listen.clone(),
                port: *port,
            };
            agent.ask(&relay).await?;
        }
        agent
            .run(&["mount", "-o", "ro", "/dev/vda", "/opt/lab"])
            .await?;
        for (path, text) in &self.files {
            let put = Request::Put {
                path: (*path).to_owned(),
                text: text.clone(),
            };
            agent.ask(&put).await?;
        }
        self.start_driver(View::Azure).await
    }

    /// Starts the driver and waits until it says that it is ready.
    ///
    /// # Errors
    /// When it does not.
    pub async fn start_driver(&self, view: View) -> Result<()> {
        let sys = match view {
            View::Azure => AZURE_SYS,
            View::Plain => "/sys",
        };
        let argv = [
            "/opt/lab/azuredisk-csi".to_owned(),
            "node".to_owned(),
            format!("--endpoint=tcp://0.0.0.0:{CSI_PORT}"),
            format!("--nodeid={}", self.machine.spec.name),
            format!("--kubeconfig={KUBECONFIG}"),
            format!("--sys-root={sys}"),
            "--remove-not-ready-taint=false".to_owned(),
            "-v=5".to_owned(),
        ];
        let start = Request::Start {
            name: DRIVER.to_owned(),
            argv: argv.to_vec(),
        };
        self.machine.agent.ask(&start).await?;
        let what = format!("the driver on {}", self.machine.spec.name);
        let running = Request::Running {
            name: DRIVER.to_owned(),
        };
        until(&what, || async {
            self.machine.agent.ask(&running).await?;
            let probe = IdentityClient::new(self.channel.clone())
                .probe(ProbeRequest {})
                .await;
            let ready = probe.is_ok_and(|reply| reply.into_inner().ready != Some(false));
            Ok(ready.then_some(()))
        })
        .await
    }

    /// Kills the driver.
    ///
    /// # Errors
    /// When it was not started.
    pub async fn stop_driver(&self) -> Result<()> {
        let stop = Request::Stop {
            name: DRIVER.to_owned(),
        };
        self.machine.agent.ask(&stop).await.map(drop)
    }

    /// The Node service.
    #[must_use]
    pub fn csi(&self) -> NodeClient<Channel> {
        NodeClient::new(self.channel.clone())
    }

    /// Starts to write a pattern over and over.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub async fn writer(&self, span: &Span) -> Result<Writer> {
        let agent = self.machine.agent.clone();
        agent.ask(&Request::WriteUntilError(span.clone())).await?;
        Ok(Writer::new(agent))
    }

    /// The same, through errors: see [`Writer::errors`].
    ///
    /// # Errors
    /// When the agent does not answer.
    pub async fn stubborn_writer(&self, span: &Span) -> Result<Writer> {
        let agent = self.machine.agent.clone();
        agent
            .ask(&Request::WriteThroughErrors(span.clone()))
            .await?;
        Ok(Writer::new(agent))
    }

    /// Fails when a mount of a volume is left.
    ///
    /// # Errors
    /// The mounts.
    pub async fn has_no_mount(&self, volume: &str) -> Result<()> {
        let table = self
            .machine
            .agent
            .run(&["cat", "/proc/self/mounts"])
            .await?;
        let left: Vec<&str> = table.lines().filter(|line| line.contains(volume)).collect();
        ensure!(left.is_empty(), "still mounted: {left:?}");
        Ok(())
    }

    /// How often the kernel has said something.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn kernel_says(&self, what: &str) -> Result<usize> {
        let log = self.machine.agent.run(&["dmesg"]).await?;
        Ok(log.lines().filter(|line| line.contains(what)).count())
    }

    /// Waits until the kernel says something once more.
    ///
    /// # Errors
    /// When it does not.
    pub async fn wait_kernel_says(&self, what: &str, seen: usize) -> Result<()> {
        until(&format!("'{what}' in the kernel's log"), || async {
            Ok((self.kernel_says(what).await? > seen).then_some(()))
        })
        .await
    }

    /// Restarts the machine without the monitor's help, and waits until the node is up again.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn restart(&mut self) -> Result<()> {
        let agent = self.machine.agent.clone();
        let boot = ["cat", "/proc/sys/kernel/random/boot_id"];
        let before = agent.run(&boot).await?;
        // The answer may or may not come before the end.
        let line = agent.shell("echo b > /proc/sysrq-trigger");
        let _ = tokio::time::timeout(Duration::from_secs(2), line).await;
        until("another start of the machine", || async {
            let now = agent.run(&boot).await.ok();
            Ok(now.filter(|now| *now != before).map(drop))
        })
        .await?;
        self.come_up().await
    }

    /// Decoys whose contents changed.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn touched_decoys(&self) -> Result<Vec<String>> {
        qemu::touched_decoys(&self.dir)
    }

    /// Collects what tells why a case failed.
    pub async fn collect(&self, to: &Path) {
        let name = &self.machine.spec.name;
        let log = format!("{RUN}/{DRIVER}.log");
        let file_log = format!("{RUN}/{}.log", file::DRIVER);
        for (end, argv) in [
            ("dmesg", vec!["dmesg"]),
            ("driver.log", vec!["cat", log.as_str()]),
            ("file-driver.log", vec!["cat", file_log.as_str()]),
            ("writer.log", vec!["tail", "/run/lab/writer.log"]),
            ("mounts", vec!["cat", "/proc/self/mountinfo"]),
            ("lsblk", vec!["lsblk", "-O"]),
        ] {
            // A machine without power has nothing to tell; its console is kept.
            if let Ok(text) = self.machine.agent.run(&argv).await {
                let _ = fs::write(to.join(format!("{name}.{end}")), text);
            }
        }
    }
}
