//! Where the kernel's trees are. Tests and the simulator's loop link put them elsewhere.

use std::path::PathBuf;

/// The three trees that everything here reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// sysfs.
    pub sys: PathBuf,
    /// Device nodes and the links that udev makes.
    pub dev: PathBuf,
    /// procfs.
    pub proc: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            sys: "/sys".into(),
            dev: "/dev".into(),
            proc: "/proc".into(),
        }
    }
}
