//! Making a filesystem. Whether one may be made is not decided here.

use std::ffi::OsString;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;
use tokio::sync::Semaphore;

use crate::exec::{Exec, ExecError, Exit};
use crate::probe::FsKind;
use crate::tools::Tools;

/// Version of the running kernel, as far as it matters for what it can mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel(pub u32, pub u32);

impl Kernel {
    /// The kernel of this machine; the oldest one that counts when it cannot be told.
    #[must_use]
    pub fn running() -> Self {
        nix::sys::utsname::uname()
            .ok()
            .and_then(|name| Self::parse(&name.release().to_string_lossy()))
            .unwrap_or(Self(0, 0))
    }

    /// From a text such as `5.15.0-1041-azure`.
    #[must_use]
    pub fn parse(release: &str) -> Option<Self> {
        let mut parts = release.split(|c: char| !c.is_ascii_digit());
        Some(Self(
            parts.next()?.parse().ok()?,
            parts.next()?.parse().ok()?,
        ))
    }
}

/// What may be on the device already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Nothing: the tool's own check for known content stays on.
    Nothing,
    /// An unfinished filesystem that this driver began on the same disk.
    Unfinished,
}

/// Why there is no new filesystem.
#[derive(Debug, thiserror::Error)]
pub enum MkfsError {
    /// The tool is not on this node.
    #[error("mkfs.{0} is not installed on this node")]
    Missing(FsKind),
    /// The tool gave no result.
    #[error("making the {kind} filesystem did not end")]
    Exec {
        /// Which.
        kind: FsKind,
        /// Why.
        source: ExecError,
    },
    /// The tool failed.
    #[error("mkfs.{kind} ended with {exit:?}: {said}")]
    Failed {
        /// Which.
        kind: FsKind,
        /// How it ended.
        exit: Exit,
        /// What it said.
        said: String,
    },
}

impl Faulty for MkfsError {
    fn fault(&self) -> Fault {
        match self {
            Self::Missing(_) => Fault::Internal,
            Self::Failed {
                exit: Exit::Signal(_),
                ..
            } => Fault::Unavailable,
            Self::Failed { .. } => Fault::Internal,
            Self::Exec { source, .. } => source.fault(),
        }
    }
}

/// The arguments for a new filesystem.
///
/// Fresh disks read as zeros, so nothing is discarded and ext4 fills its tables later. Features that
/// the running kernel cannot mount are left out: the tools of an image are often newer than the
/// kernel of a node.
fn arguments(kind: FsKind, overwrite: Overwrite, kernel: Kernel) -> Vec<&'static str> {
    let mut args = match kind {
        FsKind::Ext2 => vec!["-q", "-m0", "-E", "nodiscard"],
        FsKind::Ext3 | FsKind::Ext4 => vec![
            "-q",
            "-m0",
            "-E",
            "nodiscard,lazy_itable_init=1,lazy_journal_init=1",
        ],
        FsKind::Xfs => vec!["-q", "-K"],
        FsKind::Btrfs => vec!["-q", "-K"],
    };
    if kind == FsKind::Ext4 && kernel < Kernel(5, 15) {
        args.extend(["-O", "^orphan_file"]);
    }
    if kind == FsKind::Xfs && kernel < Kernel(5, 10) {
        args.extend(["-m", "bigtime=0,inobtcount=0"]);
    }
    if kind == FsKind::Xfs && kernel < Kernel(5, 19) {
        args.extend(["-i", "nrext64=0"]);
    }
    if overwrite == Overwrite::Unfinished && matches!(kind, FsKind::Xfs | FsKind::Btrfs) {
        args.push("-f");
    }
    args
}

/// Makes filesystems.
#[derive(Clone, Debug)]
pub struct Mkfs {
    exec: Exec,
    tools: Tools,
    kernel: Kernel,
    slots: Arc<Semaphore>,
    patience: Duration,
}

/// How many filesystems are made at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// So many; at least 1.
    pub at_once: usize,
    /// After this time a tool that still runs no longer counts, so that others can begin.
    pub patience: Duration,
}

