//! The program `azcsi-migrate`: reads its command line, runs the command, prints what it has to say.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use azcsi_migrate::args::Cli;
use azcsi_migrate::commands::{Report, run};
use azcsi_migrate::failure::Exit;
use azcsi_types::clock::Clock;
use azcsi_types::fault::report;
use clap::Parser as _;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            let code = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            return ExitCode::from(code as u8);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start: {error}"), Exit::Internal),
    };
    let translates = matches!(cli.command, azcsi_migrate::args::Command::Translate(_));
    let tell = Arc::new(|line: &str| {
        let _ = writeln!(io::stderr(), "{line}");
    });
    let clock = Arc::new(SystemClock(started()));
    let work = run(cli, clock, holder(), tell);
    match runtime.block_on(Box::pin(work)) {
        Ok(Report { text, exit }) => {
            // The error of a translation is for standard error.
            let wrote = if translates && exit != Exit::Done {
                io::stderr().write_all(text.as_bytes())
            } else {
                io::stdout().write_all(text.as_bytes())
            };
            match wrote {
                Ok(()) => ExitCode::from(exit as u8),
                Err(_) => ExitCode::from(Exit::Internal as u8),
            }
        }
        Err(error) => fail(&report(&error), error.exit()),
    }
}

fn fail(line: &str, exit: Exit) -> ExitCode {
    let _ = writeln!(io::stderr(), "azcsi-migrate: {line}");
    ExitCode::from(exit as u8)
}

/// Who this process is, in leases: the same process never, another process always differs.
fn holder() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let since = wall()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    format!(
        "{}-{}-{}",
        host.trim(),
        std::process::id(),
        since.as_nanos()
    )
}

#[derive(Debug)]
struct SystemClock(Instant);

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall(&self) -> SystemTime {
        wall()
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock of this program")]
fn started() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the clock of this program")]
fn wall() -> SystemTime {
    SystemTime::now()
}
