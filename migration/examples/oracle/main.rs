//! Compares the translation with Kubernetes' own, on generated objects of every kind.
//!
//! `oracle PROGRAM COUNT [SEED]`: PROGRAM answers questions over a pipe (`test/oracle/build.sh`
//! builds it). Every difference is shown with its seed; any difference fails.

#[path = "../../tests/translation/canonical.rs"]
mod canonical;
#[path = "../../tests/translation/dice.rs"]
mod dice;
#[path = "../../tests/translation/generate/mod.rs"]
mod generate;

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitCode, Stdio};

use azcsi_migration::Mode;
use azcsi_migration::request::{Direction, answer};
use canonical::canonical;
use dice::Dice;
use serde_json::{Value, json};

/// Differences that are shown before the rest is only counted.
const SHOWN: usize = 10;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "oracle: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<bool> {
    let mut arguments = std::env::args().skip(1);
    let usage = || io::Error::other("usage: oracle PROGRAM COUNT [SEED]");
    let program = arguments.next().ok_or_else(usage)?;
    let mut number = |default: Option<u64>| match arguments.next() {
        Some(text) => text.parse().map_err(|_| usage()),
        None => default.ok_or_else(usage),
    };
    let (count, first) = (number(None)?, number(Some(0))?);
    let (mut child, questions, answers) = start(&program)?;
    let asker = std::thread::spawn(move || ask(questions, first, count));
    let tally = compare(answers, first, count)?;
    asker
        .join()
        .map_err(|_| io::Error::other("the asking thread crashed"))??;
    if !child.wait()?.success() {
        return Err(io::Error::other("the reference translator failed"));
    }
    tally.report(first, count)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a developer's tool outside the product"
)]
fn start(program: &str) -> io::Result<(Child, ChildStdin, ChildStdout)> {
    let mut child = std::process::Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let none = || io::Error::other("no pipe");
    Ok((child, input.ok_or_else(none)?, output.ok_or_else(none)?))
}

fn question(seed: u64) -> (Direction, Value) {
    generate::question(&mut Dice::new(seed))
}

fn ask(pipe: ChildStdin, first: u64, count: u64) -> io::Result<()> {
    let mut pipe = BufWriter::new(pipe);
    for seed in first..first + count {
        let (direction, input) = question(seed);
        writeln!(
            pipe,
            "{}",
            json!({"direction": direction.name(), "input": input})
        )?;
    }
    pipe.flush()
}

#[derive(Default)]
struct Tally {
    /// Per direction: answers with a result, answers with an error.
    agreed: BTreeMap<&'static str, (u64, u64)>,
    different: u64,
}

fn compare(answers: ChildStdout, first: u64, count: u64) -> io::Result<Tally> {
    let mut lines = BufReader::new(answers).lines();
    let mut tally = Tally::default();
    let mut shown = 0;
    for seed in first..first + count {
        let line = lines
            .next()
            .ok_or_else(|| io::Error::other("the reference translator stopped"))??;
        let theirs: Value = serde_json::from_str(&line)?;
        let (direction, input) = question(seed);
        let ours = answer(Mode::Compat, direction, &input);
        let counts = tally.agreed.entry(direction.name()).or_default();
        match (theirs.get("error"), &ours) {
            (Some(_), Err(_)) => counts.1 += 1,
            (None, Ok(ours)) if canonical(ours) == canonical(&theirs["result"]) => counts.0 += 1,
            _ => {
                tally.different += 1;
                shown += 1;
                if shown <= SHOWN {
                    let ours = ours.map_or_else(|error| error.to_string(), |ours| ours.to_string());
                    let name = direction.name();
                    writeln!(
                        io::stderr(),
                        "seed {seed}, {name}\n  asked  {input}\n  theirs {line}\n  ours   {ours}"
                    )?;
                }
            }
        }
    }
    Ok(tally)
}

impl Tally {
    /// Prints the figures; whether all is well.
    fn report(&self, first: u64, count: u64) -> io::Result<bool> {
        let mut out = io::stdout().lock();
        writeln!(out, "translation of {count} objects, seeds from {first}")?;
        let mut one_sided = false;
        for (direction, (results, errors)) in &self.agreed {
            writeln!(
                out,
                "  {direction:<20} {results:>8} results {errors:>8} errors, the same"
            )?;
            one_sided |= *results == 0 || *errors == 0;
        }
        if one_sided || self.agreed.len() < Direction::ALL.len() {
            writeln!(
                out,
                "too few objects to see every direction succeed and fail"
            )?;
        }
        let agreed: u64 = self.agreed.values().map(|(a, b)| a + b).sum();
        writeln!(out, "{agreed} passed, {} failed", self.different)?;
        Ok(self.different == 0 && !one_sided && self.agreed.len() == Direction::ALL.len())
    }
}
