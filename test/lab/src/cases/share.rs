//! Clones beside their source, disks of several nodes, and disks that are not ours.

use anyhow::{Result, ensure};
use azcsi_rig::csi::{filesystem, shared_block};

use crate::lab::{Lab, NVME, SCSI};
use crate::volume::Wish;
use crate::wire::Span;

/// Two filesystems with one identity on one node.
pub(super) async fn clone(lab: &mut Lab) -> Result<()> {
    let source = lab
        .create(Wish::new("clone-source", 1, filesystem("xfs")))
        .await?;
    lab.bring_up(&source, SCSI).await?;
    let of_source = source.span("data", 8, 1);
    lab.fill(SCSI, &of_source).await?;
    let wish = Wish {
        source: Some(source.id.clone()),
        ..Wish::new("clone-copy", 1, filesystem("xfs"))
    };
    let copy = lab.create(wish).await?;
    lab.bring_up(&copy, SCSI).await?;
    lab.check(SCSI, &copy.span("data", 8, 1)).await?;
    let of_copy = copy.span("data", 8, 2);
    lab.fill(SCSI, &of_copy).await?;
    lab.check(SCSI, &of_copy).await?;
    lab.check(SCSI, &of_source).await?;
    for volume in [&copy, &source] {
        lab.take_down(volume, SCSI).await?;
    }
    lab.bring_up(&copy, NVME).await?;
    lab.check(NVME, &of_copy).await?;
    lab.take_down(&copy, NVME).await?;
    lab.delete(&copy).await?;
    lab.delete(&source).await
}

/// What one node writes, the other reads.
pub(super) async fn shared(lab: &mut Lab) -> Result<()> {
    let wish = Wish {
        shares: 2,
        ..Wish::new("shared", 1, shared_block())
    };
    let volume = lab.create(wish).await?;
    for node in [SCSI, NVME] {
        lab.bring_up(&volume, node).await?;
    }
    let one = volume.span("", 4, 1);
    let two = Span {
        offset: 64 << 20,
        ..volume.span("", 4, 2)
    };
    lab.fill(SCSI, &one).await?;
    lab.check(NVME, &one).await?;
    lab.fill(NVME, &two).await?;
    lab.check(SCSI, &two).await?;
    lab.take_down(&volume, SCSI).await?;
    lab.check(NVME, &one).await?;
    lab.check(NVME, &two).await?;
    lab.take_down(&volume, NVME).await?;
    lab.delete(&volume).await
}

/// Slots 0 and 1, where the system disk, the temporary disk, the volume with keys and a local disk
/// have the same numbers. That none of them was touched is checked after every case.
pub(super) async fn decoys(lab: &mut Lab) -> Result<()> {
    for node in [SCSI, NVME] {
        let mut volumes = Vec::new();
        for (seed, fs_type) in [(0, "ext4"), (1, "xfs")] {
            let name = format!("decoys-{node}-{seed}");
            let volume = lab.create(Wish::new(&name, 1, filesystem(fs_type))).await?;
            lab.bring_up(&volume, node).await?;
            lab.fill(node, &volume.span("data", 4, seed)).await?;
            volumes.push(volume);
        }
        look_alikes(lab, node).await?;
        for (seed, volume) in (0..).zip(&volumes) {
            lab.check(node, &volume.span("data", 4, seed)).await?;
            lab.take_down(volume, node).await?;
            lab.delete(volume).await?;
        }
    }
    Ok(())
}

/// Proves that the disks that are not ours are there: a case without them would show nothing.
async fn look_alikes(lab: &Lab, node: usize) -> Result<()> {
    let agent = &lab.node(node)?.machine.agent;
    let scsi = "grep -l Msft /sys/bus/scsi/devices/*:0:0:1/vendor | wc -l";
    let wanted = if node == SCSI { "3" } else { "2" };
    let found = agent.shell(scsi).await?;
    ensure!(found.trim() == wanted, "{found} SCSI disks at LUN 1");
    let nvme = "cat /sys/class/block/nvme[0-9]n*/nsid | grep -cx 2";
    let wanted = if node == SCSI { "1" } else { "2" };
    let found = agent.shell(nvme).await?;
    ensure!(found.trim() == wanted, "{found} NVMe namespaces 2");
    Ok(())
}
