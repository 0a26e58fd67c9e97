//! The File driver on real servers. Data are checked byte for byte, and nothing stays mounted.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};
use tonic::Code;

use crate::files::Protocol;
use crate::lab::{FILES, Lab, NVME, SCSI};
use crate::shares::{ShareVolume, answer};
use crate::wait::until;

/// SMB.
pub(super) async fn life_smb(lab: &mut Lab) -> Result<()> {
    life(lab, Protocol::Smb).await
}

/// NFS.
pub(super) async fn life_nfs(lab: &mut Lab) -> Result<()> {
    life(lab, Protocol::Nfs).await
}

const fn word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Smb => "smb",
        Protocol::Nfs => "nfs",
    }
}

/// A volume for a case.
async fn volume(lab: &mut Lab, case: &str, protocol: Protocol) -> Result<ShareVolume> {
    let name = format!("{case}-{}", word(protocol));
    // The key comes from Azure, not from a Secret that somebody would have to keep up to date.
    lab.create_share(&name, protocol, &[("storeAccountKey", "false")])
        .await
}

/// From creation to deletion on two nodes; what one writes the other reads.
async fn life(lab: &mut Lab, protocol: Protocol) -> Result<()> {
    let name = format!("life-{}", word(protocol));
    let volume = lab.create_share(&name, protocol, &[]).await?;
    let kept = volume.span("pod", "kept", 1);
    for node in [SCSI, NVME] {
        lab.mount_share(&volume, node, "pod").await?;
        // Again, as kubelet does after a restart.
        lab.mount_share(&volume, node, "pod").await?;
    }
    lab.fill(SCSI, &kept).await?;
    lab.check(SCSI, &kept).await?;
    lab.check(NVME, &kept).await?;
    ensure!(
        lab.share_bytes(&volume, SCSI, "pod").await? > 0,
        "the volume has no size"
    );
    ensure!(
        lab.share_health(&volume, SCSI, "pod").await?.is_empty(),
        "a working volume has a problem"
    );
    answer(
        "NodePublishVolume",
        lab.try_publish_share(&volume, SCSI, "second").await?,
    )?;
    lab.check(SCSI, &volume.span("second", "kept", 1)).await?;
    lab.unpublish_share(&volume, SCSI, "second").await?;
    for node in [SCSI, NVME] {
        lab.unmount_share(&volume, node, "pod").await?;
    }
    lab.mount_share(&volume, SCSI, "pod").await?;
    lab.check(SCSI, &kept).await?;
    lab.unmount_share(&volume, SCSI, "pod").await?;
    lab.delete_share(&volume).await
}

/// SMB.
pub(super) async fn restart_smb(lab: &mut Lab) -> Result<()> {
    restart(lab, Protocol::Smb).await
}

/// NFS.
pub(super) async fn restart_nfs(lab: &mut Lab) -> Result<()> {
    restart(lab, Protocol::Nfs).await
}

/// The server stops and returns while a pod writes. The mount recovers by itself.
async fn restart(lab: &mut Lab, protocol: Protocol) -> Result<()> {
    let volume = volume(lab, "restart", protocol).await?;
    lab.mount_share(&volume, SCSI, "pod").await?;
    let kept = volume.span("pod", "kept", 1);
    lab.fill(SCSI, &kept).await?;
    let busy = volume.span("pod", "busy", 2);
    let writer = lab.node(SCSI)?.stubborn_writer(&busy).await?;
    let before = writer.rounds(1).await?;
    let server = lab.shares().await?.server(protocol).clone();
    server.kill().await?;
    server.restart().await?;
    writer.rounds(before + 2).await?;
    writer.end().await?;
    lab.check(SCSI, &busy).await?;
    lab.check(SCSI, &kept).await?;
    healthy(lab, &volume).await?;
    lab.unmount_share(&volume, SCSI, "pod").await?;
    lab.delete_share(&volume).await
}

/// Waits until nothing is wrong with the volume any more.
async fn healthy(lab: &Lab, volume: &ShareVolume) -> Result<()> {
    until("a healthy volume", || async {
        let found = lab.share_health(volume, SCSI, "pod").await?;
        Ok(found.is_empty().then_some(()))
    })
    .await
}

/// Waits until something is wrong with the volume; says what.
async fn sick(lab: &Lab, volume: &ShareVolume) -> Result<String> {
    until("the driver to notice", || async {
        Ok(lab
            .share_health(volume, SCSI, "pod")
            .await?
            .into_iter()
            .next())
    })
    .await
}

/// SMB.
pub(super) async fn cut_smb(lab: &mut Lab) -> Result<()> {
    cut(lab, Protocol::Smb).await
}

/// NFS.
pub(super) async fn cut_nfs(lab: &mut Lab) -> Result<()> {
    cut(lab, Protocol::Nfs).await
}

/// The network is cut under a pod that writes. The driver sees it, gives no dead mount to a second
/// pod, keeps answering, and all goes on once the cable is mended.
async fn cut(lab: &mut Lab, protocol: Protocol) -> Result<()> {
    let volume = volume(lab, "cut", protocol).await?;
    lab.mount_share(&volume, SCSI, "pod").await?;
    let kept = volume.span("pod", "kept", 1);
    lab.fill(SCSI, &kept).await?;
    let busy = volume.span("pod", "busy", 2);
    let writer = lab.node(SCSI)?.stubborn_writer(&busy).await?;
    writer.rounds(1).await?;
    lab.hub.cut(FILES);
    let seen = while_cut(lab, &volume).await;
    lab.hub.mend(FILES);
    seen?;
    let before = writer.rounds(1).await?;
    writer.rounds(before + 2).await?;
    writer.end().await?;
    lab.check(SCSI, &busy).await?;
    lab.check(SCSI, &kept).await?;
    healthy(lab, &volume).await?;
    lab.unmount_share(&volume, SCSI, "pod").await?;
    lab.delete_share(&volume).await
}

