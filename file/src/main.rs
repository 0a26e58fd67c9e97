//! The program `azurefile-csi`: reads its command line, and starts what it says.

use std::future::Future;
use std::io::Write as _;
use std::process::ExitCode;

use azcsi_file::config::{self, Command, ConfigError, Environment, Mode};
use azcsi_file::{start, version};
use azcsi_types::fault::report;

fn main() -> ExitCode {
    match config::read(std::env::args_os(), &Environment::of_process()) {
        Err(ConfigError::Help(text)) => print(&text),
        Err(ConfigError::Wrong(line)) => fail(&line),
        Ok(Command::Version { driver }) => print(&version::yaml(&driver)),
        Ok(Command::Serve(config)) => {
            // A node does little at once, and every thread costs memory on every node.
            let threads = match config.mode {
                Mode::Node => 1,
                Mode::Controller | Mode::All => config.threads,
            };
            run(config.verbosity, threads, start::serve(*config))
        }
    }
}

/// Runs `work` to its end, on one thread or on several.
fn run<E: std::error::Error + 'static>(
    verbosity: u8,
    threads: usize,
    work: impl Future<Output = Result<(), E>>,
) -> ExitCode {
    if let Err(error) = azcsi_rpc::logging::init(verbosity) {
        return fail(&report(&error));
    }
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = match builder.worker_threads(threads.max(1)).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start: {error}")),
    };
    let result = runtime.block_on(Box::pin(work));
    // A mount that hangs in the kernel must not keep the process.
    runtime.shutdown_background();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&report(&error)),
    }
}

/// The end of a program that cannot do what it was asked to: one line, exit code 1.
fn fail(line: &str) -> ExitCode {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(std::io::stderr(), "azurefile-csi: {line}");
    ExitCode::FAILURE
}

fn print(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{}", text.trim_end()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
