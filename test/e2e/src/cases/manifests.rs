//! Every manifest and example is taken by the API server, to the last field, and nothing is changed. This
//! is tried where the drivers are not installed, because some fields cannot be changed later.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cluster::Cluster;

/// Not objects of the API: values for Helm; and a kind of the Prometheus operator, which is not here.
const OTHERS: [&str; 2] = ["examples/values/", "optional/metrics.yaml"];

pub(super) async fn run(cluster: &Cluster) -> Result<()> {
    let kinds = "kubernetes/disk/optional/snapshot-crds.yaml";
    let kinds = cluster.deploy.join(kinds).display().to_string();
    cluster
        .kubectl
        .run(&["create", "--filename", &kinds])
        .await?;
    let mut refused = Vec::new();
    for folder in ["kubernetes", "examples"] {
        for file in files(&cluster.deploy.join(folder))? {
            let name = file.display().to_string();
            if OTHERS.iter().any(|other| name.contains(other)) {
                continue;
            }
            if let Err(error) = cluster.kubectl.try_out(&name).await {
                refused.push(format!("{error:#}"));
            }
        }
    }
    cluster
        .kubectl
        .run(&["delete", "--filename", &kinds])
        .await?;
    if refused.is_empty() {
        return Ok(());
    }
    bail!("{} refused:\n{}", refused.len(), refused.join("\n"))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|end| end == "yaml") {
            found.push(path);
        }
    }
    Ok(found)
}
