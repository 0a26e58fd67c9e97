//! What the tools alone cost on the same device: the floor under NodeStage.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// `e2fsck -p` and `mount`, as a shell script would; unmounted again afterwards.
#[expect(
    clippy::disallowed_methods,
    reason = "a bench's stopwatch and its yardstick"
)]
pub(crate) async fn check_and_mount(device: &Path, point: &Path) -> Result<Duration> {
    std::fs::create_dir_all(point)?;
    let began = Instant::now();
    let checked = tokio::process::Command::new("e2fsck")
        .arg("-p")
        .arg(device)
        .output()
        .await?;
    if !checked.status.success() {
        bail!("e2fsck -p: {}", String::from_utf8_lossy(&checked.stdout));
    }
    let mounted = tokio::process::Command::new("mount")
        .arg(device)
        .arg(point)
        .output()
        .await?;
    let took = began.elapsed();
    if !mounted.status.success() {
        bail!("mount: {}", String::from_utf8_lossy(&mounted.stderr));
    }
    let gone = tokio::process::Command::new("umount")
        .arg(point)
        .output()
        .await
        .context("umount")?;
    if !gone.status.success() {
        bail!("umount: {}", String::from_utf8_lossy(&gone.stderr));
    }
    Ok(took)
}
