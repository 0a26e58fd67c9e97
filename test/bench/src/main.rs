//! `make bench`: what the binaries cost, as a user runs them, beside their budgets.
//!
//! | module | what it holds |
//! |---|---|
//! | [`binaries`] | size, memory, start |
//! | [`volumes`] | time and ARM requests of each call |
//! | [`bare`] | what the tools alone cost |
//! | [`crowd`] | a controller that serves a large cluster |
//! | [`simulator`] | requests a second of the simulator's library |
//! | [`report`] | the table |

mod bare;
mod binaries;
mod crowd;
mod report;
mod simulator;
mod volumes;

use std::path::PathBuf;

use anyhow::{Result, bail};
use azcsi_rig::leftovers::leave_nothing;
use azcsi_rig::rig::{Plan, Rig, Setup, Zones};
use clap::Parser;

/// Measures the binaries and prints each figure beside its budget.
#[derive(Debug, Parser)]
#[command(name = "azcsi-bench")]
struct Arguments {
    /// Folder of the release binaries.
    #[arg(long)]
    bin: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if !azcsi_rig::process::is_root() {
        bail!("it makes loop devices and mounts: run it as root (make bench does, through sudo)");
    }
    let folder = tempfile::Builder::new().prefix("azcsi-bench-").tempdir()?;
    let dir = folder.path().to_owned();
    let plan = Plan {
        bin: arguments.bin.clone(),
        dir: dir.clone(),
        nodes: 1,
        kind: "uniform",
        profile: "instant",
        time_scale: 1,
    };
    report::head();
    report::print(&binaries::size(&arguments.bin)?);
    let setup = Setup {
        zones: Zones::Regional,
        ..Setup::default()
    };
    let rig = Rig::start_with(plan, setup).await?;
    let measured = measure(&rig).await;
    rig.stop().await?;
    report::print(&measured?);
    report::print(&simulator::requests().await?);
    report::print(&crowd::memory(&arguments.bin, &dir.join("crowd")).await?);
    leave_nothing(&dir)
}

async fn measure(rig: &Rig) -> Result<Vec<report::Row>> {
    let mut rows = binaries::idle(rig)?;
    rows.extend(volumes::probe(rig).await?);
    rows.extend(volumes::life(rig).await?);
    Ok(rows)
}
