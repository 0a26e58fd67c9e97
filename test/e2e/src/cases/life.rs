//! A volume's life: made, written, grown, snapshotted, restored, deleted.

use anyhow::{Result, ensure};

use crate::cluster::Cluster;
use crate::kubectl::{Kubectl, PATIENCE};
use crate::objects::{claim, pod, snapshot};
use crate::wait::eventually;

const WRITE: &str = "head -c 4194304 /dev/urandom >/data/bytes && sync && sha256sum </data/bytes";
const READ: &str = "sha256sum </data/bytes";

/// The size of the filesystem in MiB.
const SIZE: &str = "df -m /data | tail -1 | awk '{print $2}'";

pub(super) async fn run(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    let objects = claim("life", "1Gi", "") + &pod("life", "life");
    kubectl.apply(&objects).await?;
    kubectl.running("life").await?;
    let written = kubectl.shell("life", WRITE).await?;
    grow(kubectl).await?;
    let restored = restored(kubectl).await?;
    ensure!(
        restored == written,
        "restored {restored}, written {written}"
    );
    for object in [
        "pod/life",
        "pod/restored",
        "volumesnapshot/life",
        "pvc/restored",
        "pvc/life",
    ] {
        kubectl.remove(object).await?;
    }
    super::nothing_left(cluster).await
}

/// Grows the volume under the running pod.
async fn grow(kubectl: &Kubectl) -> Result<()> {
    let before: u64 = kubectl.shell("life", SIZE).await?.parse()?;
    let patch = r#"{"spec": {"resources": {"requests": {"storage": "3Gi"}}}}"#;
    let patch = ["patch", "pvc", "life", "--patch", patch];
    kubectl.run(&patch).await?;
    eventually("the disk has grown", PATIENCE, async || {
        let claim = kubectl.get("pvc/life").await?.to_string();
        ensure!(claim.contains("FileSystemResizePending"), "{claim}");
        Ok(())
    })
    .await?;
    // Kubelet looks at a pod about once a minute, and at once when it changes.
    let touch = ["annotate", "pod", "life", "looked-at=now"];
    kubectl.run(&touch).await?;
    let size = "/status/capacity/storage";
    kubectl.until("pvc/life", size, "3Gi").await?;
    let after: u64 = kubectl.shell("life", SIZE).await?.parse()?;
    ensure!(
        after > before + 1500,
        "the filesystem grew from {before} to {after} MiB"
    );
    Ok(())
}

/// What a volume holds that is made from a snapshot, after the first one has changed.
async fn restored(kubectl: &Kubectl) -> Result<String> {
    kubectl.apply(&snapshot("life", "life")).await?;
    let ready = "/status/readyToUse";
    kubectl.until("volumesnapshot/life", ready, "true").await?;
    let change = "echo changed >/data/bytes && sync";
    kubectl.shell("life", change).await?;
    let source =
        "  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: life}";
    let objects = claim("restored", "3Gi", source) + &pod("restored", "restored");
    kubectl.apply(&objects).await?;
    kubectl.running("restored").await?;
    kubectl.shell("restored", READ).await
}
