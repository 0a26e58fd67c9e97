//! The outside: gives the run namespaces of its own, ends it on Ctrl-C, and proves that nothing is left.
//!
//! The cluster runs in a process, mount and network namespace that die with the first process in them, so
//! that even a kill of this program leaves no process, mount or network behind. What outlives namespaces
//! is removed here: loop devices, cgroups and files.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use azcsi_rig::leftovers::{leave_nothing, loops_below};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};

use crate::Arguments;
use crate::shell;

/// Time for an orderly end after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(60);

/// The cgroups of a run are below this name, in every hierarchy.
pub(crate) fn cgroup(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Runs the cluster and cleans up behind it.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    if !azcsi_rig::process::is_root() {
        bail!(
            "it makes namespaces, loop devices and mounts: run it as root (make e2e does, through sudo)"
        );
    }
    let folder = tempfile::Builder::new().prefix("azcsi-e2e-").tempdir()?;
    let path = folder.path().to_owned();
    let slots = Path::new("/dev/disk");
    let had_slots = slots.exists();
    let outcome = inside(arguments, &path).await;
    let clean = clean(&path).await;
    if !had_slots {
        // Nodes have theirs there; the folder itself is the machine's.
        let _ = std::fs::remove_dir(slots);
    }
    if outcome.is_err() || arguments.keep {
        let kept = folder.keep();
        // Images and disks are large, and no help.
        for large in ["nodes", "azure/disks", "images", "etcd"] {
            let _ = std::fs::remove_dir_all(kept.join(large));
        }
        crate::tell(&format!("logs: {}", kept.join("logs").display()));
    }
    outcome.and(clean)
}

/// Starts this program again inside of the namespaces, and waits for its end.
async fn inside(arguments: &Arguments, folder: &Path) -> Result<()> {
    let own = std::env::current_exe().context("this program's own file")?;
    let mut child = start(arguments, &own, folder)?;
    // When this is dropped, the inside ends.
    let input = child.stdin.take();
    let (mut interrupt, mut terminate) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    );
    tokio::select! {
        status = child.wait() => return ended(status?),
        _ = interrupt.recv() => crate::tell("Ctrl-C: ending"),
        _ = terminate.recv() => crate::tell("SIGTERM: ending"),
    }
    drop(input);
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        child.kill().await?;
    }
    bail!("interrupted")
}

fn ended(status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("not everything passed")
}

#[expect(clippy::disallowed_methods, reason = "a launcher of programs")]
fn start(arguments: &Arguments, own: &Path, folder: &Path) -> Result<Child> {
    // The first process of the namespace is a shell, which takes care of orphans.
    let script = "exec 3<&0; \"$@\" <&3 & wait $!";
    let mut command = tokio::process::Command::new("unshare");
    command
        .args([
            "--mount",
            "--propagation",
            "private",
            "--net",
            "--pid",
            "--fork",
        ])
        .args([
            "--kill-child=SIGKILL",
            "--mount-proc",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(own)
        .arg("--inside")
        .arg(folder)
        .args(arguments.repeated())
        .stdin(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    command.spawn().context("unshare, of util-linux")
}

/// Removes what outlives the namespaces, and proves that nothing is left.
async fn clean(folder: &Path) -> Result<()> {
    for device in loops_below(folder)? {
        let device = format!("/dev/{device}");
        shell::run(Path::new("losetup"), &["--detach", &device], "").await?;
    }
    let name = cgroup(folder);
    let mut left = Vec::new();
    for hierarchy in hierarchies()? {
        let group = hierarchy.join(&name);
        if group.exists() && !remove_group(&group).await {
            left.push(group);
        }
    }
    if !left.is_empty() {
        bail!("left behind: cgroups {left:?}");
    }
    leave_nothing(folder)
}

/// Where cgroups are mounted.
pub(crate) fn hierarchies() -> Result<Vec<PathBuf>> {
    let table = std::fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?;
    let lines = table
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let groups = lines.filter(|line| line.get(2).is_some_and(|kind| kind.starts_with("cgroup")));
    Ok(groups
        .filter_map(|line| line.get(1).map(PathBuf::from))
        .collect())
}

/// Removes a cgroup and those below it; its processes have just been killed and may take a moment.
async fn remove_group(group: &Path) -> bool {
    for _ in 0..100 {
        if remove_below(group).is_ok() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

fn remove_below(group: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_below(&entry.path())?;
        }
    }
    std::fs::remove_dir(group)
}
