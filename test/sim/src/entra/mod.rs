//! The authority that gives tokens: Entra's endpoints for client credentials.
//!
//! | file | holds |
//! |---|---|
//! | [`directory`] | applications; checks of secrets, certificate assertions and federated tokens |
//! | [`jwt`] | tokens that others sign |
//! | [`tokens`] | tokens that this simulator signs, and how the rest of it verifies them |
//! | [`issuer`] | a federated issuer of our own, for workload identity without a cluster |
//! | [`error`] | refusals with Entra's numbers |
//! | [`http`] | paths and documents |

pub mod directory;
pub mod error;
pub mod http;
pub mod issuer;
pub mod jwt;
pub mod tokens;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use azcsi_types::clock::Clock;

use directory::Directory;
use tokens::{Claims, TokenKey};

/// Access tokens last 60 to 90 minutes; the spread keeps clients from renewing in step.
const SHORTEST: u64 = 3599;
const SPREAD: u64 = 1800;

/// The authority.
#[derive(Debug)]
pub struct Entra {
    directory: Directory,
    key: TokenKey,
    clock: Arc<dyn Clock>,
    issued: AtomicU64,
}

impl Entra {
    /// An authority over a directory.
    #[must_use]
    pub fn new(directory: Directory, key: TokenKey, clock: Arc<dyn Clock>) -> Self {
        Self {
            directory,
            key,
            clock,
            issued: AtomicU64::new(0),
        }
    }

    /// The tenant and its applications.
    #[must_use]
    pub const fn directory(&self) -> &Directory {
        &self.directory
    }

    /// What tokens are signed with.
    #[must_use]
    pub const fn key(&self) -> &TokenKey {
        &self.key
    }

    /// Makes a token for an application or identity that has proven itself.
    #[must_use]
    pub fn issue(&self, audience: &str, client_id: &str, lifetime: Duration) -> String {
        let tenant = &self.directory.tenant;
        self.key.issue(&Claims::lasting(
            audience,
            client_id,
            tenant,
            self.now(),
            lifetime,
        ))
    }

    fn now(&self) -> SystemTime {
        self.clock.wall()
    }

    fn lifetime(&self) -> Duration {
        let count = self.issued.fetch_add(1, Ordering::Relaxed);
        Duration::from_secs(SHORTEST + count.wrapping_mul(367) % SPREAD)
    }
}
