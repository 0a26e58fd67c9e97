//! The program in a machine that writes a pattern over and over, as the runner sees it.

use anyhow::{Result, ensure};

use crate::machine::agent::Agent;
use crate::wait::until;
use crate::wire::{RUN, Request};

/// A program in the machine that writes a pattern over and over.
#[derive(Debug)]
pub struct Writer {
    agent: Agent,
}

impl Writer {
    /// The one in a machine.
    #[must_use]
    pub const fn new(agent: Agent) -> Self {
        Self { agent }
    }

    async fn log(&self) -> Result<String> {
        self.agent.run(&["cat", &format!("{RUN}/writer.log")]).await
    }

    /// Waits until it has written the pattern so often; says how often it has.
    ///
    /// # Errors
    /// When it ended before.
    pub async fn rounds(&self, wanted: usize) -> Result<usize> {
        until("the writer", || async {
            let log = self.log().await?;
            let rounds = log.lines().filter(|line| line.starts_with("round")).count();
            let ended = log.lines().find(|line| line.starts_with("ended"));
            ensure!(ended.is_none(), "the writer {}", ended.unwrap_or_default());
            Ok((rounds >= wanted).then_some(rounds))
        })
        .await
    }

    /// Errors that it met and went on from.
    ///
    /// # Errors
    /// When its log cannot be read.
    pub async fn errors(&self) -> Result<Vec<String>> {
        let log = self.log().await?;
        let errors = log.lines().filter(|line| line.starts_with("error"));
        Ok(errors.map(str::to_owned).collect())
    }

    /// Waits until it met an error.
    ///
    /// # Errors
    /// When it goes on writing.
    pub async fn ended(&self) -> Result<()> {
        until("the error of the writer", || async {
            Ok(self.log().await?.contains("ended").then_some(()))
        })
        .await
    }

    /// Ends it.
    ///
    /// # Errors
    /// When it had met an error.
    pub async fn end(&self) -> Result<()> {
        self.agent.ask(&Request::EndWriter).await?;
        self.ended().await?;
        let log = self.log().await?;
        let end = log.lines().last().unwrap_or_default();
        ensure!(end == "ended: as asked", "the writer {end}");
        Ok(())
    }
}
