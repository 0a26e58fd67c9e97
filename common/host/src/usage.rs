//! How full a filesystem is, and how large a device.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::statvfs::statvfs;

use crate::error::HostError;
use crate::worker::Workers;

/// Longest wait for an answer of the kernel.
const WAIT: Duration = Duration::from_secs(10);

/// Space and inodes of a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes: all.
    pub bytes: u64,
    /// Bytes that an ordinary user may still write.
    pub bytes_available: u64,
    /// Bytes in use.
    pub bytes_used: u64,
    /// Inodes: all; 0 on btrfs, which has no fixed number.
    pub inodes: u64,
    /// Inodes that are free.
    pub inodes_free: u64,
}

/// Asks for usage. A path whose device hangs costs one thread, not one for each question.
#[derive(Clone, Debug, Default)]
pub struct UsageProbe {
    workers: Workers,
}

impl UsageProbe {
    /// The usage of the filesystem at a path.
    ///
    /// # Errors
    /// The kernel's reason, or that it has not answered within 10 seconds.
    pub async fn of(&self, path: &Path) -> Result<Usage, HostError> {
        let target: PathBuf = path.to_owned();
        self.workers
            .run("ask for the usage of", path, WAIT, move || {
                let stat = statvfs(&target).map_err(|errno| {
                    HostError::io("ask for the usage of", &target, errno.into())
                })?;
                let unit = stat.fragment_size();
                Ok(Usage {
                    bytes: stat.blocks().saturating_mul(unit),
                    bytes_available: stat.blocks_available().saturating_mul(unit),
                    bytes_used: stat
                        .blocks()
                        .saturating_sub(stat.blocks_free())
                        .saturating_mul(unit),
                    inodes: stat.files(),
                    inodes_free: stat.files_free(),
                })
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::UsageProbe;

    #[tokio::test]
    async fn the_parts_add_up() {
        let usage = UsageProbe::default().of(Path::new("/")).await.unwrap();
        assert!(usage.bytes > 0);
        assert!(usage.bytes_used + usage.bytes_available <= usage.bytes);
        assert!(
            UsageProbe::default()
                .of(Path::new("/no/such"))
                .await
                .is_err()
        );
    }
}
