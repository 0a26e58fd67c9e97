//! Plain SMB and NFS mounts, to prove the lab itself: server, names, network cuts.

use anyhow::{Result, ensure};

use crate::files::{Protocol, Server};
use crate::lab::{FILES, Lab, SCSI};
use crate::wire::Span;

/// Where the share is mounted.
const POINT: &str = "/mnt/share";

/// SMB 3.1.1 with encryption.
pub(super) async fn smb(lab: &mut Lab) -> Result<()> {
    share(lab, Protocol::Smb).await
}

/// NFS 4.1.
pub(super) async fn nfs(lab: &mut Lab) -> Result<()> {
    share(lab, Protocol::Nfs).await
}

fn file(name: &str, seed: u64) -> Span {
    Span {
        path: format!("{POINT}/{name}"),
        offset: 0,
        length: 4 << 20,
        seed,
    }
}

async fn share(lab: &mut Lab, protocol: Protocol) -> Result<()> {
    lab.power_files().await?;
    let server = Server::start(&lab.files.agent, protocol).await?;
    let outcome = mounted(lab, &server).await;
    if let Ok(node) = lab.node(SCSI) {
        // A mount whose server is gone must not stay in the way of other cases.
        let _ = node.machine.agent.run(&["umount", "-l", POINT]).await;
    }
    server.stop().await?;
    outcome
}

async fn mounted(lab: &Lab, server: &Server) -> Result<()> {
    let node = lab.node(SCSI)?;
    let agent = &node.machine.agent;
    server.mount(agent, POINT).await?;
    let table = agent
        .shell(&format!("grep ' {POINT} ' /proc/mounts"))
        .await?;
    for option in server.expected_options() {
        ensure!(table.contains(option), "no {option} in {table}");
    }
    lab.fill(SCSI, &file("first", 1)).await?;
    lab.check(SCSI, &file("first", 1)).await?;

    // The server stops and returns while a pod writes.
    let writer = node.stubborn_writer(&file("busy", 2)).await?;
    let before = writer.rounds(1).await?;
    server.kill().await?;
    server.restart().await?;
    writer.rounds(before + 2).await?;

    // The network is cut until the kernel notices, and mended.
    let seen = node.kernel_says(server.complaint()).await?;
    lab.hub.cut(FILES);
    let noticed = node.wait_kernel_says(server.complaint(), seen).await;
    lab.hub.mend(FILES);
    noticed?;
    let before = writer.rounds(1).await?;
    writer.rounds(before + 2).await?;
    writer.end().await?;
    let errors = writer.errors().await?;
    ensure!(
        errors.is_empty() || server.may_fail_writes(),
        "writes failed: {errors:?}"
    );
    lab.check(SCSI, &file("busy", 2)).await?;
    lab.check(SCSI, &file("first", 1)).await?;
    agent.run(&["umount", POINT]).await.map(drop)
}
