//! Child processes: the simulator and the drivers. Each is stopped by its own id, also when
//! the program is interrupted.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};

/// How long a process may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether loop devices and mounts are allowed.
#[must_use]
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Has the kernel send SIGTERM to the child when the thread that starts it ends, however it ends: a
/// program that is killed leaves no simulator, driver or machine behind. To be started from a thread
/// that lasts.
#[expect(unsafe_code, reason = "a step between fork and exec")]
pub fn ends_with_us(command: &mut Command) {
    let us = nix::unistd::getpid();
    let step = move || {
        nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
        // Killed before the line above: nobody will tell.
        if nix::unistd::getppid() != us {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        Ok(())
    };
    // SAFETY: two system calls, and no memory is taken.
    unsafe { command.pre_exec(step) };
}

/// A process that this program started.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program with its log in a file of its own.
    #[expect(
        clippy::disallowed_methods,
        reason = "a launcher of binaries; drivers spawn through azcsi-host"
    )]
    pub fn start(name: &str, program: &Path, args: &[String], log_dir: &Path) -> Result<Self> {
        let log = log_dir.join(format!("{name}.log"));
        let file = std::fs::File::create(&log).with_context(|| format!("log {}", log.display()))?;
        let mut command = Command::new(program);
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            // Ctrl-C reaches this program only; it then ends the others in order.
            .process_group(0)
            .kill_on_drop(true);
        ends_with_us(&mut command);
        let child = command
            .spawn()
            .with_context(|| format!("starting {} ({})", name, program.display()))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log,
        })
    }

    /// What it wrote to standard output up to the end of one JSON object.
    pub async fn first_json(&mut self) -> Result<serde_json::Value> {
        let out: ChildStdout = self.child.stdout.take().context("output already taken")?;
        let mut lines = BufReader::new(out).lines();
        let mut text = String::new();
        while let Some(line) = lines.next_line().await? {
            text.push_str(&line);
            text.push('\n');
            if let Ok(value) = serde_json::from_str(&text) {
                // Keeps the pipe open, so that the process never meets a closed one.
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Ok(value);
            }
        }
        bail!("{} ended before it served: {}", self.name, self.tail())
    }

    /// Whether it is still there; the end of its log if not.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended ({status}): {}", self.name, self.tail()),
        }
    }

    fn tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
    }

    /// Its process id; `None` once it has ended.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    fn pid(&self) -> Option<Pid> {
        self.child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .map(Pid::from_raw)
    }

    /// SIGTERM, then waits; SIGKILL for one that does not end.
    pub async fn stop(mut self) -> Result<()> {
        if let Some(pid) = self.pid() {
            let _ = kill(pid, Signal::SIGTERM);
        }
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(status) => {
                status?;
                Ok(())
            }
            Err(_) => {
                self.child.kill().await?;
                bail!(
                    "{} did not end within {PATIENCE:?} of SIGTERM and was killed",
                    self.name
                )
            }
        }
    }

    /// SIGKILL at once: what a power cut does to a process.
    pub async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}
