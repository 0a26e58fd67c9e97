//! What is tried, in this order, on one cluster. Each case leaves nothing behind.
//!
//! | module | what it tries |
//! |---|---|
//! | [`life`] | a volume made, written, grown, snapshotted, restored, deleted |
//! | [`manifests`] | every manifest and example is taken by the API server |
//! | [`registration`] | kubelet and driver are restarted; a foreign registrar |
//! | [`outage`] | the API server goes away in the middle |
//! | [`volumes`] | block, clone, move to another node, StatefulSet, ephemeral, static, attributes class |

mod life;
mod manifests;
mod outage;
mod registration;
mod volumes;

use std::time::Instant;

use anyhow::{Result, bail, ensure};

use crate::cluster::Cluster;
use crate::kubectl::PATIENCE;
use crate::tell;
use crate::wait::eventually;

/// What became of a case.
struct Outcome {
    name: &'static str,
    seconds: f64,
    result: Result<()>,
}

/// Runs every case whose name holds `only`.
pub(crate) async fn run(cluster: &mut Cluster, only: &str) -> Result<()> {
    let mut outcomes = Vec::new();
    macro_rules! case {
        ($name:literal, $work:expr) => {
            if $name.contains(only) || $name == "install" {
                let began = now();
                let result = $work.await;
                outcomes.push(told($name, began, result));
            }
        };
    }
    case!("manifests", manifests::run(cluster));
    case!("install", cluster.install_disk());
    // Without the driver nothing else can be told.
    if outcomes.last().is_some_and(|one| one.result.is_err()) {
        return account(&outcomes);
    }
    case!("life", life::run(cluster));
    case!("block", volumes::block(cluster));
    case!("clone", volumes::clone(cluster));
    case!("move", volumes::relocate(cluster));
    case!("stateful-set", volumes::stateful_set(cluster));
    case!("ephemeral", volumes::ephemeral(cluster));
    case!("modify", volumes::modify(cluster));
    case!("retain-and-static", volumes::retain(cluster));
    case!("kubelet-restart", registration::kubelet(cluster));
    case!("driver-restart", registration::driver(cluster));
    case!("foreign-registrar", registration::foreign(cluster));
    case!("api-server-restart", outage::run(cluster));
    case!("uninstall", volumes::uninstall(cluster));
    account(&outcomes)
}

/// Waits until neither the cluster nor Azure holds a volume of a case.
async fn nothing_left(cluster: &Cluster) -> Result<()> {
    eventually("every volume is gone", PATIENCE, async || {
        let volumes = cluster.kubectl.list("pv").await?;
        ensure!(volumes.is_empty(), "{} are there", volumes.len());
        for kind in ["disks", "snapshots"] {
            let left = cluster.azure.names(kind).await?;
            ensure!(left.is_empty(), "left in Azure: {left:?}");
        }
        Ok(())
    })
    .await?;
    cluster.azure.no_violations().await
}

#[expect(clippy::disallowed_methods, reason = "a person's stopwatch")]
fn now() -> Instant {
    Instant::now()
}

fn told(name: &'static str, began: Instant, result: Result<()>) -> Outcome {
    let seconds = began.elapsed().as_secs_f64();
    match &result {
        Ok(()) => tell(&format!("ok    {name} ({seconds:.1} s)")),
        Err(error) => tell(&format!("FAIL  {name} ({seconds:.1} s): {error:#}")),
    }
    Outcome {
        name,
        seconds,
        result,
    }
}

fn account(outcomes: &[Outcome]) -> Result<()> {
    let all: f64 = outcomes.iter().map(|one| one.seconds).sum();
    let failed = outcomes.iter().filter(|one| one.result.is_err());
    let failed: Vec<_> = failed.map(|one| one.name).collect();
    tell(&format!(
        "{} cases, {} failed, {all:.0} s",
        outcomes.len(),
        failed.len()
    ));
    if failed.is_empty() {
        return Ok(());
    }
    bail!("failed: {}", failed.join(", "))
}
