//! One socket per node is more than the usual limit of open files allows for large worlds.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Allows this process as many open files as it may have at all.
pub fn raise_open_files() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard));
    if let Err(errno) = raised {
        tracing::debug!(%errno, "the limit of open files stays as it is");
    }
}
