//! The life of a volume: create, attach, stage, publish, write, detach, attach again, read, delete.

use anyhow::{Context as _, Result, ensure};
use azcsi_proto::csi::v1::VolumeCapability;
use azcsi_rig::csi::{block, filesystem};
use futures_util::future::try_join_all;

use crate::guest::pattern;
use crate::lab::{Lab, NVME, SCSI};
use crate::node::View;
use crate::volume::{Volume, Wish};

/// How many disks the machines' size takes.
const MOST: usize = 32;

/// ext4 on SCSI.
pub(super) async fn scsi_ext4(lab: &mut Lab) -> Result<()> {
    life(lab, SCSI, "scsi-ext4", filesystem("ext4")).await
}

/// Raw on SCSI.
pub(super) async fn scsi_block(lab: &mut Lab) -> Result<()> {
    life(lab, SCSI, "scsi-block", block()).await
}

/// XFS on NVMe.
pub(super) async fn nvme_xfs(lab: &mut Lab) -> Result<()> {
    life(lab, NVME, "nvme-xfs", filesystem("xfs")).await
}

/// Raw on NVMe.
pub(super) async fn nvme_block(lab: &mut Lab) -> Result<()> {
    life(lab, NVME, "nvme-block", block()).await
}

/// btrfs on SCSI. On the NVMe node the disk behind a namespace shows the same filesystem, which the
/// driver refuses, and rightly so.
pub(super) async fn scsi_btrfs(lab: &mut Lab) -> Result<()> {
    life(lab, SCSI, "scsi-btrfs", filesystem("btrfs")).await
}

/// A node whose udev has gone, with all that it made.
pub(super) async fn without_udev(lab: &mut Lab) -> Result<()> {
    let agent = lab.node(SCSI)?.machine.agent.clone();
    agent
        .shell("udevadm control --exit; rm -r /dev/disk")
        .await?;
    life(lab, SCSI, "no-udev", filesystem("ext4")).await?;
    let links = agent.try_run(&["ls", "/dev/disk"]).await?;
    ensure!(links.code != 0, "there are links: {}", links.stdout);
    start_udev(lab).await
}

async fn start_udev(lab: &Lab) -> Result<()> {
    let line = "/lib/systemd/systemd-udevd --daemon && udevadm trigger --action=add \
                --subsystem-match=block && udevadm settle --timeout=60";
    lab.node(SCSI)?.machine.agent.shell(line).await.map(drop)
}

/// A controller that sysfs says nothing about: udev's link and Azure's word decide.
pub(super) async fn only_links(lab: &mut Lab) -> Result<()> {
    lab.node(SCSI)?.stop_driver().await?;
    lab.node(SCSI)?.start_driver(View::Plain).await?;
    life(lab, SCSI, "only-links", filesystem("ext4")).await?;
    lab.node(SCSI)?.stop_driver().await?;
    lab.node(SCSI)?.start_driver(View::Azure).await
}

/// A device that is seconds late.
pub(super) async fn late(lab: &mut Lab) -> Result<()> {
    lab.device_lag(5).await?;
    let outcome = life(lab, SCSI, "late", filesystem("ext4")).await;
    lab.device_lag(0).await?;
    outcome
}

/// A controller that tells of no disk that comes: every one has to be asked for, and a scan that
/// is under way takes no other request.
pub(super) async fn silent(lab: &mut Lab) -> Result<()> {
    set_silent(lab, true).await?;
    let wishes =
        (0..6).map(|n| lab.create(Wish::new(&format!("silent-{n}"), 1, filesystem("ext4"))));
    let volumes = try_join_all(wishes).await?;
    let contexts = try_join_all(volumes.iter().map(|volume| lab.attach(volume, SCSI))).await?;
    let seen = "ls /sys/class/scsi_host/host*/device/target*/*/block | grep -c sd";
    let seen = lab.node(SCSI)?.machine.agent.shell(seen).await?;
    ensure!(seen.trim() == "3", "{seen} disks without a scan");
    let pairs = volumes.iter().zip(&contexts);
    try_join_all(pairs.map(|(volume, context)| async {
        lab.stage(volume, SCSI, context).await?;
        lab.publish(volume, SCSI, context).await
    }))
    .await?;
    for (seed, volume) in (0..).zip(&volumes) {
        lab.fill(SCSI, &volume.span("data", 2, seed)).await?;
    }
    for (seed, volume) in (0..).zip(&volumes) {
        lab.check(SCSI, &volume.span("data", 2, seed)).await?;
        lab.take_down(volume, SCSI).await?;
        lab.delete(volume).await?;
    }
    set_silent(lab, false).await
}

async fn set_silent(lab: &mut Lab, silent: bool) -> Result<()> {
    let node = lab.node_mut(SCSI)?;
    node.machine.power_off().await?;
    node.machine.spec.silent = silent;
    node.machine.switch_on()?;
    node.come_up().await
}

async fn life(lab: &Lab, node: usize, name: &str, capability: VolumeCapability) -> Result<()> {
    let volume = lab.create(Wish::new(name, 1, capability)).await?;
    lab.bring_up(&volume, node).await?;
    let span = volume.span("data", 8, 1);
    lab.fill(node, &span).await?;
    lab.check(node, &span).await?;
    lab.take_down(&volume, node).await?;
    lab.bring_up(&volume, node).await?;
    lab.check(node, &span).await?;
    lab.take_down(&volume, node).await?;
    lab.delete(&volume).await
}

/// As many SCSI disks as the machine takes, all at once.
pub(super) async fn burst_scsi(lab: &mut Lab) -> Result<()> {
    burst(lab, SCSI).await
}

/// As many NVMe namespaces as the machine takes, all at once.
pub(super) async fn burst_nvme(lab: &mut Lab) -> Result<()> {
    burst(lab, NVME).await
}

async fn up(lab: &Lab, volume: &Volume, node: usize) -> Result<()> {
    let context = lab.attach(volume, node).await?;
    lab.stage_patiently(volume, node, &context).await?;
    lab.publish(volume, node, &context).await
}

async fn burst(lab: &Lab, node: usize) -> Result<()> {
    let wishes = (0..MOST).map(|n| lab.create(Wish::new(&format!("burst-{node}-{n}"), 1, block())));
    let volumes = try_join_all(wishes).await?;
    try_join_all(volumes.iter().map(|volume| up(lab, volume, node))).await?;
    let numbered: Vec<(u64, &Volume)> = (100..).zip(&volumes).collect();
    for (seed, volume) in &numbered {
        lab.fill(node, &volume.span("", 1, *seed)).await?;
    }
    for (seed, volume) in &numbered {
        lab.check(node, &volume.span("", 1, *seed)).await?;
        // What the node wrote to this volume is in the file of this disk, and in no other.
        let mut span = volume.span("", 1, *seed);
        span.path = lab.contents(&volume.id).await?.display().to_string();
        let wrong = pattern::check(&span).with_context(|| span.path.clone())?;
        ensure!(
            wrong == 0,
            "{}: {wrong} bytes are another disk's",
            volume.id
        );
    }
    try_join_all(volumes.iter().map(|volume| lab.take_down(volume, node))).await?;
    try_join_all(volumes.iter().map(|volume| lab.delete(volume))).await?;
    Ok(())
}
