//! The only place that starts a program.
//!
//! A program gets its arguments one by one (no shell), a closed standard input, the C locale and an
//! otherwise empty environment, and a process group of its own. What it prints is kept up to a
//! bound. It belongs to the host, not to the call: a call that is dropped leaves it running, and it
//! is killed with its group at its deadline or when the last clone of [`Exec`] goes away.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::fault::{Fault, Faulty};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much of each output stream is kept, in bytes.
pub const OUTPUT_LIMIT: usize = 64 * 1024;

/// Where tools are looked for; also the `PATH` that they get.
pub const TOOL_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What a program left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub exit: Exit,
    /// What it printed, up to [`OUTPUT_LIMIT`].
    pub stdout: String,
    /// What it complained about, up to [`OUTPUT_LIMIT`].
    pub stderr: String,
}

impl Output {
    /// Whether it ended with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.exit == Exit::Code(0)
    }

    /// What it said last, for an error message: the complaint, else the output, on one line.
    #[must_use]
    pub fn said(&self) -> String {
        let text = if self.stderr.trim().is_empty() {
            &self.stdout
        } else {
            &self.stderr
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let line = words.join(" ");
        let skip = line.chars().count().saturating_sub(400);
        line.chars().skip(skip).collect()
    }
}

/// Why a program gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// It could not be started.
    #[error("cannot start '{program}'")]
    Start {
        /// Its name.
        program: String,
        /// The reason.
        source: std::io::Error,
    },
    /// It was killed at its deadline.
    #[error("'{program}' was stopped because its time ran out")]
    TimedOut {
        /// Its name.
        program: String,
    },
    /// Its end could not be observed.
    #[error("'{program}' ended without a result")]
    Lost {
        /// Its name.
        program: String,
    },
}

impl Faulty for ExecError {
    fn fault(&self) -> Fault {
        match self {
            Self::Start { .. } => Fault::Internal,
            Self::TimedOut { .. } | Self::Lost { .. } => Fault::Unavailable,
        }
    }
}

#[derive(Debug, Default)]
struct Groups(Mutex<BTreeSet<i32>>);

impl Groups {
    fn enter(&self, group: i32) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(group);
    }

    fn leave(&self, group: i32) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&group);
    }
}

#[derive(Debug)]
struct Owner(Arc<Groups>);

impl Drop for Owner {
    fn drop(&mut self) {
        let groups = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        for &group in groups.iter() {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

/// Starts programs. Clones share the programs that run.
#[derive(Clone, Debug)]
pub struct Exec {
    clock: Arc<dyn Clock>,
    owner: Arc<Owner>,
}

impl Exec {
    /// A host that has started nothing.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            owner: Arc::new(Owner(Arc::default())),
        }
    }

    /// Runs a program to its end, or until `deadline`.
    ///
    /// # Errors
    /// When it cannot be started, or did not end in time. How it ended is not an error.
    pub async fn run(
        &self,
        program: &Path,
        args: &[OsString],
        deadline: Deadline,
    ) -> Result<Output, ExecError> {
        self.run_with(program, args, None, deadline).await
    }

    /// The same, with one more variable in the environment.
    ///
    /// # Errors
    /// As [`Exec::run`].
    pub async fn run_with(
        &self,
        program: &Path,
        args: &[OsString],
        variable: Option<(&str, &OsStr)>,
        deadline: Deadline,
    ) -> Result<Output, ExecError> {
        let name = program.display().to_string();
        let child = spawn(program, args, variable).map_err(|source| ExecError::Start {
            program: name.clone(),
            source,
        })?;
        let groups = Arc::clone(&self.owner.0);
        let left = deadline.remaining(&*self.clock);
        let task = tokio::spawn(watch(child, groups, left));
        match task.await {
            Ok(Ok(Some(output))) => Ok(output),
            Ok(Ok(None)) => Err(ExecError::TimedOut { program: name }),
            Ok(Err(_)) | Err(_) => Err(ExecError::Lost { program: name }),
        }
    }

    /// How many programs are running.
    #[must_use]
    pub fn running(&self) -> usize {
        self.owner
            .0
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the only file that starts programs"
)]
fn spawn(
    program: &Path,
    args: &[OsString],
    variable: Option<(&str, &OsStr)>,
) -> std::io::Result<tokio::process::Child> {
    tokio::process::Command::new(program)
        .args(args)
        .env_clear()
        .envs(variable)
        .env("LC_ALL", "C")
        .env("PATH", TOOL_PATH)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(false)
        .spawn()
}

async fn watch(
    mut child: tokio::process::Child,
    groups: Arc<Groups>,
    left: std::time::Duration,
) -> std::io::Result<Option<Output>> {
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(group) = group {
        groups.enter(group);
    }
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let all = async {
        let (stdout, stderr, status) = tokio::join!(capture(stdout), capture(stderr), child.wait());
        status.map(|status| Output {
            exit: exit_of(status),
            stdout,
            stderr,
        })
    };
    let result = tokio::time::timeout(left, all).await;
    let timed_out = result.is_err();
    if timed_out {
        if let Some(group) = group {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = child.wait().await;
    }
    if let Some(group) = group {
        groups.leave(group);
    }
    result.map_or(Ok(None), |output| output.map(Some))
}

fn exit_of(status: ExitStatus) -> Exit {
    status
        .code()
        .map_or_else(|| Exit::Signal(status.signal().unwrap_or(0)), Exit::Code)
}

/// Reads a stream to its end, so that the program never blocks, and keeps its last bytes: that is
/// where a tool says what failed.
async fn capture(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else {
        return String::new();
    };
    let mut kept: Vec<u8> = Vec::new();
    let mut buffer = vec![0; 8192];
    while let Ok(count) = stream.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > OUTPUT_LIMIT {
            kept.drain(..kept.len() - OUTPUT_LIMIT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests;
