//! The API server goes away in the middle.

use anyhow::{Result, ensure};

use crate::cluster::Cluster;
use crate::objects::{claim, pod};

pub(super) async fn run(cluster: &mut Cluster) -> Result<()> {
    let kubectl = cluster.kubectl.clone();
    for index in 0..3 {
        let name = format!("outage{index}");
        kubectl
            .apply(&(claim(&name, "1Gi", "") + &pod(&name, &name)))
            .await?;
    }
    cluster.plane.restart_api_server().await?;
    for index in 0..3 {
        kubectl.running(&format!("outage{index}")).await?;
    }
    let disks = cluster.azure.names("disks").await?;
    ensure!(disks.len() == 3, "three claims have {disks:?}");
    for index in 0..3 {
        kubectl.remove(&format!("pod/outage{index}")).await?;
        kubectl.remove(&format!("pvc/outage{index}")).await?;
    }
    super::nothing_left(cluster).await
}
