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

use std::fs;
use std::path::{Path, PathBuf};

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
        fs::create_dir_all(cache).with_context(|| cache.display().to_string())?;
        // Removed when anything fails, also on Ctrl-C; renamed when all is done.
        let work = tempfile::Builder::new()
            .prefix("building-")
            .tempdir_in(cache)?;
        build(&list, work.path()).await?;
        let finished = work.path().join("finished");
        match fs::rename(&finished, &dir) {
            // Another run was faster.
            Err(_) if dir.is_dir() => {}
            renamed => renamed.context("the finished image")?,
        }
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
