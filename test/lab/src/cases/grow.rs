//! Growth under a mounted filesystem.

use anyhow::{Context as _, Result, ensure};
use azcsi_rig::csi::filesystem;

use crate::lab::{Lab, NVME, SCSI};
use crate::volume::Wish;

/// On a controller that does not tell of growth: the driver has to ask.
pub(super) async fn scsi_ext4(lab: &mut Lab) -> Result<()> {
    grow(lab, SCSI, "ext4").await
}

/// On a namespace that tells of it.
pub(super) async fn nvme_xfs(lab: &mut Lab) -> Result<()> {
    grow(lab, NVME, "xfs").await
}

async fn grow(lab: &Lab, node: usize, fs_type: &str) -> Result<()> {
    let name = format!("grow-{fs_type}");
    let volume = lab.create(Wish::new(&name, 1, filesystem(fs_type))).await?;
    lab.bring_up(&volume, node).await?;
    let first = volume.span("first", 8, 1);
    lab.fill(node, &first).await?;
    for gib in [2, 3, 5] {
        lab.expand(&volume, node, gib).await?;
        let line = format!("df --output=size -B1M {} | tail -1", volume.target());
        let size = lab.node(node)?.machine.agent.shell(&line).await?;
        let size: i64 = size.trim().parse().context("df")?;
        ensure!(size > gib * 1024 * 9 / 10, "{size} MiB of {gib} GiB");
    }
    let last = volume.span("last", 8, 2);
    lab.fill(node, &last).await?;
    lab.take_down(&volume, node).await?;
    lab.bring_up(&volume, node).await?;
    lab.check(node, &first).await?;
    lab.check(node, &last).await?;
    lab.take_down(&volume, node).await?;
    lab.delete(&volume).await
}
