//! Kinds of volumes, and what pods do with them.

use anyhow::{Context as _, Result, ensure};

use crate::cluster::Cluster;
use crate::kubectl::PATIENCE;
use crate::objects::{claim, pod};
use crate::wait::eventually;

const WRITE: &str = "head -c 1048576 /dev/urandom >/data/bytes && sync && sha256sum </data/bytes";
const READ: &str = "sha256sum </data/bytes";

/// A raw device.
pub(super) async fn block(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    let device = pod("block", "block").replace(
        "volumeMounts: [{name: data, mountPath: /data}]",
        "volumeDevices: [{name: data, devicePath: /dev/data}]",
    );
    kubectl
        .apply(&(claim("block", "1Gi", "  volumeMode: Block") + &device))
        .await?;
    kubectl.running("block").await?;
    let write = "echo bytes >/tmp/in && dd if=/tmp/in of=/dev/data conv=fsync 2>/dev/null; dd if=/dev/data bs=6 count=1 2>/dev/null";
    let read = kubectl.shell("block", write).await?;
    ensure!(read == "bytes", "read {read:?}");
    kubectl.remove("pod/block").await?;
    kubectl.remove("pvc/block").await?;
    super::nothing_left(cluster).await
}

/// A claim made from another one.
pub(super) async fn clone(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    kubectl
        .apply(&(claim("source", "1Gi", "") + &pod("source", "source")))
        .await?;
    kubectl.running("source").await?;
    let written = kubectl.shell("source", WRITE).await?;
    let from = "  dataSource: {kind: PersistentVolumeClaim, name: source}";
    kubectl
        .apply(&(claim("copy", "1Gi", from) + &pod("copy", "copy")))
        .await?;
    kubectl.running("copy").await?;
    let read = kubectl.shell("copy", READ).await?;
    ensure!(read == written, "copied {read}, written {written}");
    for object in ["pod/copy", "pod/source", "pvc/copy", "pvc/source"] {
        kubectl.remove(object).await?;
    }
    super::nothing_left(cluster).await
}

/// A node is emptied; the pod goes on with its data on the other one.
pub(super) async fn relocate(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    kubectl
        .apply(&(claim("mover", "1Gi", "") + &pod("mover", "mover")))
        .await?;
    kubectl.running("mover").await?;
    let written = kubectl.shell("mover", WRITE).await?;
    let first = kubectl.get("pod/mover").await?["spec"]["nodeName"]
        .as_str()
        .context("a node")?
        .to_owned();
    kubectl.run(&["cordon", &first]).await?;
    kubectl.remove("pod/mover").await?;
    kubectl.apply(&pod("mover", "mover")).await?;
    kubectl.running("mover").await?;
    kubectl.run(&["uncordon", &first]).await?;
    let second = kubectl.get("pod/mover").await?["spec"]["nodeName"].to_string();
    ensure!(!second.contains(&first), "it is on {second} again");
    let read = kubectl.shell("mover", READ).await?;
    ensure!(read == written, "read {read}, written {written}");
    kubectl.remove("pod/mover").await?;
    kubectl.remove("pvc/mover").await?;
    super::nothing_left(cluster).await
}

/// Two pods of a set, each with a volume, deleted and made again.
pub(super) async fn stateful_set(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    kubectl
        .apply(include_str!("../../files/stateful-set.yaml"))
        .await?;
    for pod in ["set-0", "set-1"] {
        kubectl.running(pod).await?;
        kubectl
            .shell(pod, &format!("echo {pod} >/data/name"))
            .await?;
    }
    let old = kubectl.get("pod/set-1").await?["metadata"]["uid"].clone();
    kubectl.delete("pod/set-1").await?;
    eventually("the pod is a new one", PATIENCE, async || {
        let new = kubectl.get("pod/set-1").await?;
        ensure!(new["metadata"]["uid"] != old && new["status"]["phase"] == "Running");
        Ok(())
    })
    .await?;
    ensure!(kubectl.shell("set-1", "cat /data/name").await? == "set-1");
    kubectl.remove("statefulset/set").await?;
    for index in 0..2 {
        kubectl.until_gone(&format!("pod/set-{index}")).await?;
        kubectl.remove(&format!("pvc/data-set-{index}")).await?;
    }
    super::nothing_left(cluster).await
}

