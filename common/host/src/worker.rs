//! Calls that may hang in the kernel.
//!
//! `umount`, `statfs` and `stat` on a dead device may never return, and a thread that hangs there
//! cannot be killed. So each runs in a thread of its own, the wait is bounded, and a second call for
//! the same path is refused while the first one hangs: there is never more than one stuck thread
//! for a path.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::HostError;

/// Runs such calls. Clones share the set of paths that are busy.
#[derive(Clone, Debug, Default)]
pub struct Workers {
    busy: Arc<Mutex<HashSet<PathBuf>>>,
}

struct Busy {
    set: Arc<Mutex<HashSet<PathBuf>>>,
    path: PathBuf,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.set
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.path);
    }
}

impl Workers {
    /// Runs `call` in a thread and waits at most `wait` for it.
    ///
    /// # Errors
    /// [`HostError::Hanging`] while an earlier call for `path` has not ended, [`HostError::TimedOut`]
    /// when this one takes too long, or the error of the call.
    pub async fn run<T, F>(
        &self,
        what: &'static str,
        path: &Path,
        wait: Duration,
        call: F,
    ) -> Result<T, HostError>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, HostError> + Send + 'static,
    {
        let busy = self.enter(path)?;
        let (answer, waiting) = tokio::sync::oneshot::channel();
        std::thread::Builder::new()
            .name("host-call".to_owned())
            .spawn(move || {
                let result = call();
                drop(busy);
                let _ = answer.send(result);
            })
            .map_err(|source| HostError::io(what, path, source))?;
        match tokio::time::timeout(wait, waiting).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(HostError::Lost {
                what: format!("{what} '{}'", path.display()),
            }),
            Err(_) => Err(HostError::TimedOut {
                what: format!("{what} '{}'", path.display()),
            }),
        }
    }

    /// Whether a call for `path` hangs.
    #[must_use]
    pub fn is_busy(&self, path: &Path) -> bool {
        self.busy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(path)
    }

    fn enter(&self, path: &Path) -> Result<Busy, HostError> {
        let new = self
            .busy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned());
        if new {
            Ok(Busy {
                set: Arc::clone(&self.busy),
                path: path.to_owned(),
            })
        } else {
            Err(HostError::Hanging {
                path: path.to_owned(),
            })
        }
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    //! The clock of tests that run real programs.

    use std::time::{Duration, SystemTime};

    /// Follows the runtime's clock.
    #[derive(Debug)]
    pub(crate) struct RealClock(tokio::time::Instant);

    impl Default for RealClock {
        fn default() -> Self {
            Self(tokio::time::Instant::now())
        }
    }

    impl azcsi_types::clock::Clock for RealClock {
        fn now(&self) -> Duration {
            self.0.elapsed()
        }

        fn wall(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH + self.0.elapsed()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::Workers;
    use crate::error::HostError;

    #[tokio::test]
    async fn a_hanging_call_blocks_only_its_own_path() {
        let workers = Workers::default();
        let (release, hold) = mpsc::channel::<()>();
        let hung = Path::new("/hung");
        let stuck = workers
            .run("statfs", hung, Duration::ZERO, move || {
                let _ = hold.recv();
                Ok(())
            })
            .await;
        assert!(matches!(stuck, Err(HostError::TimedOut { .. })));
        let again = workers
            .run("statfs", hung, Duration::from_secs(1), || Ok(()))
            .await;
        assert!(matches!(again, Err(HostError::Hanging { .. })));
        assert!(workers.is_busy(hung));
        release.send(()).unwrap();
        while workers.is_busy(hung) {
            tokio::task::yield_now().await;
        }
    }
}
