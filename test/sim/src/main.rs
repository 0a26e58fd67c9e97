//! `azcsi-sim`: a local Azure to run and test storage drivers on.

use std::process::ExitCode;

use azcsi_sim::cli::Cli;
use azcsi_sim::{backend, cli};
use clap::Parser as _;

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::INFO)
        .init();
    let parsed = Cli::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "no runtime");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(cli::dispatch::dispatch(parsed.command, backend::build)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
