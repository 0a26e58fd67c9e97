//! A node on this machine: namespaces of its own, and in them a containerd and a kubelet.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use azcsi_rig::process::Process;

use crate::azure::{Azure, Machine};
use crate::control_plane::PORT;
use crate::network;
use crate::outer;
use crate::shell;
use crate::wait::eventually;

const KUBELET: &str = include_str!("../files/kubelet.yaml");
const CONTAINERD: &str = include_str!("../files/containerd.toml");
const CNI: &str = include_str!("../files/cni.conflist");
const NODE: &str = include_str!("../files/node.sh");

/// What the nodes of a run share.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The folder of the run.
    pub(crate) folder: PathBuf,
    /// Where logs go.
    pub(crate) logs: PathBuf,
    /// The programs.
    pub(crate) programs: PathBuf,
    /// The images.
    pub(crate) images: PathBuf,
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its name.
    pub(crate) name: String,
    index: usize,
    pid: u32,
    site: Site,
    kubeconfig: PathBuf,
    holder: Process,
    containerd: Option<Process>,
    kubelet: Option<Process>,
}

impl Node {
    /// Starts a node.
    pub(crate) async fn start(
        site: &Site,
        index: usize,
        azure: &Azure,
        kubeconfig: PathBuf,
    ) -> Result<Self> {
        let machine = azure.machines.get(index).context("no such machine")?;
        let folder = site.folder.join("nodes").join(index.to_string());
        write_files(site, index, machine, azure, &folder)?;
        let script = site.folder.join("node.sh");
        std::fs::write(&script, NODE)?;
        let name = format!("node{index}");
        let logs = site.logs.join(format!("{name}-pods"));
        let mut args = ["--mount", "--net", "--propagation", "private", "sh"]
            .map(str::to_owned)
            .to_vec();
        args.extend(
            [&script, &folder, Path::new(&machine.devices), &logs]
                .map(|path| path.display().to_string()),
        );
        let program = Path::new("unshare");
        let mut holder = Process::start(&name, program, &args, &site.logs)?;
        holder.first_json().await?;
        let pid = holder.id().context("the node ended")?;
        network::join(index, pid).await?;
        forwarders(pid, azure, machine).await?;
        let mut node = Self {
            name: machine.name.clone(),
            index,
            pid,
            site: site.clone(),
            kubeconfig,
            holder,
            containerd: None,
            kubelet: None,
        };
        node.start_containerd().await?;
        node.start_kubelet()?;
        Ok(node)
    }

    /// Runs a program of the node with its log beside the others.
    fn inside(&self, name: &str, args: &[String]) -> Result<Process> {
        let path = format!(
            "PATH={}:/usr/sbin:/usr/bin:/sbin:/bin",
            self.site.programs.display()
        );
        let pid = self.pid.to_string();
        let program = self.site.programs.join(name).display().to_string();
        let mut all = [
            "--target", &pid, "--mount", "--net", "--", "env", &path, &program,
        ]
        .map(str::to_owned)
        .to_vec();
        all.extend_from_slice(args);
        let log = format!("node{}-{name}", self.index);
        Process::start(&log, Path::new("nsenter"), &all, &self.site.logs)
    }

    async fn ctr(&self, args: &[&str]) -> Result<String> {
        let pid = self.pid.to_string();
        let program = self.site.programs.join("ctr").display().to_string();
        let own = [
            "--target",
            &pid,
            "--mount",
            "--net",
            "--",
            &program,
            "--namespace",
            "k8s.io",
        ];
        shell::run(Path::new("nsenter"), &[&own[..], args].concat(), "").await
    }

    async fn start_containerd(&mut self) -> Result<()> {
        let args = ["--config", "/etc/containerd/config.toml"].map(str::to_owned);
        self.containerd = Some(self.inside("containerd", &args)?);
        let patience = Duration::from_secs(30);
        eventually("containerd answers", patience, async || {
            self.ctr(&["version"]).await
        })
        .await?;
        let mut archives: Vec<_> =
            std::fs::read_dir(&self.site.images)?.collect::<Result<_, _>>()?;
        archives.sort_by_key(std::fs::DirEntry::path);
        for archive in archives {
            let path = archive.path().display().to_string();
            self.ctr(&["images", "import", &path]).await?;
        }
        Ok(())
    }

