//! First stage, in the initial ramdisk: loads what the root disk needs and goes over to it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};

use super::{STAGE_ROOT, facts::Facts, say, tools};
use crate::wire::{LABEL, MODULES, RUN};

const ROOT: &str = "/newroot";

pub(super) fn run() -> Result<()> {
    tools::mount_virtual("proc", "/proc")?;
    tools::mount_virtual("sysfs", "/sys")?;
    tools::mount_virtual("devtmpfs", "/dev")?;
    if Facts::read()?.probe {
        say("probe passed");
        tools::power_off();
        return Ok(());
    }
    for path in tools::text(Path::new(MODULES)).unwrap_or_default().lines() {
        load(path)?;
    }
    let root = tools::wait_for("the root disk", find_root)?;
    fs::create_dir_all(ROOT)?;
    mount(
        Some(&root),
        ROOT,
        Some("ext4"),
        MsFlags::MS_NOATIME,
        Some("noinit_itable"),
    )
    .with_context(|| format!("mounting {}", root.display()))?;
    go_over()
}

fn load(path: &str) -> Result<()> {
    let file = File::open(path).with_context(|| path.to_owned())?;
    match finit_module(&file, c"", ModuleInitFlags::empty()) {
        Ok(()) | Err(nix::errno::Errno::EEXIST) => Ok(()),
        // A processor feature that is not there: the module has a general twin.
        Err(nix::errno::Errno::ENODEV) => Ok(()),
        Err(errno) => Err(errno).with_context(|| format!("loading {path}")),
    }
}

/// The disk whose ext4 label is that of the root filesystem.
fn find_root() -> Option<PathBuf> {
    tools::names(Path::new("/sys/class/block"))
        .into_iter()
        .map(|name| Path::new("/dev").join(name))
        .find(|path| label(path).is_some_and(|label| label == LABEL))
}

/// `s_volume_name`, 16 bytes at 0x78 of the superblock at 1024 (kernel: ext4 disk layout).
fn label(path: &Path) -> Option<String> {
    let mut name = [0; 16];
    File::open(path)
        .ok()?
        .read_exact_at(&mut name, 1024 + 0x78)
        .ok()?;
    let text = String::from_utf8_lossy(&name).into_owned();
    Some(text.trim_end_matches('\0').to_owned())
}

/// Makes the mounted disk the root and goes on there, with this same program.
fn go_over() -> Result<()> {
    let root = Path::new(ROOT);
    for folder in ["proc", "sys", "dev"] {
        let to = root.join(folder);
        fs::create_dir_all(&to)?;
        mount(
            Some(&Path::new("/").join(folder)),
            &to,
            None::<&str>,
            MsFlags::MS_MOVE,
            None::<&str>,
        )?;
    }
    let run = format!("{ROOT}/run");
    tools::mount_virtual("tmpfs", &run)?;
    let lab = format!("{ROOT}{RUN}");
    fs::create_dir_all(&lab)?;
    fs::copy("/init", format!("{lab}/guest"))?;
    std::env::set_current_dir(ROOT)?;
    mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>)?;
    nix::unistd::chroot(".")?;
    std::env::set_current_dir("/")?;
    let error = tools::command(&[format!("{RUN}/guest"), STAGE_ROOT.to_owned()])?.exec();
    Err(error).context("going over to the root filesystem")
}
