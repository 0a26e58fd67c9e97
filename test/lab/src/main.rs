//! `azcsi-lab`: starts machines and runs cases on them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use azcsi_lab::cases::{ALL, Case};
use azcsi_lab::image::Image;
use azcsi_lab::lab::Place;
use azcsi_lab::machine::accel::Accel;
use azcsi_lab::runner::{self, say};
use clap::Parser;
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

/// Runs the drivers on virtual nodes with real SCSI, NVMe, SMB and NFS.
#[derive(Debug, Parser)]
#[command(name = "azcsi-lab", max_term_width = 100)]
struct Arguments {
    /// Folder of azcsi-sim, azuredisk-csi and azcsi-lab-guest.
    #[arg(long)]
    bin: PathBuf,
    /// The csi-sanity binary, as test/sanity/build.sh prints it; its cases need it.
    #[arg(long)]
    suite: Option<PathBuf>,
    /// Only the selection for each submission.
    #[arg(long)]
    quick: bool,
    /// Only cases whose name contains this; may be given several times.
    #[arg(long = "case", value_name = "TEXT")]
    only: Vec<String>,
    /// Print the cases and end.
    #[arg(long)]
    list: bool,
    /// Never use hardware virtualisation.
    #[arg(long)]
    emulate: bool,
    #[arg(long, env = "XDG_CACHE_HOME", hide = true)]
    cache: Option<PathBuf>,
    #[arg(long, env = "HOME", hide = true)]
    home: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match Box::pin(run(&arguments)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("lab: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    let cases: Vec<&Case> = ALL
        .iter()
        .filter(|case| is_chosen(case, arguments))
        .collect();
    if arguments.list {
        for case in cases {
            let quick = if case.quick { "" } else { " (not quick)" };
            say(&format!("{:20} {}{quick}", case.name, case.about));
        }
        return Ok(());
    }
    if cases.is_empty() {
        bail!("no case has such a name; --list shows them");
    }
    tokio::select! {
        outcome = prepare_and_run(arguments, &cases) => outcome,
        name = interrupted() => bail!("{} came: stopped", name?),
    }
}

fn is_chosen(case: &Case, arguments: &Arguments) -> bool {
    let named = arguments.only.iter().any(|text| case.name.contains(text));
    if arguments.only.is_empty() {
        case.quick || !arguments.quick
    } else {
        named
    }
}

async fn interrupted() -> Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => "Ctrl-C",
        _ = terminate.recv() => "SIGTERM",
    })
}

/// Everything below is dropped when the user interrupts: processes die with their handles, folders
/// go with theirs.
async fn prepare_and_run(arguments: &Arguments, cases: &[&Case]) -> Result<()> {
    let cache = arguments
        .cache
        .clone()
        .unwrap_or_else(|| arguments.home.join(".cache"))
        .join("azcsi/lab");
    fs::create_dir_all(&cache).with_context(|| cache.display().to_string())?;
    let began = Instant::now();
    let image = Image::open(&cache).await?;
    say(&format!("image: {:.1} s", began.elapsed().as_secs_f64()));
    let (folder, _lock) = run_folder(&cache)?;
    let mut place = Place {
        bin: arguments.bin.clone(),
        dir: folder.path().to_owned(),
        image,
        accel: Accel::Emulation,
        suite: arguments.suite.clone(),
    };
    if !arguments.emulate {
        let ramdisk = place.dir.join("probe");
        place
            .image
            .ramdisk(&place.bin.join("azcsi-lab-guest"), &ramdisk)?;
        place.accel = Accel::probe(&place.image, &ramdisk).await?;
    }
    say(&format!("machines run with {}", place.accel.name()));
    runner::run(&place, cases, &cache.join("failed")).await
}

/// A folder for this run. What a killed run left is removed: its lock is free.
fn run_folder(cache: &Path) -> Result<(TempDir, File)> {
    for entry in fs::read_dir(cache)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let lock = entry.path().join("lock");
        let is_free = File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok());
        if name.starts_with("run-") && is_free {
            fs::remove_dir_all(entry.path())?;
        }
    }
    let folder = tempfile::Builder::new().prefix("run-").tempdir_in(cache)?;
    let lock = File::create(folder.path().join("lock"))?;
    lock.lock()?;
    Ok((folder, lock))
}
