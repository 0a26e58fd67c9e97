//! Programs of the host that are run to their end. Dropping the future kills the program.

use std::ffi::OsStr;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

/// A program of the host, in a process group of its own so that Ctrl-C reaches only the runner.
#[expect(
    clippy::disallowed_methods,
    reason = "a launcher of system tools; drivers spawn through azcsi-host"
)]
pub fn command<S: AsRef<OsStr>>(argv: &[S]) -> Result<Command> {
    let (program, arguments) = argv.split_first().context("no program")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env("LC_ALL", "C.UTF-8")
        .process_group(0)
        .kill_on_drop(true);
    azcsi_rig::process::ends_with_us(&mut command);
    Ok(command)
}

/// Standard output of a program that has to succeed.
///
/// # Errors
/// When it does not, with what it said.
pub async fn run<S: AsRef<OsStr>>(argv: &[S]) -> Result<Vec<u8>> {
    let name = argv.first().map(|name| name.as_ref().to_os_string());
    let name = name.unwrap_or_default().to_string_lossy().into_owned();
    let output = command(argv)?
        .output()
        .await
        .with_context(|| format!("{name} cannot be run"))?;
    if !output.status.success() {
        bail!(
            "{name}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(output.stdout)
}
