//! Machines that lose power or restart.

use anyhow::Result;
use azcsi_rig::csi::filesystem;

use crate::lab::{Lab, NVME, SCSI};
use crate::volume::Wish;

/// The node loses power while a pod writes; the volume moves; the node comes back and can have it
/// again.
pub(super) async fn loss(lab: &mut Lab) -> Result<()> {
    let wish = Wish::new("power-loss", 1, filesystem("ext4"));
    let volume = lab.create(wish).await?;
    lab.bring_up(&volume, SCSI).await?;
    let kept = volume.span("kept", 8, 1);
    lab.fill(SCSI, &kept).await?;
    let writer = lab.node(SCSI)?.writer(&volume.span("busy", 2, 2)).await?;
    writer.rounds(1).await?;
    lab.node_mut(SCSI)?.machine.power_off().await?;
    lab.azure_power(SCSI, "stopped").await?;
    lab.detach(&volume, SCSI).await?;

    lab.bring_up(&volume, NVME).await?;
    lab.check(NVME, &kept).await?;
    let later = volume.span("later", 4, 3);
    lab.fill(NVME, &later).await?;
    lab.take_down(&volume, NVME).await?;

    lab.azure_power(SCSI, "running").await?;
    let node = lab.node_mut(SCSI)?;
    node.machine.switch_on()?;
    node.come_up().await?;
    lab.bring_up(&volume, SCSI).await?;
    lab.check(SCSI, &kept).await?;
    lab.check(SCSI, &later).await?;
    lab.take_down(&volume, SCSI).await?;
    lab.delete(&volume).await
}

/// The machine restarts with the disk attached: nothing is mounted, and kubelet asks again.
pub(super) async fn reboot(lab: &mut Lab) -> Result<()> {
    let volume = lab
        .create(Wish::new("reboot", 1, filesystem("xfs")))
        .await?;
    let context = lab.attach(&volume, NVME).await?;
    lab.stage(&volume, NVME, &context).await?;
    lab.publish(&volume, NVME, &context).await?;
    let kept = volume.span("kept", 8, 1);
    lab.fill(NVME, &kept).await?;
    lab.node_mut(NVME)?.restart().await?;
    lab.stage(&volume, NVME, &context).await?;
    lab.publish(&volume, NVME, &context).await?;
    lab.check(NVME, &kept).await?;
    lab.take_down(&volume, NVME).await?;
    lab.delete(&volume).await
}
