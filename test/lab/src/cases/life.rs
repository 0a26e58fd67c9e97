//! The life of a volume: create, attach, stage, publish, write, detach, attach again, read, delete.

use anyhow::Result;
use azcsi_proto::csi::v1::VolumeCapability;
use azcsi_rig::csi::{block, filesystem};

use crate::lab::{Lab, NVME, SCSI};
use crate::volume::Wish;

/// ext4 on SCSI.
pub async fn scsi_ext4(lab: &mut Lab) -> Result<()> {
    life(lab, SCSI, "scsi-ext4", filesystem("ext4")).await
}

/// Raw on SCSI.
pub async fn scsi_block(lab: &mut Lab) -> Result<()> {
    life(lab, SCSI, "scsi-block", block()).await
}

/// XFS on NVMe.
pub async fn nvme_xfs(lab: &mut Lab) -> Result<()> {
    life(lab, NVME, "nvme-xfs", filesystem("xfs")).await
}

/// Raw on NVMe.
pub async fn nvme_block(lab: &mut Lab) -> Result<()> {
    life(lab, NVME, "nvme-block", block()).await
}

async fn life(lab: &Lab, node: usize, name: &str, capability: VolumeCapability) -> Result<()> {
    let volume = lab.create(Wish::new(name, 1, capability)).await?;
    lab.bring_up(&volume, node).await?;
    let span = volume.span("data", 32, 1);
    lab.fill(node, &span).await?;
    lab.check(node, &span).await?;
    lab.take_down(&volume, node).await?;
    lab.bring_up(&volume, node).await?;
    lab.check(node, &span).await?;
    lab.take_down(&volume, node).await?;
    lab.delete(&volume).await
}
