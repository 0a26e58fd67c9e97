//! The rig under the story: every call is timed, counted and told.

use std::time::Instant;

use anyhow::Result;
use azcsi_rig::rig::Rig;

use crate::narrate::{Figures, Narrator};

/// The rig, the account, and every call so far.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// What runs.
    pub(crate) rig: Rig,
    /// The account.
    pub(crate) say: Narrator,
    /// Every call so far.
    pub(crate) calls: Vec<Figures>,
    seen: u64,
}

impl Cluster {
    /// Nothing has been called yet.
    pub(crate) const fn new(rig: Rig, say: Narrator) -> Self {
        Self {
            rig,
            say,
            calls: Vec::new(),
            seen: 0,
        }
    }

    /// Marks the beginning of a call: what Azure did before is not counted for it.
    #[expect(clippy::disallowed_methods, reason = "a person's stopwatch")]
    pub(crate) async fn begin(&mut self) -> Result<Instant> {
        self.new_requests().await?;
        Ok(Instant::now())
    }

    /// Accounts for a call that has ended.
    pub(crate) async fn end(
        &mut self,
        began: Instant,
        rpc: &'static str,
        who: &str,
        what: &str,
    ) -> Result<()> {
        let took = began.elapsed();
        let azure = self.new_requests().await?;
        let figures = Figures { rpc, took, azure };
        self.say.call(who, what, &figures);
        self.calls.push(figures);
        Ok(())
    }

    async fn new_requests(&mut self) -> Result<Vec<String>> {
        let (newest, lines) = self.rig.requests_since(self.seen).await?;
        self.seen = newest;
        Ok(lines)
    }
}
