//! Checking a filesystem before it is mounted.
//!
//! Only ext2/3/4 are checked, with `e2fsck -p`, which repairs what is safe. A filesystem that was
//! left clean is not checked: on a disk of 30 TiB that takes hours, and the mount replays the
//! journal by itself. xfs and btrfs check themselves at the mount; their repair tools are never run.
//!
//! A check keeps tables that grow with the number of directories and inodes. For a very large
//! filesystem they are kept in files, because a check that is killed for its memory would only be
//! started anew, and killed again.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use azcsi_types::clock::Deadline;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;
use tokio::sync::Semaphore;

use crate::error::HostError;
use crate::exec::{Exec, ExecError, Exit};
use crate::probe::ExtState;
use crate::tools::Tools;

/// Most checks that run at once on a node: each may take much memory.
const AT_ONCE: usize = 4;
/// From this number of directories on, tables are kept in files (`e2fsck.conf(5)`). Below it they
/// take some tens of MiB.
pub const DIRECTORIES_IN_MEMORY: u64 = 500_000;
/// Names the configuration of e2fsck.
const CONFIGURATION: &str = "E2FSCK_CONFIG";

/// When to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FsckPolicy {
    /// When the filesystem says that it needs it.
    #[default]
    Auto,
    /// Before every mount.
    Always,
    /// Never.
    Never,
}

/// Whether a check is needed, by policy and by what the superblock says.
#[must_use]
pub const fn is_needed(policy: FsckPolicy, state: ExtState) -> bool {
    match policy {
        FsckPolicy::Always => true,
        FsckPolicy::Never => false,
        // With a journal to replay the filesystem is consistent after the mount.
        FsckPolicy::Auto => state.has_errors || (!state.is_clean && !state.needs_replay),
    }
}

/// Why a filesystem may not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum FsckError {
    /// The tool is not on this node.
    #[error("e2fsck is not installed on this node")]
    Missing,
    /// The tool gave no result.
    #[error("the check of the filesystem did not end")]
    Exec(#[source] ExecError),
    /// The tool found what it may not repair by itself, or failed.
    #[error("the filesystem needs repair by hand (e2fsck ended with {exit:?}): {said}")]
    Failed {
        /// How it ended.
        exit: Exit,
        /// What it said.
        said: String,
    },
}

impl Faulty for FsckError {
    fn fault(&self) -> Fault {
        match self {
            Self::Missing | Self::Failed { .. } => Fault::Internal,
            Self::Exec(error) => error.fault(),
        }
    }
}

/// What the exit of `e2fsck -p` means (`e2fsck(8)`): bits 0 and 1 are repairs that were made.
const fn is_good(exit: Exit) -> bool {
    matches!(exit, Exit::Code(0..=3))
}

/// Runs checks.
#[derive(Clone, Debug)]
pub struct Fsck {
    exec: Exec,
    tools: Tools,
    slots: Arc<Semaphore>,
    configuration: Option<PathBuf>,
}

impl Fsck {
    /// With the given tools.
    #[must_use]
    pub fn new(exec: Exec, tools: Tools) -> Self {
        Self {
            exec,
            tools,
            slots: Arc::new(Semaphore::new(AT_ONCE)),
            configuration: None,
        }
    }

    /// The same, with a folder of its own for the tables of filesystems of at least so many
    /// directories. What an earlier check left there is removed.
    ///
    /// # Errors
    /// When the folder cannot be made or written.
    pub fn with_scratch(self, folder: &Path, directories: u64) -> Result<Self, HostError> {
        let fail = |source| HostError::io("make the folder", folder, source);
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(folder).map_err(fail)?;
        let file = folder.join("e2fsck.conf");
        let text = format!(
            "[scratch_files]\n  directory = \"{}\"\n  numdirs_threshold = {directories}\n",
            folder.display()
        );
        fs::write(&file, text).map_err(|source| HostError::io("write", &file, source))?;
        Ok(Self {
            configuration: Some(file),
            ..self
        })
    }

    /// Checks and repairs an ext filesystem. It has no deadline: stopping it would only lose what it
    /// has done, and the next call waits for the device instead.
    ///
    /// # Errors
    /// When the filesystem must not be mounted.
    pub async fn preen(&self, op: &Op, device: &Path) -> Result<(), FsckError> {
        self.run(op, device, &["-p"]).await
    }

    /// The same, also when the filesystem says that it is clean: what `resize2fs` demands of a
    /// filesystem that is not mounted.
    ///
    /// # Errors
    /// When the filesystem must not be mounted.
    pub async fn preen_fully(&self, op: &Op, device: &Path) -> Result<(), FsckError> {
        self.run(op, device, &["-p", "-f"]).await
    }

    async fn run(&self, _op: &Op, device: &Path, options: &[&str]) -> Result<(), FsckError> {
        let tool = self.tools.path("e2fsck").ok_or(FsckError::Missing)?;
        let _slot = self.slots.acquire().await;
        let mut args: Vec<OsString> = options.iter().map(OsString::from).collect();
        args.push(device.into());
        let variable = self.configuration.as_deref();
        let variable = variable.map(|file| (CONFIGURATION, file.as_os_str()));
        let output = self
            .exec
            .run_with(tool, &args, variable, Deadline::NEVER)
            .await
            .map_err(FsckError::Exec)?;
        if is_good(output.exit) {
            Ok(())
        } else {
            Err(FsckError::Failed {
                exit: output.exit,
                said: output.said(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exit, ExtState, FsckPolicy, is_good, is_needed};

    #[test]
    fn a_clean_filesystem_is_not_checked_unless_asked() {
        let state = |is_clean, has_errors, needs_replay| ExtState {
            is_clean,
            has_errors,
            needs_replay,
        };
        for (policy, state, needed) in [
            (FsckPolicy::Auto, state(true, false, false), false),
            (FsckPolicy::Auto, state(true, false, true), false),
            (FsckPolicy::Auto, state(false, false, true), false),
            (FsckPolicy::Auto, state(false, false, false), true),
            (FsckPolicy::Auto, state(true, true, false), true),
            (FsckPolicy::Always, state(true, false, false), true),
            (FsckPolicy::Never, state(false, true, false), false),
        ] {
            assert_eq!(is_needed(policy, state), needed, "{policy:?} {state:?}");
        }
    }

    #[test]
    fn only_finished_repairs_count_as_good() {
        for code in 0..=3 {
            assert!(is_good(Exit::Code(code)));
        }
        for exit in [4, 8, 12, 16, 32, 128].map(Exit::Code) {
            assert!(!is_good(exit));
        }
        assert!(!is_good(Exit::Signal(9)));
    }
}
