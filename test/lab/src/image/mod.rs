//! What a machine boots: the distribution's kernel, a small root filesystem from its packages, and
//! an initial ramdisk. Built once and cached under the hash of everything that goes in.
//!
//! | module | holds |
//! |---|---|
//! | [`packages`] | which packages, and how they come here |
//! | [`tree`] | from packages to a root filesystem |
//! | [`modules`] | which kernel modules the initial ramdisk needs |
//! | [`cpio`] | the archive of an initial ramdisk |
//! | [`rules`] | udev rules as on Azure |

pub mod cpio;
pub mod modules;
pub mod packages;
pub mod rules;
pub mod tree;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::run::run;

/// A finished image.
#[derive(Clone, Debug)]
pub struct Image {
    dir: PathBuf,
}

impl Image {
    /// The image for these sources; built when the cache does not have it.
    ///
    /// # Errors
    /// When a package or a tool is missing; says which.
    pub async fn open(cache: &Path) -> Result<Self> {
        let list = packages::resolve().await?;
        let dir = cache.join(list.key());
        if dir.is_dir() {
            return Ok(Self { dir });
        }
        let _turn = turn(cache).await?;
        if dir.is_dir() {
            return Ok(Self { dir });
        }
        remove_unfinished(cache)?;
        // Removed when anything fails, also on Ctrl-C; renamed when all is done.
        let work = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(cache)?;
        build(&list, work.path()).await?;
        let finished = work.path().join("finished");
        fs::rename(&finished, &dir).context("the finished image")?;
        Ok(Self { dir })
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> PathBuf {
        self.dir.join("vmlinuz")
    }

    /// The root filesystem; machines get a layer on top of it.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.dir.join("root.ext4")
    }

    /// Writes an initial ramdisk whose first process is `program`.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn ramdisk(&self, program: &Path, to: &Path) -> Result<()> {
        // The kernel unpacks archives that follow each other.
        let mut bytes = fs::read(self.dir.join("base.cpio"))?;
        let mut archive = cpio::Archive::default();
        archive.program("init", &fs::read(program)?);
        bytes.extend(archive.finish());
        fs::write(to, bytes).with_context(|| to.display().to_string())
    }
}

/// Start of the names of folders where an image is being built.
const UNFINISHED: &str = "building-";
/// Pause between two looks at another run's build.
const STEP: Duration = Duration::from_millis(200);

/// One run builds at a time, also because two would fetch everything twice. The lock is free as soon
/// as its run has ended, however that ended.
async fn turn(cache: &Path) -> Result<File> {
    fs::create_dir_all(cache).with_context(|| cache.display().to_string())?;
    let lock = File::create(cache.join("building.lock"))?;
    while lock.try_lock().is_err() {
        tokio::time::sleep(STEP).await;
    }
    Ok(lock)
}

/// What a killed run left of its build. The caller has the turn, so nobody uses it.
fn remove_unfinished(cache: &Path) -> Result<()> {
    for entry in fs::read_dir(cache)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) && entry.path().is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

async fn build(list: &packages::List, work: &Path) -> Result<()> {
    let finished = work.join("finished");
    fs::create_dir_all(&finished)?;
    let debs = work.join("packages");
    list.download(&debs).await?;
    let root = work.join("root");
    tree::unpack(&debs, &root).await?;
    let version = tree::kernel_version(&root)?;
    run(&["depmod", "-b", &root.display().to_string(), &version]).await?;
    fs::copy(
        root.join("boot").join(format!("vmlinuz-{version}")),
        finished.join("vmlinuz"),
    )?;
    fs::write(
        finished.join("base.cpio"),
        modules::ramdisk(&root, &version)?,
    )?;
    tree::furnish(&root)?;
    tree::prune(&root, &version)?;
    tree::filesystem(&root, &finished.join("root.ext4")).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_killed_build_left_goes_and_finished_images_stay() {
        let cache = tempfile::tempdir().unwrap();
        for name in ["building-x/packages", "0123abcd", "run-y"] {
            fs::create_dir_all(cache.path().join(name)).unwrap();
        }
        let turn = turn(cache.path()).await.unwrap();
        let other = File::open(cache.path().join("building.lock")).unwrap();
        assert!(other.try_lock().is_err(), "two builds at once");
        remove_unfinished(cache.path()).unwrap();
        drop(turn);
        other.try_lock().unwrap();
        let there = |name: &str| cache.path().join(name).exists();
        assert!(!there("building-x") && there("0123abcd") && there("run-y"));
    }
}
