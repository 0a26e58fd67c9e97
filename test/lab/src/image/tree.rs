//! From packages to a root filesystem. No script of a package is run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use super::rules;
use crate::run::{command, run};
use crate::wire::LABEL;

/// Size of the root filesystem. It is sparse, and leaves room for a container runtime.
const SIZE: &str = "4G";

/// Folders that no machine needs.
const UNUSED: [&str; 12] = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/perl",
    "usr/share/perl5",
    "usr/share/bash-completion",
    "usr/share/lintian",
    "usr/lib/python3",
    "usr/lib/python3.11",
    "usr/lib/x86_64-linux-gnu/perl",
    "boot",
];

/// Folders of the kernel's modules that a machine may need.
const MODULES: [&str; 15] = [
    "arch",
    "block",
    "crypto",
    "fs",
    "lib",
    "net",
    "security",
    "drivers/block",
    "drivers/char",
    "drivers/dax",
    "drivers/md",
    "drivers/net/dummy.ko",
    "drivers/nvme",
    "drivers/scsi",
    "drivers/virtio",
];

const FILES: [(&str, &str); 8] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    (
        "etc/group",
        "root:x:0:\ntty:x:5:\ndisk:x:6:\nlp:x:7:\nkmem:x:15:\ndialout:x:20:\ncdrom:x:24:\ntape:x:26:\naudio:x:29:\nvideo:x:44:\ninput:x:101:\nsgx:x:102:\nkvm:x:103:\nrender:x:104:\nnogroup:x:65534:\n",
    ),
    (
        "etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\n",
    ),
    (
        "etc/hosts",
        "127.0.0.1 localhost\n169.254.169.253 management.azure.com login.microsoftonline.com\n",
    ),
    ("etc/fstab", ""),
    ("etc/resolv.conf", ""),
    ("etc/machine-id", "00000000000000000000000000000001\n"),
    ("etc/hostname", "node\n"),
];

const FOLDERS: [&str; 12] = [
    "proc",
    "sys",
    "dev",
    "run",
    "tmp",
    "root",
    "mnt",
    "opt/lab",
    "srv",
    "var/lib/kubelet",
    "var/lib/nfs/v4recovery",
    "var/lib/samba/private",
];

/// What of this file goes into the image, for the key of the cache.
#[must_use]
pub fn recipe() -> String {
    format!("{SIZE} {UNUSED:?} {MODULES:?} {FILES:?} {FOLDERS:?}")
}

/// Unpacks every package into one tree with merged `/usr`.
///
/// # Errors
/// When a package cannot be unpacked.
pub async fn unpack(debs: &Path, root: &Path) -> Result<()> {
    for folder in ["bin", "sbin", "lib", "lib64"] {
        fs::create_dir_all(root.join("usr").join(folder))?;
        symlink(format!("usr/{folder}"), root.join(folder))?;
    }
    let mut files: Vec<_> = fs::read_dir(debs)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    files.sort();
    for file in files {
        let mut reader = command(&[Path::new("dpkg-deb"), Path::new("--fsys-tarfile"), &file])?
            .stdout(Stdio::piped())
            .spawn()
            .context("dpkg-deb cannot be run")?;
        let tar: Stdio = reader.stdout.take().context("dpkg-deb")?.try_into()?;
        let arguments = [
            "tar",
            "--extract",
            "--keep-directory-symlink",
            "--directory",
        ];
        let writer = command(&arguments)?.arg(root).stdin(tar).output().await?;
        if !writer.status.success() || !reader.wait().await?.success() {
            bail!(
                "{} cannot be unpacked: {}",
                file.display(),
                String::from_utf8_lossy(&writer.stderr)
            );
        }
    }
    Ok(())
}

/// The version of the one kernel in the tree.
///
/// # Errors
/// When there is none, or more than one.
pub fn kernel_version(root: &Path) -> Result<String> {
    let names: Vec<_> = fs::read_dir(root.join("lib/modules"))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    match names.as_slice() {
        [one] => Ok(one.clone()),
        other => bail!("one kernel was expected, not {other:?}"),
    }
}

/// Adds what the packages' scripts would have made.
///
/// # Errors
/// When a file cannot be written.
pub fn furnish(root: &Path) -> Result<()> {
    for folder in FOLDERS {
        fs::create_dir_all(root.join(folder))?;
    }
    for (path, text) in FILES {
        fs::write(root.join(path), text).with_context(|| path.to_owned())?;
    }
    let rules_file = root.join("etc/udev/rules.d/66-lab-azure.rules");
    fs::create_dir_all(rules_file.parent().unwrap_or(root))?;
    fs::write(rules_file, rules::text())?;
    let mtab = root.join("etc/mtab");
    if mtab.symlink_metadata().is_err() {
        symlink("/proc/self/mounts", mtab)?;
    }
    Ok(())
}

/// Removes what no machine needs.
///
/// # Errors
/// When a folder cannot be removed.
pub fn prune(root: &Path, version: &str) -> Result<()> {
    for folder in UNUSED {
        remove(&root.join(folder))?;
    }
    let kernel = root.join("lib/modules").join(version).join("kernel");
    keep_only(&kernel, "")
}

/// Removes all below `prefix` that is neither kept nor on the way to what is kept.
fn keep_only(kernel: &Path, prefix: &str) -> Result<()> {
    for entry in fs::read_dir(kernel.join(prefix))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() {
            name
        } else {
            format!("{prefix}/{name}")
        };
        if MODULES.contains(&path.as_str()) {
            continue;
        }
        if MODULES
            .iter()
            .any(|kept| kept.starts_with(&format!("{path}/")))
        {
            keep_only(kernel, &path)?;
        } else {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    let result = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| path.display().to_string())
        }
        _ => Ok(()),
    }
}

/// Makes a filesystem with the contents of a tree.
///
/// # Errors
/// When mke2fs does not.
pub async fn filesystem(root: &Path, to: &Path) -> Result<()> {
    let (root, to) = (root.display().to_string(), to.display().to_string());
    run(&[
        "mke2fs",
        "-q",
        "-t",
        "ext4",
        "-L",
        LABEL,
        "-m",
        "0",
        "-E",
        "root_owner=0:0",
        "-d",
        &root,
        &to,
        SIZE,
    ])
    .await
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wanted_modules_stay() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "fs/ext4/ext4.ko",
            "drivers/gpu/x.ko",
            "drivers/scsi/sd_mod.ko",
            "drivers/net/dummy.ko",
            "drivers/net/y.ko",
            "sound/s.ko",
        ] {
            let file = dir.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        keep_only(dir.path(), "").unwrap();
        let there = |path: &str| dir.path().join(path).exists();
        assert!(there("fs/ext4/ext4.ko") && there("drivers/scsi/sd_mod.ko"));
        assert!(there("drivers/net/dummy.ko"));
        assert!(!there("drivers/gpu") && !there("drivers/net/y.ko") && !there("sound"));
    }
}
