//! The program inside a machine: first process of the initial ramdisk, first process of the root
//! filesystem, and the agent that the runner talks to.
//!
//! There is no systemd. The first process starts the agent, adopts orphans, and ends the machine
//! when the agent ends.

mod agent;
mod boot;
mod facts;
mod nvme;
pub mod pattern;
mod relay;
mod setup;
mod sysview;
mod tools;
mod writer;

use std::io::Write as _;
use std::process::ExitCode;

/// The argument of the second stage, after the root filesystem was mounted.
const STAGE_ROOT: &str = "root";
/// The argument of the agent.
const STAGE_AGENT: &str = "agent";

/// The argument of the writer.
const STAGE_WRITER: &str = "write";

/// Does what the stage needs. The first stages never return.
#[must_use]
pub fn main() -> ExitCode {
    let stage = std::env::args().nth(1).unwrap_or_default();
    let result = match stage.as_str() {
        STAGE_ROOT => setup::run(),
        STAGE_AGENT => agent::run(),
        STAGE_WRITER => writer::run(),
        _ => boot::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{stage} failed: {error:#}"));
            if std::process::id() == 1 {
                tools::power_off();
            }
            ExitCode::FAILURE
        }
    }
}

/// A line on the console.
fn say(line: &str) {
    // Nobody is left to tell when the console is gone.
    let _ = writeln!(std::io::stderr(), "lab: {line}");
}
