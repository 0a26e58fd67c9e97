//! A program that writes a pattern over and over. Its output is a line for each round, which the
//! runner waits for; the last one tells the end.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

use super::{pattern, tools};
use crate::wire::{RUN, Span};

/// Its name among the programs of the agent.
pub(super) const NAME: &str = "writer";
/// It ends with the first error.
pub(super) const UNTIL_ERROR: &str = "until-error";
/// It notes errors and goes on.
pub(super) const THROUGH_ERRORS: &str = "through-errors";

/// While this is there, it begins no round.
pub(super) fn stop_file() -> String {
    format!("{RUN}/{NAME}.stop")
}

/// Has it end.
pub(super) fn stop() -> Result<()> {
    tools::set(Path::new(&stop_file()), "")
}

/// Writes.
pub(super) fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(2);
    let mode = arguments.next().context("no mode")?;
    let span: Span = serde_json::from_str(&arguments.next().context("no span")?)?;
    let mut out = io::stdout();
    let mut rounds = 0_u64;
    let end = loop {
        if Path::new(&stop_file()).exists() {
            break "as asked".to_owned();
        }
        match pattern::write(&span) {
            Ok(()) => {
                rounds += 1;
                writeln!(out, "round {rounds}")?;
            }
            Err(error) if mode == UNTIL_ERROR => break error.to_string(),
            Err(error) => {
                writeln!(out, "error: {error}")?;
                tools::pause();
            }
        }
    };
    writeln!(out, "ended: {end}")?;
    Ok(())
}
