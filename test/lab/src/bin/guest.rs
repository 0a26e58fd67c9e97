//! The first program of a machine: it brings the machine up and does what the runner asks.

use std::process::ExitCode;

fn main() -> ExitCode {
    azcsi_lab::guest::main()
}
