//! Small acts that several parts of the guest program need.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};

/// Steps of a wait.
const STEP: Duration = Duration::from_millis(20);

/// Runs a program to its end.
pub(super) fn run(argv: &[&str]) -> Result<()> {
    let output = command(argv)?
        .output()
        .with_context(|| format!("{argv:?}"))?;
    if !output.status.success() {
        bail!(
            "{argv:?}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// A program with its arguments.
#[expect(
    clippy::disallowed_methods,
    reason = "a launcher inside a test machine; drivers spawn through azcsi-host"
)]
pub(super) fn command<S: AsRef<std::ffi::OsStr>>(argv: &[S]) -> Result<Command> {
    let (program, arguments) = argv.split_first().context("no program")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .env("LC_ALL", "C.UTF-8");
    Ok(command)
}

/// Mounts a filesystem without a device.
pub(super) fn mount_virtual(kind: &str, at: &str) -> Result<()> {
    fs::create_dir_all(at).with_context(|| at.to_owned())?;
    mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
        .with_context(|| format!("mounting {kind} at {at}"))
}

/// Shows a folder or file at a second place.
pub(super) fn bind(from: &Path, to: &Path) -> Result<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("showing {} at {}", from.display(), to.display()))
}

/// Writes an attribute of sysfs, configfs or procfs.
pub(super) fn set(path: &Path, value: &str) -> Result<()> {
    fs::write(path, value).with_context(|| format!("writing '{value}' to {}", path.display()))
}

/// The trimmed text of a small file.
pub(super) fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

/// The names in a folder, sorted; none when it is not there.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Lets a little time pass between two looks.
pub(super) fn pause() {
    let never = Mutex::new(());
    let guard = never.lock().unwrap_or_else(PoisonError::into_inner);
    // Nobody notifies: the wait ends by time.
    let _ = Condvar::new().wait_timeout(guard, STEP);
}

/// Looks until there is something, about a minute long.
pub(super) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T> {
    for _ in 0..3000 {
        if let Some(found) = look() {
            return Ok(found);
        }
        pause();
    }
    bail!("{what} did not come")
}

/// Ends the machine.
pub(super) fn power_off() {
    nix::unistd::sync();
    // It does not return when it works, and there is nothing to do when it does not.
    let _ = reboot(RebootMode::RB_POWER_OFF);
}
