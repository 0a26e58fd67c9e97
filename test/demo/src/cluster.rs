//! The rig under the story: every call is timed, counted and told.

use std::time::Instant;

use anyhow::Result;
use azcsi_rig::rig::Rig;

use crate::narrate::{Figures, Narrator, Waiting};

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

/// A call that is under way.
#[derive(Debug)]
pub(crate) struct Began {
    at: Instant,
    waiting: Option<Waiting>,
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
    pub(crate) async fn begin(&mut self, rpc: &'static str) -> Result<Began> {
        self.new_requests().await?;
        Ok(Began {
            at: Instant::now(),
            waiting: self.say.waiting(rpc),
        })
    }

    /// Accounts for a call that has ended.
    pub(crate) async fn end(
        &mut self,
        began: Began,
        rpc: &'static str,
        who: &str,
        what: &str,
    ) -> Result<()> {
        let took = began.at.elapsed();
        drop(began.waiting);
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