/// A claim that lives as long as its pod.
pub(super) async fn ephemeral(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    let template = "ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], \
        storageClassName: managed-csi, resources: {requests: {storage: 1Gi}}}}}";
    let own = pod("passing", "-").replace("persistentVolumeClaim: {claimName: -}", template);
    kubectl.apply(&own).await?;
    kubectl.running("passing").await?;
    kubectl.shell("passing", "echo x >/data/x").await?;
    kubectl.remove("pod/passing").await?;
    super::nothing_left(cluster).await
}

/// A volume gets other attributes.
pub(super) async fn modify(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    kubectl
        .apply(include_str!("../../files/attributes.yaml"))
        .await?;
    kubectl
        .apply(
            &(claim("modified", "64Gi", "").replace("managed-csi", "premium2")
                + &pod("modified", "modified")),
        )
        .await?;
    kubectl.running("modified").await?;
    let patch = r#"{"spec": {"volumeAttributesClassName": "fast"}}"#;
    kubectl
        .run(&["patch", "pvc", "modified", "--patch", patch])
        .await?;
    kubectl
        .until(
            "pvc/modified",
            "/status/currentVolumeAttributesClassName",
            "fast",
        )
        .await?;
    let state = cluster.azure.control.get("/_sim/state").await?["disks"].to_string();
    ensure!(
        state.contains("5000"),
        "the disk has not 5000 IOPS: {state}"
    );
    kubectl.remove("pod/modified").await?;
    kubectl.remove("pvc/modified").await?;
    kubectl.remove("volumeattributesclass/fast").await?;
    kubectl.remove("storageclass/premium2").await?;
    super::nothing_left(cluster).await
}

/// A volume that outlives its claim, and is found again by its id.
pub(super) async fn retain(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    kubectl
        .apply(&(claim("first", "1Gi", "") + &pod("first", "first")))
        .await?;
    kubectl.running("first").await?;
    let written = kubectl.shell("first", WRITE).await?;
    let volume = kubectl.get("pvc/first").await?["spec"]["volumeName"]
        .as_str()
        .context("a volume")?
        .to_owned();
    let spec = kubectl.get(&format!("pv/{volume}")).await?["spec"].clone();
    let retain = r#"{"spec": {"persistentVolumeReclaimPolicy": "Retain"}}"#;
    kubectl
        .run(&["patch", "pv", &volume, "--patch", retain])
        .await?;
    for object in ["pod/first", "pvc/first", &format!("pv/{volume}")] {
        kubectl.remove(object).await?;
    }
    ensure!(
        cluster.azure.names("disks").await?.len() == 1,
        "the disk went with the claim"
    );
    let handle = spec["csi"]["volumeHandle"].as_str().context("a handle")?;
    let filesystem = spec["csi"]["fsType"].as_str().unwrap_or_default();
    let found = include_str!("../../files/static.yaml")
        .replace("@HANDLE@", handle)
        .replace("@FILESYSTEM@", filesystem);
    kubectl.apply(&(found + &pod("second", "second"))).await?;
    kubectl.running("second").await?;
    let read = kubectl.shell("second", READ).await?;
    ensure!(read == written, "read {read}, written {written}");
    kubectl.remove("pod/second").await?;
    kubectl.remove("pvc/second").await?;
    super::nothing_left(cluster).await
}

/// The release goes, a volume and its data stay, and a new release finds them.
pub(super) async fn uninstall(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    kubectl
        .apply(&(claim("stays", "1Gi", "") + &pod("stays", "stays")))
        .await?;
    kubectl.running("stays").await?;
    let written = kubectl.shell("stays", WRITE).await?;
    cluster
        .helm(&[
            "uninstall",
            "azuredisk",
            "--namespace",
            "kube-system",
            "--wait",
        ])
        .await?;
    let read = kubectl.shell("stays", READ).await?;
    ensure!(read == written, "the pod lost its volume");
    ensure!(
        !kubectl.list("pv").await?.is_empty() && cluster.azure.names("disks").await?.len() == 1
    );
    kubectl
        .get("crd/volumesnapshots.snapshot.storage.k8s.io")
        .await?;
    cluster.install_disk_chart().await?;
    kubectl.remove("pod/stays").await?;
    kubectl.remove("pvc/stays").await?;
    super::nothing_left(cluster).await
}
