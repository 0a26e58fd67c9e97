//! `make e2e`: a real Kubernetes with the real sidecars, the charts, and the local Azure.
//!
//! | module | what it holds |
//! |---|---|
//! | [`outer`] | namespaces for the run, Ctrl-C, the proof that nothing is left |
//! | [`cluster`] | the whole, and the charts in it |
//! | [`azure`] | the simulator |
//! | [`control_plane`] | etcd, API server, controller manager, scheduler |
//! | [`node`] | namespaces with a containerd and a kubelet |
//! | [`network`] | the bridge, and forwarders to what a node expects |
//! | [`kubectl`], [`objects`] | the cluster as a user sees it, and what cases make in it |
//! | [`cases`] | what is tried |
//! | [`shell`], [`wait`] | programs run to their end; patience |
//!
//! Must not know: the drivers' code. It sees programs, charts and a cluster, as a user does.

mod azure;
mod cases;
mod cluster;
mod control_plane;
mod kubectl;
mod network;
mod node;
mod objects;
mod outer;
mod shell;
mod wait;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use cluster::Cluster;

/// Starts a Kubernetes, installs the charts, and tries the drivers.
#[derive(Debug, Parser)]
#[command(name = "azcsi-e2e")]
struct Arguments {
    /// Folder of azcsi-sim.
    #[arg(long)]
    bin: PathBuf,
    /// Folder of Kubernetes' programs, as test/e2e/build.sh --all prints it.
    #[arg(long)]
    programs: PathBuf,
    /// The program helm.
    #[arg(long)]
    helm: PathBuf,
    /// Folder of the images.
    #[arg(long)]
    images: PathBuf,
    /// `deploy` of the source tree.
    #[arg(long)]
    deploy: PathBuf,
    /// Only the cases whose names hold this.
    #[arg(long, default_value = "")]
    only: String,
    /// Keep the logs although everything passed.
    #[arg(long)]
    keep: bool,
    /// After a case that failed, leave everything running until Ctrl-C.
    #[arg(long)]
    hold: bool,
    /// For the program itself: it is inside of the namespaces, and this is the folder of the run.
    #[arg(long, hide = true)]
    inside: Option<PathBuf>,
}

impl Arguments {
    /// The same for the program inside of the namespaces.
    fn repeated(&self) -> Vec<OsString> {
        let mut all = Vec::new();
        for (flag, path) in [
            ("--bin", &self.bin),
            ("--programs", &self.programs),
            ("--helm", &self.helm),
            ("--images", &self.images),
            ("--deploy", &self.deploy),
        ] {
            all.extend([flag.into(), path.into()]);
        }
        all.extend(["--only".into(), (&self.only).into()]);
        if self.hold {
            all.push("--hold".into());
        }
        all
    }
}

/// Tells the user something.
#[expect(clippy::print_stdout, reason = "the account of the run")]
fn tell(line: &str) {
    println!("{line}");
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.inside {
        None => outer::run(&arguments).await,
        Some(folder) => unless_ended(Box::pin(run(&arguments, folder))).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("FAILED: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs something until it ends, or until the outside closes standard input.
async fn unless_ended(work: impl Future<Output = Result<()>>) -> Result<()> {
    let (closed, outside) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Nothing is ever written to it.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        closed.send(())
    });
    tokio::select! {
        outcome = work => outcome,
        // Everything dies with the namespaces, so there is nothing to end in order.
        _ = outside => anyhow::bail!("ended from outside"),
    }
}

async fn run(arguments: &Arguments, folder: &std::path::Path) -> Result<()> {
    let mut cluster = Cluster::start(arguments, folder).await?;
    let outcome = cases::run(&mut cluster, &arguments.only).await;
    if let (Err(error), true) = (&outcome, arguments.hold) {
        tell(&format!(
            "FAILED: {error:#}\nheld until Ctrl-C; KUBECONFIG={}",
            cluster.kubectl.config()
        ));
        std::future::pending::<()>().await;
    }
    outcome.and(cluster.stop().await)
}
