//! `make sanity`: the real csi-sanity, every spec, on real devices and a local Azure.
//!
//! | module | what it holds |
//! |---|---|
//! | [`combination`] | in which combinations the suite runs |
//! | [`world`] | one combination from start to end, and what is left of it |
//! | [`suite`] | one run of csi-sanity: inputs, arguments, results |
//!
//! The judgement over every spec is in the library.

mod combination;
mod suite;
mod world;

use std::cell::Cell;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use azcsi_rig::leftovers::leave_nothing;
use azcsi_rig::rig::Rig;
use clap::Parser;
use futures_util::{StreamExt as _, stream};
use tokio::signal::unix::{SignalKind, signal};

use azcsi_sanity::capabilities::Advertised;
use combination::Combination;
use world::{Ran, Tools};

/// Runs the real csi-sanity against the drivers and the local Azure, with nothing skipped.
#[derive(Debug, Parser)]
#[command(name = "azcsi-sanity")]
struct Arguments {
    /// Folder of azcsi-sim and azuredisk-csi.
    #[arg(long, required_unless_present = "list")]
    bin: Option<PathBuf>,
    /// The csi-sanity binary, as test/sanity/build.sh prints it.
    #[arg(long, required_unless_present = "list")]
    suite: Option<PathBuf>,
    /// Folder for JUnit files and the suite's output.
    #[arg(long, required_unless_present = "list")]
    reports: Option<PathBuf>,
    /// Every combination, and twenty orders, instead of the selection for each change.
    #[arg(long)]
    full: bool,
    /// Only combinations whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// First seed; without it a random one.
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    /// How many combinations run at once; most of their time is spent waiting.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    jobs: u8,
    /// Print the names of the combinations and end.
    #[arg(long)]
    list: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("csi-sanity did not pass: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str) {
    // Whoever closed the output does not want it.
    let _ = writeln!(std::io::stdout(), "{line}");
}

async fn run(arguments: Arguments) -> Result<()> {
    let selection = if arguments.full {
        combination::full()
    } else {
        combination::quick()
    };
    let chosen: Vec<Combination> = selection
        .into_iter()
        .filter(|combination| combination.to_string().contains(&arguments.only))
        .collect();
    if chosen.is_empty() {
        bail!(
            "no combination is called like '{}': --list shows them, with --full all",
            arguments.only
        );
    }
    if arguments.list {
        chosen.iter().for_each(|one| say(&one.to_string()));
        return Ok(());
    }
    if !azcsi_rig::process::is_root() {
        bail!("it makes loop devices and mounts: run it as root (make sanity does, through sudo)");
    }
    let first = arguments.seed.map_or_else(random, Ok)?;
    let (Some(bin), Some(suite), Some(reports)) =
        (arguments.bin, arguments.suite, arguments.reports)
    else {
        bail!("--bin, --suite and --reports are needed");
    };
    let tools = Tools::new(bin, suite, &reports)?;
    let jobs = usize::from(arguments.jobs);
    let failed = all(&tools, chosen, first, jobs).await?;
    say(&format!("\nreports: {}", tools.reports.display()));
    if !failed.is_empty() {
        bail!("{}", failed.join(", "));
    }
    Ok(())
}

/// Runs combinations, some at once; which failed.
async fn all(
    tools: &Tools,
    chosen: Vec<Combination>,
    first: u32,
    jobs: usize,
) -> Result<Vec<String>> {
    let mut seed = first;
    let seeded = chosen.into_iter().map(|combination| {
        let own = seed;
        seed = seed.wrapping_add(combination.runs);
        (combination, own)
    });
    let stopping = Cell::new(false);
    let mut ended = stream::iter(seeded)
        .map(async |(combination, seed)| {
            // Those that have not begun must not begin after an interruption.
            let account = match stopping.get() {
                true => Err(Interrupted("an interruption").into()),
                false => one(tools, &combination, seed).await,
            };
            stopping.set(stopping.get() || account.is_err());
            (format!("{combination} (seed {seed})"), account)
        })
        .buffer_unordered(jobs);
    let mut failed = Vec::new();
    let mut stopped = None;
    // An interruption reaches each of them, and each of them has to let go of its devices.
    while let Some((name, account)) = ended.next().await {
        match account {
            Ok(account) => {
                say(&format!("\n{name}"));
                account
                    .lines
                    .iter()
                    .for_each(|line| say(&format!("  {line}")));
                if account.failed {
                    failed.push(name);
                }
            }
            Err(error) => stopped = Some(error),
        }
    }
    stopped.map_or(Ok(failed), Err)
}

/// A seed that no one chose.
fn random() -> Result<u32> {
    use std::io::Read as _;
    let mut bytes = [0; 4];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    // Ginkgo prints seeds as decimal numbers: a short one is easier to repeat.
    Ok(u32::from_le_bytes(bytes) % 1_000_000)
}

/// The user has had enough.
#[derive(Debug)]
struct Interrupted(&'static str);

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} came: stopped", self.0)
    }
}

