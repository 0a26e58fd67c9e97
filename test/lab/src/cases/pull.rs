//! Disks that go while they are used, and slots that others get.

use anyhow::{Result, ensure};
use azcsi_rig::csi::filesystem;

use crate::lab::{Lab, NVME, SCSI};
use crate::volume::Wish;

/// A SCSI disk.
pub(super) async fn scsi(lab: &mut Lab) -> Result<()> {
    pull(lab, SCSI, NVME).await
}

/// An NVMe namespace.
pub(super) async fn nvme(lab: &mut Lab) -> Result<()> {
    pull(lab, NVME, SCSI).await
}

/// Azure takes the disk away while a pod writes. The pod gets errors, the node lets go of what is
/// left, and what was on the disk before is there on the next node.
async fn pull(lab: &Lab, node: usize, next: usize) -> Result<()> {
    let name = format!("pull-{node}");
    let volume = lab.create(Wish::new(&name, 1, filesystem("ext4"))).await?;
    lab.bring_up(&volume, node).await?;
    let kept = volume.span("kept", 8, 1);
    lab.fill(node, &kept).await?;
    let writer = lab.node(node)?.writer(&volume.span("busy", 2, 2)).await?;
    writer.rounds(1).await?;
    lab.detach(&volume, node).await?;
    writer.ended().await?;
    lab.put_away(&volume, node).await?;
    lab.node(node)?.has_no_mount(&volume.name).await?;
    lab.bring_up(&volume, next).await?;
    lab.check(next, &kept).await?;
    lab.take_down(&volume, next).await?;
    lab.delete(&volume).await
}

/// On SCSI.
pub(super) async fn reuse_scsi(lab: &mut Lab) -> Result<()> {
    reuse(lab, SCSI).await
}

/// On NVMe.
pub(super) async fn reuse_nvme(lab: &mut Lab) -> Result<()> {
    reuse(lab, NVME).await
}

/// Somebody detaches a mounted disk by hand, and its slot goes to another. The second gets its own
/// contents, and so does the first when it comes back.
async fn reuse(lab: &Lab, node: usize) -> Result<()> {
    let wish = |name: &str| Wish::new(&format!("reuse-{node}-{name}"), 1, filesystem("ext4"));
    let (first, second) = (lab.create(wish("a")).await?, lab.create(wish("b")).await?);
    let slot = lab.attach(&first, node).await?;
    lab.stage(&first, node, &slot).await?;
    lab.publish(&first, node, &slot).await?;
    let of_first = first.span("data", 4, 1);
    lab.fill(node, &of_first).await?;
    lab.detach(&first, node).await?;

    let same = lab.attach(&second, node).await?;
    ensure!(slot.get("LUN") == same.get("LUN"), "another slot: {same:?}");
    lab.stage(&second, node, &same).await?;
    lab.publish(&second, node, &same).await?;
    let of_second = second.span("data", 4, 2);
    lab.fill(node, &of_second).await?;
    lab.put_away(&first, node).await?;
    lab.check(node, &of_second).await?;
    lab.take_down(&second, node).await?;

    lab.bring_up(&first, node).await?;
    lab.check(node, &of_first).await?;
    lab.take_down(&first, node).await?;
    lab.bring_up(&second, node).await?;
    lab.check(node, &of_second).await?;
    lab.take_down(&second, node).await?;
    lab.delete(&first).await?;
    lab.delete(&second).await
}