async fn while_cut(lab: &Lab, volume: &ShareVolume) -> Result<()> {
    let reason = sick(lab, volume).await?;
    let known = ["ServerUnresponsive", "StaleMount"];
    ensure!(known.contains(&reason.as_str()), "{reason}");
    let second = lab.try_publish_share(volume, SCSI, "second").await?;
    let Err(status) = second else {
        bail!("a second pod was given a mount whose server is silent");
    };
    let codes = [Code::Unavailable, Code::FailedPrecondition];
    ensure!(codes.contains(&status.code()), "{status:?}");
    Ok(())
}

/// The key is rotated under a mounted share. Nothing is exchanged below the pod that has it; once it
/// is gone the next one gets a mount with the new key.
pub(super) async fn rotate(lab: &mut Lab) -> Result<()> {
    let volume = volume(lab, "rotate", Protocol::Smb).await?;
    lab.mount_share(&volume, SCSI, "pod").await?;
    let kept = volume.span("pod", "kept", 1);
    lab.fill(SCSI, &kept).await?;
    lab.rotate_key(&volume.account()).await?;
    // First the server says nothing: it ends the sessions that the old key opened.
    until("the driver to see the dead mount", || async {
        let told = lab.share_health(&volume, SCSI, "pod").await?;
        Ok(told.contains(&"StaleMount".to_owned()).then_some(()))
    })
    .await?;
    let second = lab.try_publish_share(&volume, SCSI, "second").await?;
    let status = second
        .err()
        .context("a second pod was given a dead mount")?;
    ensure!(status.code() == Code::FailedPrecondition, "{status:?}");
    lab.unpublish_share(&volume, SCSI, "pod").await?;
    answer(
        "NodePublishVolume",
        lab.try_publish_share(&volume, SCSI, "pod").await?,
    )?;
    lab.check(SCSI, &kept).await?;
    lab.fill(SCSI, &volume.span("pod", "later", 2)).await?;
    lab.check(SCSI, &volume.span("pod", "later", 2)).await?;
    healthy(lab, &volume).await?;
    lab.unmount_share(&volume, SCSI, "pod").await?;
    lab.delete_share(&volume).await
}

/// Asks for a mount that cannot work, and looks at the first line of the answer.
async fn refused(lab: &Lab, volume: &ShareVolume, code: Code, says: &str) -> Result<()> {
    let Err(status) = lab.try_stage_share(volume, SCSI).await? else {
        bail!("it was mounted");
    };
    let line = status.message().lines().next().unwrap_or_default();
    ensure!(
        status.code() == code && line.contains(says),
        "not {code:?} with '{says}': {status:?}"
    );
    lab.node(SCSI)?.has_no_mount(&volume.name).await
}

/// A key that is not the account's.
pub(super) async fn wrong_key(lab: &mut Lab) -> Result<()> {
    let right = volume(lab, "wrong-key", Protocol::Smb).await?;
    let key = "d3Jvbmcta2V5LXdyb25nLWtleS13cm9uZy1rZXktd3Jvbmcta2V5LXdyb25nLWtleS13cm9uZy1rZXk=";
    let mut wrong = right.clone();
    wrong.secrets = HashMap::from([
        ("azurestorageaccountname".to_owned(), right.account()),
        ("azurestorageaccountkey".to_owned(), key.to_owned()),
    ]);
    refused(lab, &wrong, Code::PermissionDenied, "refuses the key").await?;
    lab.mount_share(&right, SCSI, "pod").await?;
    lab.fill(SCSI, &right.span("pod", "kept", 1)).await?;
    lab.check(SCSI, &right.span("pod", "kept", 1)).await?;
    lab.unmount_share(&right, SCSI, "pod").await?;
    lab.delete_share(&right).await
}

/// A share that was deleted behind Kubernetes' back.
pub(super) async fn missing(lab: &mut Lab) -> Result<()> {
    for protocol in [Protocol::Smb, Protocol::Nfs] {
        let volume = volume(lab, "missing", protocol).await?;
        lab.delete_share(&volume).await?;
        refused(lab, &volume, Code::NotFound, "the share does not exist").await?;
    }
    Ok(())
}

/// A firewall that drops the protocol's port, and lets the rest of the account through.
pub(super) async fn blocked(lab: &mut Lab) -> Result<()> {
    for (protocol, port) in [(Protocol::Smb, 445), (Protocol::Nfs, 2049)] {
        let volume = volume(lab, "blocked", protocol).await?;
        lab.hub.block(port);
        let says = "packets to the server's port are dropped";
        let seen = refused(lab, &volume, Code::Unavailable, says).await;
        lab.hub.unblock(port);
        seen?;
        lab.mount_share(&volume, SCSI, "pod").await?;
        lab.fill(SCSI, &volume.span("pod", "kept", 1)).await?;
        lab.check(SCSI, &volume.span("pod", "kept", 1)).await?;
        lab.unmount_share(&volume, SCSI, "pod").await?;
        lab.delete_share(&volume).await?;
    }
    Ok(())
}
