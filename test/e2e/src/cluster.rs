//! The whole: Azure, the control plane, the nodes, the charts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::azure::Azure;
use crate::control_plane::ControlPlane;
use crate::kubectl::{Kubectl, PATIENCE};
use crate::network;
use crate::node::{Node, Site};
use crate::objects::class;
use crate::shell;
use crate::wait::eventually;
use crate::{Arguments, tell};

/// A running cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Azure.
    pub(crate) azure: Azure,
    /// The control plane.
    pub(crate) plane: ControlPlane,
    /// The nodes.
    pub(crate) nodes: Vec<Node>,
    /// The way to talk to it.
    pub(crate) kubectl: Kubectl,
    /// `deploy` of the source tree.
    pub(crate) deploy: PathBuf,
    helm: PathBuf,
    folder: PathBuf,
}

impl Cluster {
    /// Starts everything but the drivers.
    pub(crate) async fn start(arguments: &Arguments, folder: &Path) -> Result<Self> {
        let logs = folder.join("logs");
        std::fs::create_dir_all(&logs)?;
        network::bridge().await?;
        let azure = Azure::start(arguments, folder, &logs).await?;
        let names: Vec<_> = azure
            .machines
            .iter()
            .map(|machine| machine.name.as_str())
            .collect();
        let plane = ControlPlane::start(&arguments.programs, folder, &logs, &names).await?;
        let kubectl = Kubectl::new(&arguments.programs, &plane.kubeconfig("admin")?);
        let site = Site {
            folder: folder.to_owned(),
            logs,
            programs: arguments.programs.clone(),
            images: arguments.images.clone(),
        };
        let mut nodes = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let config = plane.kubeconfig(name)?;
            nodes.push(Node::start(&site, index, &azure, config).await?);
        }
        for node in &nodes {
            let object = format!("node/{}", node.name);
            eventually(&format!("{object} is ready"), PATIENCE, async || {
                let found = kubectl.get(&object).await?;
                let conditions = found["status"]["conditions"]
                    .as_array()
                    .context("conditions")?;
                let ready = conditions.iter().find(|one| one["type"] == "Ready");
                let ready = ready.context("no condition Ready yet")?;
                ensure!(ready["status"] == "True", "{}", ready["message"]);
                Ok(())
            })
            .await?;
        }
        Ok(Self {
            azure,
            plane,
            nodes,
            kubectl,
            deploy: arguments.deploy.clone(),
            helm: arguments.helm.clone(),
            folder: folder.to_owned(),
        })
    }

    /// Runs helm, with nothing of the user's own.
    pub(crate) async fn helm(&self, args: &[&str]) -> Result<String> {
        let home = self.folder.join("helm").display().to_string();
        let own = [
            format!("HELM_CONFIG_HOME={home}"),
            format!("HELM_CACHE_HOME={home}"),
            format!("HELM_DATA_HOME={home}"),
            format!("KUBECONFIG={}", self.kubectl.config()),
            self.helm.display().to_string(),
        ];
        let all: Vec<_> = own
            .iter()
            .map(String::as_str)
            .chain(args.iter().copied())
            .collect();
        shell::run(Path::new("env"), &all, "").await
    }

    /// Installs the Disk chart, and waits until the driver is registered on each node.
    pub(crate) async fn install_disk(&self) -> Result<()> {
        let mut config = self.azure.config.clone();
        config["caFile"] = "/etc/kubernetes/ca.pem".into();
        let file = self.folder.join("cloud-config.json");
        std::fs::write(&file, config.to_string())?;
        let from = format!("--from-file=cloud-config={}", file.display());
        let secret = [
            "--namespace",
            "kube-system",
            "create",
            "secret",
            "generic",
            "azure-cloud-provider",
            &from,
        ];
        self.kubectl.run(&secret).await?;
        self.kubectl.apply(&class()).await?;
        self.install_disk_chart().await
    }

    /// The same where everything but the release is there.
    pub(crate) async fn install_disk_chart(&self) -> Result<()> {
        let values = self.folder.join("values-disk.yaml");
        std::fs::write(&values, include_str!("../files/values-disk.yaml"))?;
        self.install("azuredisk", "disk", &values).await?;
        self.registered("disk.csi.azure.com").await
    }

    async fn install(&self, release: &str, chart: &str, values: &Path) -> Result<()> {
        let chart = self.deploy.join("charts").join(chart).display().to_string();
        let values = values.display().to_string();
        let args = [
            "install",
            release,
            &chart,
            "--namespace",
            "kube-system",
            "--values",
            &values,
        ];
        self.helm(&args).await?;
        self.rolled_out("kube-system").await
    }

    /// Waits until every pod of a namespace is ready.
    pub(crate) async fn rolled_out(&self, namespace: &str) -> Result<()> {
        let what = format!("the pods of {namespace} are ready");
        eventually(&what, Duration::from_secs(240), async || {
            let args = ["--namespace", namespace, "get", "pods", "--output", "json"];
            let pods: serde_json::Value = serde_json::from_str(&self.kubectl.run(&args).await?)?;
            let pods = pods["items"].as_array().context("pods")?;
            ensure!(!pods.is_empty(), "there is none");
            for pod in pods {
                let conditions = pod["status"]["conditions"].as_array();
                let ready = conditions
                    .into_iter()
                    .flatten()
                    .any(|one| one["type"] == "Ready" && one["status"] == "True");
                ensure!(
                    ready,
                    "{} is not: {}",
                    pod["metadata"]["name"],
                    pod["status"]["containerStatuses"]
                );
            }
            Ok(())
        })
        .await
    }

    /// Waits until each node has a driver.
    pub(crate) async fn registered(&self, driver: &str) -> Result<()> {
        for node in &self.nodes {
            let object = format!("csinode/{}", node.name);
            eventually(
                &format!("{driver} is registered on {}", node.name),
                PATIENCE,
                async || {
                    let found = self.kubectl.get(&object).await?;
                    let drivers = found["spec"]["drivers"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default();
                    ensure!(
                        drivers.iter().any(|one| one["name"] == driver),
                        "{drivers:?}"
                    );
                    Ok(())
                },
            )
            .await?;
        }
        Ok(())
    }

    /// Ends everything; Azure last, so that every device can be let go.
    pub(crate) async fn stop(self) -> Result<()> {
        let mut problems = Vec::new();
        for node in self.nodes {
            problems.extend(node.stop().await.err());
        }
        problems.extend(self.plane.stop().await.err());
        problems.extend(self.azure.stop().await.err());
        for problem in &problems {
            tell(&format!("ending: {problem:#}"));
        }
        problems.into_iter().next().map_or(Ok(()), Err)
    }
}
