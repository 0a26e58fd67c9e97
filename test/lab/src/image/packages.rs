//! Which packages a machine is made of. They are downloaded, never installed.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use super::{rules, tree};
use crate::run::run;

/// Change it when the recipe changes in a way that the other inputs of the key do not show.
const RECIPE: &str = "1";

const PACKAGES: [&str; 21] = [
    "linux-image-amd64",
    "bash",
    "coreutils",
    "findutils",
    "grep",
    "sed",
    "util-linux",
    "mount",
    "kmod",
    "udev",
    "procps",
    "iproute2",
    "netbase",
    "e2fsprogs",
    "xfsprogs",
    "btrfs-progs",
    "cifs-utils",
    "keyutils",
    "nfs-common",
    "nfs-kernel-server",
    "samba",
];

/// The packages with all that they depend on, each with its version and hash.
#[derive(Clone, Debug)]
pub struct List {
    lines: Vec<String>,
}

/// Asks the package manager, as if nothing were installed.
///
/// # Errors
/// When it is not there, or does not know a package.
pub async fn resolve() -> Result<List> {
    let empty = tempfile::NamedTempFile::new()?;
    let mut argv = apt(empty.path());
    argv.push("--print-uris".to_owned());
    let text = run(&argv).await.context(
        "the packages of a machine cannot be found: the lab needs Debian or Ubuntu with fresh package lists (apt-get update)",
    )?;
    let text = String::from_utf8(text)?;
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| line.starts_with('\''))
        .map(str::to_owned)
        .collect();
    lines.sort();
    if lines.is_empty() {
        bail!("the package manager names no packages; run apt-get update first");
    }
    Ok(List { lines })
}

fn apt(status: &Path) -> Vec<String> {
    let mut argv: Vec<String> = [
        "apt-get",
        "install",
        "--yes",
        "-qq",
        "--no-install-recommends",
        "-o",
        "Debug::NoLocking=1",
        "-o",
    ]
    .map(str::to_owned)
    .to_vec();
    argv.push(format!("Dir::State::status={}", status.display()));
    argv.extend(PACKAGES.map(str::to_owned));
    argv
}

impl List {
    /// The name under which the finished image is cached.
    #[must_use]
    pub fn key(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(RECIPE);
        for line in &self.lines {
            // File name, size and checksum. Where it comes from does not matter.
            let facts: Vec<&str> = line.split(' ').skip(1).collect();
            hash.update(facts.join(" "));
            hash.update("\n");
        }
        hash.update(rules::text());
        hash.update(tree::recipe());
        let digits: Vec<String> = hash
            .finalize()
            .iter()
            .take(12)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        digits.concat()
    }

    /// Brings the packages to a folder.
    ///
    /// # Errors
    /// When one cannot be downloaded.
    pub async fn download(&self, to: &Path) -> Result<()> {
        fs::create_dir_all(to.join("partial"))?;
        let empty = tempfile::NamedTempFile::new()?;
        let mut argv = apt(empty.path());
        argv.push("--download-only".to_owned());
        argv.push("-o".to_owned());
        argv.push(format!("Dir::Cache::archives={}/", to.display()));
        run(&argv).await.context("downloading packages")?;
        let found = fs::read_dir(to)?
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "deb"))
            .count();
        if found < self.lines.len() {
            bail!("{found} of {} packages were downloaded", self.lines.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::List;

    fn list(lines: &[&str]) -> List {
        List {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    #[test]
    fn the_key_follows_contents_and_not_the_mirror() {
        let one = list(&["'http://a/x_1.deb' x_1.deb 5 MD5Sum:aa"]);
        let mirror = list(&["'http://b/x_1.deb' x_1.deb 5 MD5Sum:aa"]);
        let newer = list(&["'http://a/x_2.deb' x_2.deb 5 MD5Sum:bb"]);
        assert_eq!(one.key(), mirror.key());
        assert_ne!(one.key(), newer.key());
        assert_eq!(one.key().len(), 24);
    }
}
