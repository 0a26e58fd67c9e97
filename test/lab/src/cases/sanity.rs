//! The real csi-sanity over the File driver: the controller on the host, the node plugin in the first
//! node's machine, shares on the real servers. Nothing is skipped.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use azcsi_sanity::capabilities::{self, FILE, missing};
use azcsi_sanity::report::Report;
use serde_json::json;
use tokio::process::Child;

use crate::front;
use crate::lab::{Lab, SCSI};
use crate::run::command;
use crate::runner::say;

const GIB: u64 = 1 << 30;
/// The smallest share that has all that is asked for, with some room.
const SIZE: u64 = 100 * GIB;
/// Folder of the machine for mounts.
const PATHS: &str = "/var/lib/kubelet/sanity";

/// SMB.
pub(super) async fn smb(lab: &mut Lab) -> Result<()> {
    sanity(lab, "smb").await
}

/// NFS.
pub(super) async fn nfs(lab: &mut Lab) -> Result<()> {
    sanity(lab, "nfs").await
}

async fn sanity(lab: &mut Lab, protocol: &str) -> Result<()> {
    let suite = lab.place.suite.clone();
    let suite = suite.context("--suite is missing: test/sanity/build.sh makes and prints it")?;
    lab.shares().await?;
    let controller = &lab.shares.as_ref().context("just started")?.controller;
    let node = lab.node(SCSI)?;
    let advertised = capabilities::ask(controller, node.file_csi()).await?;
    let lost = missing(FILE, &advertised);
    if !lost.is_empty() {
        bail!("not advertised: {}", lost.join(", "));
    }
    let inputs = lab.place.dir.join(format!("sanity-{protocol}"));
    fs::create_dir_all(&inputs)?;
    let run = Run {
        controller: inputs.join("front.sock"),
        node: node.machine.file_port,
        agent: node.machine.agent.port(),
        logs: lab.place.logs(),
        inputs,
        ask: lab.place.bin.join("azcsi-lab-ask"),
        protocol: protocol.to_owned(),
    };
    node.machine.agent.run(&["mkdir", "-p", PATHS]).await?;
    let (_front, mut changes) = front::open(&run.controller, lab.file_controller_socket())?;
    let mut suite = run.start(&suite)?;
    loop {
        tokio::select! {
            // What it found is in its report; its exit code adds nothing.
            ended = suite.wait() => {
                ended?;
                break;
            }
            Some(followed) = changes.recv() => {
                lab.settle_shares().await?;
                let _ = followed.send(());
            }
        }
    }
    let verdict = Report::read(&run.report("json"))?.judge(&advertised);
    say(&format!(
        "        csi-sanity over {protocol}: {} specs passed, {} pending in the suite, not advertised: {:?}",
        verdict.passed,
        verdict.pending.len(),
        verdict.excused,
    ));
    lab.node(SCSI)?.has_no_mount(PATHS).await?;
    if !verdict.problems.is_empty() {
        bail!("{}", verdict.problems.join("\n        "));
    }
    Ok(())
}

/// One run of the suite.
struct Run {
    /// The socket before the controller.
    controller: PathBuf,
    /// Port of the host that leads to the node plugin.
    node: u16,
    /// Port of the host that leads to the machine's agent.
    agent: u16,
    /// Where reports go.
    logs: PathBuf,
    /// Where input files go.
    inputs: PathBuf,
    /// The program that has the agent run something.
    ask: PathBuf,
    /// `smb` or `nfs`.
    protocol: String,
}

impl Run {
    fn report(&self, end: &str) -> PathBuf {
        self.logs.join(format!("sanity-{}.{end}", self.protocol))
    }

    fn start(&self, suite: &Path) -> Result<Child> {
        let output = File::create(self.report("txt"))?;
        let mut command = command(&self.arguments(suite)?)?;
        command.stderr(output.try_clone()?).stdout(output);
        command.spawn().with_context(|| suite.display().to_string())
    }

    fn arguments(&self, suite: &Path) -> Result<Vec<String>> {
        let parameters = json!({"protocol": self.protocol, "skuName": "PremiumV2_LRS"});
        let class = json!({"provisionedIOPS": "4000"});
        let (make, remove, check) = (
            self.script("make", "mkdir -p \"$1\" && echo \"$1\"")?,
            self.script("remove", "rm -rf --one-file-system \"$1\"")?,
            self.script(
                "check",
                "if [ -f \"$1\" ]; then echo file; elif [ -d \"$1\" ]; then echo directory; \
                 elif [ -e \"$1\" ]; then echo other; else echo not_found; fi",
            )?,
        );
        Ok(vec![
            suite.display().to_string(),
            "--ginkgo.no-color".to_owned(),
            "--ginkgo.timeout=30m".to_owned(),
            format!("--ginkgo.json-report={}", self.report("json").display()),
            format!("--csi.endpoint=dns:///127.0.0.1:{}", self.node),
            format!(
                "--csi.controllerendpoint=unix://{}",
                self.controller.display()
            ),
            format!("--csi.mountdir={PATHS}/mount"),
            format!("--csi.stagingdir={PATHS}/staging"),
            format!("--csi.createmountpathcmd={make}"),
            format!("--csi.createstagingpathcmd={make}"),
            format!("--csi.removemountpathcmd={remove}"),
            format!("--csi.removestagingpathcmd={remove}"),
            format!("--csi.checkpathcmd={check}"),
            "--csi.createpathcmdtimeout=60s".to_owned(),
            "--csi.removepathcmdtimeout=60s".to_owned(),
            "--csi.checkpathcmdtimeout=60s".to_owned(),
            "--csi.testvolumeaccesstype=mount".to_owned(),
            format!("--csi.testvolumesize={SIZE}"),
            format!("--csi.testvolumeexpandsize={}", SIZE + GIB),
            format!(
                "--csi.testvolumeparameters={}",
                self.input("parameters", &parameters)?
            ),
            format!(
                "--csi.testvolumemutableparameters={}",
                self.input("class", &class)?
            ),
            "--csi.testnodevolumeattachlimit".to_owned(),
        ])
    }

    /// An input file. JSON is YAML.
    fn input(&self, name: &str, value: &serde_json::Value) -> Result<String> {
        let path = self.inputs.join(format!("{name}.yaml"));
        fs::write(&path, value.to_string())?;
        Ok(path.display().to_string())
    }

    /// A program of the host that has the machine's agent run a line of shell with a path.
    fn script(&self, name: &str, line: &str) -> Result<String> {
        let path = self.inputs.join(name);
        let (ask, port) = (self.ask.display(), self.agent);
        let text = format!("#!/bin/sh\nexec '{ask}' {port} bash -c '{line}' bash \"$1\"\n");
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path.display().to_string())
    }
}
