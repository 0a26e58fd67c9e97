//! The runner's side of the agent.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::wire::{Reply, Request, Span};

/// How long the agent may take to say that it is there.
const PING: Duration = Duration::from_secs(2);

/// The agent of one machine.
#[derive(Clone, Debug)]
pub struct Agent {
    port: u16,
    turns: Arc<Semaphore>,
}

/// How long anything else may take.
const ANSWER: Duration = Duration::from_secs(300);

/// How many requests run at once: QEMU's user network resets connections that come in a crowd.
const AT_ONCE: usize = 4;

/// How a program in a machine ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Agent {
    /// The agent behind a port of the loopback.
    #[must_use]
    pub fn new(port: u16) -> Self {
        Self {
            port,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Its port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether it answers.
    pub async fn ping(&self) -> bool {
        let asked = tokio::time::timeout(PING, self.ask(&Request::Ping)).await;
        matches!(asked, Ok(Ok(Reply::Done)))
    }

    /// Asks for something.
    ///
    /// # Errors
    /// When it does not answer, or answers that it did not work.
    pub async fn ask(&self, request: &Request) -> Result<Reply> {
        let _turn = self.turns.acquire().await?;
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let mut text = serde_json::to_string(request)?;
        text.push('\n');
        stream.write_all(text.as_bytes()).await?;
        let mut line = String::new();
        let mut stream = BufReader::new(stream);
        tokio::time::timeout(ANSWER, stream.read_line(&mut line))
            .await
            .with_context(|| format!("no answer to {text}"))??;
        let reply = serde_json::from_str(&line).context("the agent's answer")?;
        if let Reply::Failed { why } = reply {
            bail!("{why}");
        }
        Ok(reply)
    }

    /// Runs a program to its end, whatever that is.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn try_run(&self, argv: &[&str]) -> Result<Ran> {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        match self.ask(&Request::Run { argv }).await? {
            Reply::Ran {
                code,
                stdout,
                stderr,
            } => Ok(Ran {
                code,
                stdout,
                stderr,
            }),
            other => bail!("an answer to another question: {other:?}"),
        }
    }

    /// Standard output of a program that has to succeed.
    ///
    /// # Errors
    /// When it does not.
    pub async fn run(&self, argv: &[&str]) -> Result<String> {
        let ran = self.try_run(argv).await?;
        if ran.code != 0 {
            bail!("{argv:?}: code {}: {}", ran.code, ran.stderr.trim());
        }
        Ok(ran.stdout)
    }

    /// Output of a line for the shell.
    ///
    /// # Errors
    /// When it fails.
    pub async fn shell(&self, line: &str) -> Result<String> {
        self.run(&["bash", "-c", line]).await
    }

    /// Writes a pattern.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn fill(&self, span: &Span) -> Result<()> {
        self.ask(&Request::Fill(span.clone()))
            .await
            .map(drop)
            .with_context(|| format!("writing {}", span.path))
    }

    /// Compares every byte with the pattern.
    ///
    /// # Errors
    /// When it cannot be read, or one differs.
    pub async fn check(&self, span: &Span) -> Result<()> {
        match self.ask(&Request::Check(span.clone())).await? {
            Reply::Checked { wrong: 0 } => Ok(()),
            Reply::Checked { wrong } => bail!(
                "{}: {wrong} of {} bytes are not what was written",
                span.path,
                span.length
            ),
            other => bail!("an answer to another question: {other:?}"),
        }
    }
}