impl Mkfs {
    /// With the given tools, and not too many at the same time.
    #[must_use]
    pub fn new(exec: Exec, tools: Tools, slots: Slots) -> Self {
        Self {
            exec,
            tools,
            kernel: Kernel::running(),
            slots: Arc::new(Semaphore::new(slots.at_once.max(1))),
            patience: slots.patience,
        }
    }

    /// Makes a filesystem on a device.
    ///
    /// # Errors
    /// When there is none afterwards, or it is not known.
    pub async fn make(
        &self,
        op: &Op,
        kind: FsKind,
        device: &Path,
        overwrite: Overwrite,
    ) -> Result<(), MkfsError> {
        let tool = self
            .tools
            .path(&format!("mkfs.{kind}"))
            .ok_or(MkfsError::Missing(kind))?;
        let mut args: Vec<OsString> = arguments(kind, overwrite, self.kernel)
            .into_iter()
            .map(OsString::from)
            .collect();
        args.push(device.into());
        let output = in_slot(&self.slots, self.patience, async {
            self.exec.run(tool, &args, op.deadline()).await
        });
        let output = output
            .await
            .map_err(|source| MkfsError::Exec { kind, source })?;
        if output.is_success() {
            Ok(())
        } else {
            Err(MkfsError::Failed {
                kind,
                exit: output.exit,
                said: output.said(),
            })
        }
    }
}

/// Waits for a place, and works in it. What takes longer than `patience` gives its place back and
/// goes on without one: a large disk must not keep all others waiting.
async fn in_slot<T>(slots: &Semaphore, patience: Duration, work: impl Future<Output = T>) -> T {
    // The semaphore is never closed; without a place the work is done all the same.
    let place = slots.acquire().await;
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = tokio::time::sleep(patience) => {}
    }
    drop(place);
    work.await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::Semaphore;
    use tokio::time::{Instant, sleep};

    use super::{FsKind, Kernel, Overwrite, arguments, in_slot};

    #[tokio::test(start_paused = true)]
    async fn a_slow_one_gives_its_place_back_and_goes_on() {
        let slots = Semaphore::new(1);
        let begin = Instant::now();
        let seconds = Duration::from_secs;
        let made = |takes: u64| {
            let slots = &slots;
            async move {
                let work = async { sleep(seconds(takes)).await };
                in_slot(slots, seconds(300), work).await;
                begin.elapsed()
            }
        };
        let (slow, next, last) = tokio::join!(made(1000), made(10), made(10));
        assert_eq!(next.as_secs(), 310, "one after the other while it counts");
        assert_eq!(last.as_secs(), 320);
        assert_eq!(slow.as_secs(), 1000, "and it is not cut off");
    }

    #[test]
    fn an_old_kernel_gets_no_feature_that_it_cannot_mount_nd_07() {
        let args = |kind, kernel| arguments(kind, Overwrite::Nothing, kernel).join(" ");
        assert!(args(FsKind::Ext4, Kernel(5, 4)).contains("^orphan_file"));
        assert!(!args(FsKind::Ext4, Kernel(5, 15)).contains("orphan_file"));
        assert!(args(FsKind::Xfs, Kernel(5, 4)).contains("bigtime=0"));
        assert!(args(FsKind::Xfs, Kernel(5, 15)).ends_with("nrext64=0"));
        assert_eq!(args(FsKind::Xfs, Kernel(6, 1)), "-q -K");
    }

    #[test]
    fn nothing_is_forced_but_a_redo() {
        for kind in FsKind::ALL {
            let args = arguments(kind, Overwrite::Nothing, Kernel(6, 1));
            assert!(!args.contains(&"-f") && !args.contains(&"-F"), "{kind}");
        }
        assert!(arguments(FsKind::Xfs, Overwrite::Unfinished, Kernel(6, 1)).contains(&"-f"));
    }

    #[test]
    fn kernel_releases_are_read() {
        assert_eq!(Kernel::parse("5.15.0-1041-azure"), Some(Kernel(5, 15)));
        assert_eq!(Kernel::parse("6.1.0"), Some(Kernel(6, 1)));
        assert_eq!(Kernel::parse("x"), None);
    }
}
