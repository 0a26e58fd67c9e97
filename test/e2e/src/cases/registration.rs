//! The built-in registrar under a real kubelet.

use anyhow::{Context as _, Result, ensure};
use tokio::net::{UnixListener, UnixStream};

use crate::cluster::Cluster;
use crate::kubectl::{Kubectl, PATIENCE};
use crate::objects::{claim, pod};
use crate::wait::eventually;

const DRIVER: &str = "disk.csi.azure.com";
const SOCKET: &str = "/var/lib/kubelet/plugins_registry/disk.csi.azure.com-reg.sock";

/// A new volume works: this needs kubelet's calls of the driver.
async fn works(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    let objects = claim("after", "1Gi", "") + &pod("after", "after");
    kubectl.apply(&objects).await?;
    kubectl.running("after").await?;
    kubectl.remove("pod/after").await?;
    kubectl.remove("pvc/after").await
}

/// Makes a pod with a volume, which outlives what a case does.
async fn keep(kubectl: &Kubectl) -> Result<()> {
    let objects = claim("kept", "1Gi", "") + &pod("kept", "kept");
    kubectl.apply(&objects).await?;
    kubectl.running("kept").await?;
    let write = "echo before >/data/file";
    kubectl.shell("kept", write).await.map(drop)
}

/// Its data are there, and it can be deleted.
async fn kept(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    let read = kubectl.shell("kept", "cat /data/file").await?;
    ensure!(read == "before", "read {read:?}");
    kubectl.remove("pod/kept").await?;
    kubectl.remove("pvc/kept").await?;
    super::nothing_left(cluster).await
}

/// Kubelet starts anew, while a pod has its volume.
pub(super) async fn kubelet(cluster: &mut Cluster) -> Result<()> {
    keep(&cluster.kubectl).await?;
    for node in &mut cluster.nodes {
        node.stop_kubelet().await?;
        node.start_kubelet()?;
    }
    cluster.registered(DRIVER).await?;
    works(cluster).await?;
    kept(cluster).await
}

/// The node plugin starts anew, while a pod has its volume.
pub(super) async fn driver(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    keep(kubectl).await?;
    let set = "daemonset/csi-azuredisk-node";
    let rollout = ["--namespace", "kube-system", "rollout"];
    let restart = [&rollout[..], &["restart", set]].concat();
    kubectl.run(&restart).await?;
    let status = [&rollout[..], &["status", set, "--timeout=240s"]].concat();
    kubectl.run(&status).await?;
    cluster.registered(DRIVER).await?;
    works(cluster).await?;
    kept(cluster).await
}

/// Another process takes the registration socket; the built-in registrar leaves it to it, and takes it
/// back when it is free.
pub(super) async fn foreign(cluster: &Cluster) -> Result<()> {
    let node = cluster.nodes.first().context("a node")?;
    let path = node.path(SOCKET);
    std::fs::remove_file(&path)?;
    let listener = UnixListener::bind(&path)?;
    let name = format!("csinode/{}", node.name);
    // It answers no call, so kubelet gets nowhere.
    let closing = async {
        loop {
            drop(listener.accept().await);
        }
    };
    let forgotten = eventually("kubelet has forgotten the driver", PATIENCE, async || {
        let found = cluster.kubectl.get(&name).await?["spec"]["drivers"].to_string();
        ensure!(!found.contains(DRIVER), "{found}");
        Ok(())
    });
    tokio::select! {
        () = closing => {}
        result = forgotten => result?,
    }
    ensure!(
        UnixStream::connect(&path).await.is_ok(),
        "the socket was taken away from it"
    );
    drop(listener);
    // Nobody answers any more, though the file is there.
    cluster.registered(DRIVER).await?;
    works(cluster).await?;
    super::nothing_left(cluster).await
}
