//! Programs that are run to their end.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::io::AsyncWriteExt as _;

/// Runs a program and gives what it printed.
///
/// # Errors
/// If it does not start, or ends with an error; with what it said.
pub(crate) async fn run(program: &Path, args: &[&str], input: &str) -> Result<String> {
    let shown = || format!("{} {}", program.display(), args.join(" "));
    #[expect(clippy::disallowed_methods, reason = "a launcher of programs")]
    let mut child = tokio::process::Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .with_context(shown)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read its input says so itself.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let output = child.wait_with_output().await.with_context(shown)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}", shown(), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
