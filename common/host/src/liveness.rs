//! Whether the server behind a mount still answers.
//!
//! A dead server may keep `stat(2)` and `statfs(2)` for ever, so both run in a bounded worker and
//! there is at most one stuck thread for a path. `statfs` is never answered from a cache of CIFS or
//! NFS, so it reaches the server; `stat` tells a stale handle.

use std::io;
use std::path::Path;
use std::time::Duration;

use nix::libc;

use crate::error::HostError;
use crate::worker::Workers;

/// What a mount did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It answered.
    Alive,
    /// The kernel says that it is dead, with this error number.
    Dead(i32),
    /// No answer in time, now or from an earlier question.
    Silent,
}

impl Liveness {
    /// Whether it answered.
    #[must_use]
    pub const fn is_alive(self) -> bool {
        matches!(self, Self::Alive)
    }
}

/// Asks. Clones share the set of paths where a question hangs.
#[derive(Clone, Debug, Default)]
pub struct LivenessProbe {
    workers: Workers,
}

impl LivenessProbe {
    /// Asks the mount at a path, and waits at most `wait`.
    pub async fn of(&self, path: &Path, wait: Duration) -> Liveness {
        let target = path.to_owned();
        let asked = self
            .workers
            .run("ask", path, wait, move || {
                let fail = |source| HostError::io("ask", &target, source);
                std::fs::metadata(&target).map_err(fail)?;
                let usage = nix::sys::statvfs::statvfs(&target);
                usage.map(drop).map_err(|errno| fail(errno.into()))
            })
            .await;
        judge(&asked)
    }
}

fn judge(asked: &Result<(), HostError>) -> Liveness {
    match asked {
        Ok(()) => Liveness::Alive,
        Err(HostError::Io { source, .. }) => of_error(source),
        Err(_) => Liveness::Silent,
    }
}

/// Which errors mean that the mount cannot be used any more. mount-utils calls such a mount
/// corrupted; a share that was deleted shows as missing.
fn of_error(error: &io::Error) -> Liveness {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    let dead = [
        libc::EACCES,
        libc::EAGAIN,
        libc::ECONNABORTED,
        libc::ECONNREFUSED,
        libc::ECONNRESET,
        libc::EHOSTDOWN,
        libc::EHOSTUNREACH,
        libc::EIO,
        libc::EKEYEXPIRED,
        libc::EKEYREJECTED,
        libc::EKEYREVOKED,
        libc::ENETUNREACH,
        libc::ENODEV,
        libc::ENOENT,
        libc::ENOKEY,
        libc::ENOTCONN,
        libc::ENXIO,
        libc::EPERM,
        libc::EREMOTEIO,
        libc::ESHUTDOWN,
        libc::ESTALE,
        libc::ETIMEDOUT,
    ];
    if dead.contains(&errno) {
        Liveness::Dead(errno)
    } else {
        // Anything else was said by something that works.
        Liveness::Alive
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;
    use std::time::Duration;

    use nix::libc;

    use super::{Liveness, LivenessProbe, judge, of_error};
    use crate::error::HostError;

    #[tokio::test]
    async fn a_folder_answers_and_what_is_missing_does_not() {
        let probe = LivenessProbe::default();
        let wait = Duration::from_secs(20);
        assert_eq!(probe.of(Path::new("/"), wait).await, Liveness::Alive);
        let missing = probe.of(Path::new("/no/such"), wait).await;
        assert_eq!(missing, Liveness::Dead(libc::ENOENT));
    }

    #[test]
    fn every_error_of_a_lost_server_is_known() {
        for errno in [
            libc::ESTALE,
            libc::ENOTCONN,
            libc::EIO,
            libc::EACCES,
            libc::EHOSTDOWN,
            libc::ENODEV,
            libc::EWOULDBLOCK,
            libc::ENOENT,
            libc::ENOKEY,
        ] {
            let error = io::Error::from_raw_os_error(errno);
            assert_eq!(of_error(&error), Liveness::Dead(errno), "{errno}");
        }
        let other = io::Error::from_raw_os_error(libc::EOVERFLOW);
        assert_eq!(of_error(&other), Liveness::Alive);
    }

    #[test]
    fn a_call_that_hangs_is_silence() {
        for hanging in [
            HostError::TimedOut {
                what: "x".to_owned(),
            },
            HostError::Hanging { path: "/x".into() },
        ] {
            assert_eq!(judge(&Err(hanging)), Liveness::Silent);
        }
    }
}
