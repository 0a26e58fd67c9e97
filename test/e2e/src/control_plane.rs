//! etcd, the API server, the controller manager and the scheduler.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use azcsi_rig::process::Process;

use crate::network::CONTROL_PLANE;
use crate::shell;
use crate::wait::eventually;

/// The port of the API server.
pub(crate) const PORT: u16 = 6443;

/// Who may talk to the API server; the name is the token, for nobody else can reach it.
const USERS: &str = "\
admin,admin,admin,system:masters
kube-controller-manager,system:kube-controller-manager,kcm
kube-scheduler,system:kube-scheduler,scheduler
";

/// The processes, and where their files are.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    programs: PathBuf,
    folder: PathBuf,
    logs: PathBuf,
    processes: Vec<(&'static str, Process)>,
}

impl ControlPlane {
    /// Starts everything for nodes of these names.
    pub(crate) async fn start(
        programs: &Path,
        folder: &Path,
        logs: &Path,
        nodes: &[&str],
    ) -> Result<Self> {
        let mut plane = Self {
            programs: programs.to_owned(),
            folder: folder.join("control-plane"),
            logs: logs.to_owned(),
            processes: Vec::new(),
        };
        std::fs::create_dir_all(&plane.folder)?;
        let mut users = USERS.to_owned();
        for node in nodes {
            users += &format!("{node},system:node:{node},{node},system:nodes\n");
        }
        std::fs::write(plane.file("users.csv"), users)?;
        let key = plane.path("accounts.key");
        shell::run(Path::new("openssl"), &["genrsa", "-out", &key, "2048"], "").await?;
        plane.run("etcd", plane.etcd())?;
        plane.run("kube-apiserver", plane.api_server())?;
        plane.ready().await?;
        for user in ["admin", "kube-controller-manager", "kube-scheduler"] {
            plane.kubeconfig(user)?;
        }
        plane.run("kube-controller-manager", plane.controller_manager())?;
        plane.run("kube-scheduler", plane.scheduler())?;
        Ok(plane)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn path(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    fn run(&mut self, name: &'static str, args: Vec<String>) -> Result<()> {
        let process = Process::start(name, &self.programs.join(name), &args, &self.logs)?;
        self.processes.push((name, process));
        Ok(())
    }

    fn etcd(&self) -> Vec<String> {
        let data = self.path("etcd");
        // Its data are gone with this run in any case.
        lines(&format!("--data-dir={data}\n--unsafe-no-fsync"))
    }

    fn api_server(&self) -> Vec<String> {
        let (certs, key, users) = (
            self.path("certs"),
            self.path("accounts.key"),
            self.path("users.csv"),
        );
        lines(&format!(
            "--etcd-servers=http://127.0.0.1:2379
            --bind-address={CONTROL_PLANE}
            --advertise-address={CONTROL_PLANE}
            --secure-port={PORT}
            --cert-dir={certs}
            --service-cluster-ip-range=10.96.0.0/24
            --service-account-issuer=https://kubernetes.default.svc
            --service-account-signing-key-file={key}
            --service-account-key-file={key}
            --token-auth-file={users}
            --authorization-mode=Node,RBAC
            --enable-admission-plugins=NodeRestriction
            --kubelet-preferred-address-types=InternalIP
            --allow-privileged=true"
        ))
    }

    fn controller_manager(&self) -> Vec<String> {
        let (config, key) = (
            self.path("kube-controller-manager.kubeconfig"),
            self.path("accounts.key"),
        );
        let (ca, plugins) = (self.path("certs/apiserver.crt"), self.path("plugins"));
        lines(&format!(
            "--kubeconfig={config}
            --root-ca-file={ca}
            --service-account-private-key-file={key}
            --use-service-account-credentials=true
            --flex-volume-plugin-dir={plugins}
            --leader-elect=false"
        ))
    }

    fn scheduler(&self) -> Vec<String> {
        let config = self.path("kube-scheduler.kubeconfig");
        lines(&format!("--kubeconfig={config}\n--leader-elect=false"))
    }

    async fn ready(&self) -> Result<()> {
        let kubectl = self.programs.join("kubectl");
        let certificate = self.file("certs/apiserver.crt");
        eventually(
            "the API server is ready",
            Duration::from_secs(60),
            async || {
                anyhow::ensure!(certificate.exists(), "no certificate yet");
                let config = self.kubeconfig("admin")?.display().to_string();
                let args = ["--kubeconfig", &config, "get", "--raw", "/readyz"];
                shell::run(&kubectl, &args, "").await
            },
        )
        .await
        .map(drop)
    }

    /// Writes the file with which a user talks to the API server.
    pub(crate) fn kubeconfig(&self, user: &str) -> Result<PathBuf> {
        let path = self.file(&format!("{user}.kubeconfig"));
        let ca = self.path("certs/apiserver.crt");
        let text = format!(
            "apiVersion: v1
kind: Config
clusters: [{{name: e2e, cluster: {{server: \"https://{CONTROL_PLANE}:{PORT}\", certificate-authority: {ca}}}}}]
users: [{{name: {user}, user: {{token: {user}}}}}]
contexts: [{{name: e2e, context: {{cluster: e2e, user: {user}}}}}]
current-context: e2e
"
        );
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// Ends the API server and starts it again.
    pub(crate) async fn restart_api_server(&mut self) -> Result<()> {
        let name = "kube-apiserver";
        let at = self.processes.iter().position(|(other, _)| *other == name);
        let (_, process) = self.processes.remove(at.context("no API server")?);
        process.kill().await?;
        self.run(name, self.api_server())?;
        self.ready().await
    }

    /// Ends everything, in the opposite order.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let mut problems = Vec::new();
        while let Some((name, process)) = self.processes.pop() {
            // It would wait for its watches, which nobody needs any more.
            let ended = match name {
                "kube-apiserver" => process.kill().await,
                _ => process.stop().await,
            };
            problems.extend(ended.err());
        }
        problems.into_iter().next().map_or(Ok(()), Err)
    }
}

/// Arguments, one a line.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim().to_owned()).collect()
}