impl std::error::Error for Interrupted {}

/// Runs something until it ends, or until the user has had enough.
async fn unless_interrupted<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = work => outcome,
        _ = interrupt.recv() => Err(Interrupted("Ctrl-C").into()),
        _ = terminate.recv() => Err(Interrupted("SIGTERM").into()),
    }
}

/// What there is to tell of a combination.
#[derive(Debug, Default)]
struct Account {
    lines: Vec<String>,
    failed: bool,
}

/// One combination. Only an interruption is an error.
async fn one(tools: &Tools, combination: &Combination, seed: u32) -> Result<Account> {
    let folder = tempfile::Builder::new().prefix("azcsi-sanity-").tempdir()?;
    let mut account = Account::default();
    let ended = life(tools, combination, folder.path(), seed, &mut account.lines).await;
    let clean = leave_nothing(folder.path());
    let mut problems = match ended {
        Ok(problems) => problems,
        Err(error) if error.is::<Interrupted>() => return clean.and(Err(error)),
        Err(error) => vec![format!("{error:#}")],
    };
    problems.extend(clean.err().map(|error| format!("{error:#}")));
    account.failed = !problems.is_empty();
    let told = problems.iter().map(|problem| format!("FAILED {problem}"));
    account.lines.extend(told);
    if account.failed {
        let logs = folder.keep().join("logs");
        account.lines.push(format!("logs: {}", logs.display()));
    }
    Ok(account)
}

/// Starts, runs, looks at what is left, stops; answers with all problems.
async fn life(
    tools: &Tools,
    combination: &Combination,
    dir: &Path,
    seed: u32,
    lines: &mut Vec<String>,
) -> Result<Vec<String>> {
    // Nothing is attached before the suite begins, so an early end leaves nothing to undo.
    let rig = unless_interrupted(world::start(tools, combination, dir, seed)).await?;
    let told = unless_interrupted(runs(tools, &rig, combination, seed, lines)).await;
    let left = world::leftovers(&rig).await;
    let stopped = rig.stop().await;
    let mut problems = match told {
        Ok(problems) => problems,
        Err(error) if error.is::<Interrupted>() => return Err(error),
        Err(error) => vec![format!("{error:#}")],
    };
    match left {
        Ok(left) => problems.extend(left),
        Err(error) => problems.push(format!("looking at what is left: {error:#}")),
    }
    problems.extend(stopped.err().map(|error| format!("{error:#}")));
    Ok(problems)
}

async fn runs(
    tools: &Tools,
    rig: &Rig,
    combination: &Combination,
    seed: u32,
    lines: &mut Vec<String>,
) -> Result<Vec<String>> {
    let (advertised, mut problems) = world::capabilities(rig).await?;
    for run in 0..combination.runs {
        let seed = seed.wrapping_add(run);
        let ran = world::suite(tools, rig, combination, &advertised, seed).await?;
        lines.extend(tell(&ran, &advertised));
        problems.extend(ran.verdict.problems);
    }
    Ok(problems)
}

fn tell(ran: &Ran, advertised: &Advertised) -> Vec<String> {
    let mut lines = ran.summary.clone();
    let verdict = &ran.verdict;
    lines.push(format!(
        "seed {}, {} capabilities advertised, {} specs passed",
        ran.seed,
        advertised.len(),
        verdict.passed
    ));
    for name in &verdict.pending {
        lines.push(format!("pending in the suite itself: {name}"));
    }
    for (capability, count) in &verdict.excused {
        lines.push(format!("not advertised: {capability} ({count} specs)"));
    }
    lines
}
