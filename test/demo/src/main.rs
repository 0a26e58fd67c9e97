//! `make demo`: the main job, told while it happens on real devices and real filesystems.
//!
//! | module | what it holds |
//! |---|---|
//! | [`story`] | the chapters |
//! | [`volume`] | the steps of a volume's life |
//! | [`cluster`] | the rig, every call timed, counted and told |
//! | [`data`] | bytes and checksums |
//! | [`narrate`] | the account on the terminal |

mod cluster;
mod data;
mod narrate;
mod story;
mod volume;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use azcsi_rig::leftovers::leave_nothing;
use azcsi_rig::rig::{Plan, Rig};
use cluster::Cluster;
use narrate::{Narrator, Plain};

/// Walks volumes through their whole life on a local Azure, and checks every byte.
#[derive(Debug, Parser)]
#[command(name = "azcsi-demo")]
struct Arguments {
    /// Folder of azcsi-sim and azuredisk-csi.
    #[arg(long)]
    bin: PathBuf,
    /// Finish quickly: Azure answers at once.
    #[arg(long, env = "DEMO_FAST", value_parser = clap::builder::FalseyValueParser::new())]
    fast: bool,
    /// No colour, whatever the terminal can.
    #[arg(long)]
    plain: bool,
    /// Leave logs and files of the run behind and say where.
    #[arg(long)]
    keep: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let plain = if arguments.plain {
        Plain::Yes
    } else {
        Plain::No
    };
    let say = Narrator::new(plain);
    match run(arguments, plain).await {
        Ok(()) => {
            say.success("Done. Every byte was where it had to be, and nothing is left behind.");
            ExitCode::SUCCESS
        }
        Err(error) => {
            say.failure(&format!("The demo failed: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments, plain: Plain) -> Result<()> {
    if !azcsi_rig::process::is_root() {
        bail!("it makes loop devices and mounts: run it as root (make demo does, through sudo)");
    }
    let folder = tempfile::Builder::new().prefix("azcsi-demo-").tempdir()?;
    let dir = folder.path().to_owned();
    let (profile, time_scale) = if arguments.fast {
        ("instant", 1)
    } else {
        ("azure", 5)
    };
    let plan = Plan {
        nodes: 3,
        kind: "uniform",
        bin: arguments.bin,
        dir: dir.clone(),
        profile,
        time_scale,
    };
    let outcome = tell(plan, plain).await;
    let clean = leave_nothing(&dir);
    if arguments.keep || outcome.is_err() {
        let kept = folder.keep();
        Narrator::new(plain).note(&format!("logs: {}", kept.join("logs").display()));
    }
    outcome.and(clean)
}

async fn interrupted() -> Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => "Ctrl-C",
        _ = terminate.recv() => "SIGTERM",
    })
}

async fn tell(plan: Plan, plain: Plain) -> Result<()> {
    let say = Narrator::new(plain);
    say.chapter(
        "Set-up",
        &format!(
            "A local Azure ({} profile, time × {}), one controller, three nodes.",
            plan.profile, plan.time_scale
        ),
    );
    // Nothing is attached before the story begins, so an early Ctrl-C leaves nothing to undo.
    let rig = unless_interrupted(Rig::start(plan)).await?;
    let mut cluster = Cluster::new(rig, say);
    let names: Vec<_> = cluster
        .rig
        .machines
        .iter()
        .map(|node| node.name.clone())
        .collect();
    cluster.say.note(&format!("nodes: {}", names.join(", ")));
    let ended = match unless_interrupted(story::tell(&mut cluster)).await {
        Ok(()) => account(&cluster).await,
        failed => failed,
    };
    ended.and(cluster.rig.stop().await)
}

/// Runs something until it ends, or until the user has had enough.
async fn unless_interrupted<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::select! {
        outcome = work => outcome,
        name = interrupted() => bail!("{} came: stopped", name?),
    }
}

/// The summary, and the proof that Azure holds nothing any more.
async fn account(cluster: &Cluster) -> Result<()> {
    let violations = cluster.rig.violations().await?;
    let state = cluster.rig.control.get("/_sim/state").await?;
    let count = |key: &str| {
        state[key].as_object().map_or_else(
            || state[key].as_array().map_or(0, Vec::len),
            serde_json::Map::len,
        )
    };
    let (disks, snapshots) = (count("disks"), count("snapshots"));
    let lines = [
        ("violations".to_owned(), violations.len().to_string()),
        ("disks left in Azure".to_owned(), disks.to_string()),
        ("snapshots left in Azure".to_owned(), snapshots.to_string()),
    ];
    cluster.say.summary(&cluster.calls, &lines);
    if !violations.is_empty() {
        bail!(
            "the simulator saw what must not happen: {}",
            violations.join("; ")
        );
    }
    if disks + snapshots > 0 {
        bail!("{disks} disks and {snapshots} snapshots are left in Azure");
    }
    Ok(())
}
