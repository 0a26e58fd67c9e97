//! A filesystem in a file on a share: volumes of old, which stay usable.
//!
//! The share is mounted beside the staging path, at `proxy-mount`, and the file through a loop device
//! at the staging path itself. An existing filesystem is mounted; none is ever made here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use azcsi_host::HostError;
use azcsi_types::clock::Deadline;
use azcsi_types::op::Op;

use super::Node;
use super::connect::{self, Job};
use super::error::NodeError;
use super::mounted::{self, Seen};
use super::options;
use super::stage::give;
use super::stage_plan::{AtStaging, at_staging};

/// Longest time of the second mount.
const WAIT: Duration = Duration::from_secs(60);

/// Where the share of such a volume is mounted.
pub(super) fn proxy_path(staging: &Path) -> PathBuf {
    staging.with_file_name("proxy-mount")
}

/// Stages one.
pub(super) async fn stage(
    node: &Node,
    op: &Op,
    job: &Job,
    staging: &Path,
) -> Result<(), NodeError> {
    let volume = job.volume.as_str();
    if !node.config.vhd {
        return Err(NodeError::refused(
            volume,
            "it is a disk in a file, and --enable-vhd is off",
        ));
    }
    let Some((name, kind)) = &job.share.disk else {
        return Err(NodeError::refused(volume, "it has no disk"));
    };
    let proxy = proxy_path(staging);
    if mounted::table(node, volume)?.top(staging).is_some() {
        return give(node, op, job, staging).await;
    }
    let source = base(node, op, job, &proxy).await?;
    let file = proxy.join(name);
    check(&file, volume)?;
    mounted::make(staging, volume)?;
    loop_mount(node, op, job, (&file, kind, staging)).await?;
    connect::remember(node, job, |record| {
        record.staging_path = staging.display().to_string();
        record.source = source;
    })?;
    give(node, op, job, staging).await
}

/// Mounts the share, unless it is there.
async fn base(node: &Node, op: &Op, job: &Job, proxy: &Path) -> Result<String, NodeError> {
    let volume = job.volume.as_str();
    let source = connect::known_source(node, job);
    let seen = source.as_deref().map(|source| Seen {
        kind: job.kind(),
        source,
    });
    let table = mounted::table(node, volume)?;
    let found = mounted::look(node, &table, proxy, seen).await;
    match at_staging(found, false) {
        AtStaging::Staged => Ok(source.unwrap_or_default()),
        AtStaging::Mount => {
            let words = options::of_vhd_share(&node.config.options);
            let made = connect::mount(node, op, job, (proxy, &words)).await?;
            Ok(made.source)
        }
        AtStaging::Replace | AtStaging::Wait => Err(NodeError::stale(
            volume,
            "the share that holds its disk does not answer",
        )),
        AtStaging::Refuse(why) => Err(NodeError::Incompatible {
            path: proxy.to_owned(),
            why: why.to_owned(),
        }),
    }
}

/// A link could lead to any file of the node.
fn check(file: &Path, volume: &str) -> Result<(), NodeError> {
    let fail = |source| {
        NodeError::step(
            "looking at the disk",
            volume,
            HostError::io("look at", file, source),
        )
    };
    let meta = file.symlink_metadata();
    match meta {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(NodeError::NotThere {
            volume: volume.to_owned(),
            path: file.display().to_string(),
        }),
        Err(error) => Err(fail(error)),
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(_) => Err(NodeError::refused(volume, "its disk is not a regular file")),
    }
}

async fn loop_mount(
    node: &Node,
    op: &Op,
    job: &Job,
    (file, kind, staging): (&Path, &str, &Path),
) -> Result<(), NodeError> {
    let volume = job.volume.as_str();
    let mut words = job.merged.options.words().to_vec();
    words.push("loop".to_owned());
    if kind.starts_with("ext") {
        words.extend(["noatime", "barrier=1", "errors=remount-ro"].map(str::to_owned));
    }
    let args: Vec<OsString> = vec![
        "-t".into(),
        kind.into(),
        "-o".into(),
        words.join(",").into(),
        file.into(),
        staging.into(),
    ];
    let deadline = op.deadline().or_sooner(Deadline::after(&*node.clock, WAIT));
    let ran = node
        .powers
        .exec
        .run(Path::new("mount"), &args, deadline)
        .await;
    let output = ran.map_err(|error| NodeError::step("mounting the disk", volume, error))?;
    if output.is_success() {
        return Ok(());
    }
    let said = output.said();
    Err(NodeError::refused(
        volume,
        format!(
            "its disk cannot be mounted as {kind}; a disk without a filesystem has to be formatted by hand: {said}"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{check, proxy_path};

    #[test]
    fn the_share_is_mounted_beside_the_staging_path() {
        let path = proxy_path(Path::new("/k/plugins/h/globalmount"));
        assert_eq!(path, Path::new("/k/plugins/h/proxy-mount"));
    }

    #[test]
    fn only_a_regular_file_is_a_disk() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.vhd"), "x").unwrap();
        symlink("/etc/passwd", at("b.vhd")).unwrap();
        assert!(check(&at("a.vhd"), "v").is_ok());
        assert!(check(&at("b.vhd"), "v").is_err());
        assert!(check(&at("c.vhd"), "v").is_err());
    }
}