    /// Starts the kubelet.
    pub(crate) fn start_kubelet(&mut self) -> Result<()> {
        let labels = "topology.kubernetes.io/region=eastus2,topology.kubernetes.io/zone=eastus2-1,\
                      node.kubernetes.io/instance-type=Standard_D4s_v5";
        let args = [
            "--config=/etc/kubernetes/kubelet.yaml".to_owned(),
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--hostname-override={}", self.name),
            format!("--node-ip={}", network::address(self.index)),
            format!("--node-labels={labels}"),
            "--v=3".to_owned(),
        ];
        self.kubelet = Some(self.inside("kubelet", &args)?);
        Ok(())
    }

    /// Ends the kubelet, and nothing else.
    pub(crate) async fn stop_kubelet(&mut self) -> Result<()> {
        match self.kubelet.take() {
            Some(kubelet) => kubelet.stop().await,
            None => Ok(()),
        }
    }

    /// The path of something on the node, as this program sees it.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        let path = path.trim_start_matches('/');
        Path::new("/proc")
            .join(self.pid.to_string())
            .join("root")
            .join(path)
    }

    /// Ends the node; its namespaces go with the last process.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let mut problems = Vec::new();
        problems.extend(self.stop_kubelet().await.err());
        if let Some(containerd) = self.containerd.take() {
            problems.extend(containerd.stop().await.err());
        }
        problems.extend(self.holder.kill().await.err());
        problems.into_iter().next().map_or(Ok(()), Err)
    }
}

fn write_files(
    site: &Site,
    index: usize,
    machine: &Machine,
    azure: &Azure,
    folder: &Path,
) -> Result<()> {
    let group = format!("{}/{index}", outer::cgroup(&site.folder));
    make_group(&group)?;
    let filled = |text: &str| {
        text.replace("@CGROUP@", &format!("/{group}"))
            .replace("@PROVIDER_ID@", &machine.provider_id)
            .replace("@PODS@", &network::pods(index))
            .replace("@PROGRAMS@", &site.programs.display().to_string())
    };
    let etc = folder.join("etc");
    for (path, text) in [
        ("kubernetes/kubelet.yaml", KUBELET),
        ("kubernetes/ca.pem", &azure.ca),
        ("containerd/config.toml", CONTAINERD),
        ("cni/net.d/10-pods.conflist", CNI),
    ] {
        let path = etc.join(path);
        std::fs::create_dir_all(path.parent().context("a file in a folder")?)?;
        std::fs::write(path, filled(text))?;
    }
    Ok(())
}

/// Makes a cgroup in each hierarchy that has controllers, usable for processes.
fn make_group(group: &str) -> Result<()> {
    for hierarchy in outer::hierarchies()? {
        let mut path = hierarchy;
        for part in group.split('/') {
            let parent = path.clone();
            path = path.join(part);
            std::fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
            // Without these two nothing may run in a group of version 1.
            for file in ["cpuset.cpus", "cpuset.mems"] {
                if let Ok(inherited) = std::fs::read_to_string(parent.join(file)) {
                    std::fs::write(path.join(file), inherited)?;
                }
            }
        }
    }
    Ok(())
}

/// What the node's programs find where a machine of Azure has it.
async fn forwarders(pid: u32, azure: &Azure, machine: &Machine) -> Result<()> {
    let at = |address: [u8; 4], port| SocketAddr::from((address, port));
    let api = format!("{}:{PORT}", network::CONTROL_PLANE).parse()?;
    network::forward(pid, at([169, 254, 169, 254], 80), machine.metadata).await?;
    network::forward(pid, at([127, 0, 0, 1], azure.arm.port()), azure.arm).await?;
    network::forward(pid, at([10, 96, 0, 1], 443), api).await
}
