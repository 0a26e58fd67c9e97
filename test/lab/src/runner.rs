//! Runs cases one after another, says how long each took, and keeps what tells why one failed.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tokio::time::Instant;

use crate::cases::Case;
use crate::lab::{Lab, Place};

/// Longest time for a case: only one that hangs takes it.
const LONGEST: Duration = Duration::from_secs(1200);

/// A line for the user.
pub fn say(line: &str) {
    // Whoever closed the output does not want it.
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Runs the cases. A case that fails ends its lab, because what it left would confuse the next one.
///
/// # Errors
/// Which cases failed.
pub async fn run(place: &Place, cases: &[&Case], failed: &Path) -> Result<()> {
    let mut lab = None;
    let mut bad = Vec::new();
    for case in cases {
        let mut running = match lab.take() {
            Some(lab) => lab,
            None => start(place, failed).await?,
        };
        if one(&mut running, case, failed).await {
            lab = Some(running);
            continue;
        }
        bad.push(case.name);
        if let Err(error) = running.stop().await {
            say(&format!("        {error:#}"));
        }
    }
    if let Some(lab) = lab {
        lab.stop().await?;
    }
    if bad.is_empty() {
        say(&format!("all {} cases passed", cases.len()));
        return Ok(());
    }
    bail!(
        "{} of {} cases failed: {}",
        bad.len(),
        cases.len(),
        bad.join(", ")
    );
}

/// Runs one case; whether it passed.
async fn one(lab: &mut Lab, case: &Case, failed: &Path) -> bool {
    let began = Instant::now();
    let outcome = match tokio::time::timeout(LONGEST, (case.steps)(lab)).await {
        Ok(Ok(())) => lab.audit().await,
        Ok(failed) => failed,
        Err(_) => Err(anyhow!("not within {} s", LONGEST.as_secs())),
    };
    let took = seconds(began.elapsed());
    let Err(error) = outcome else {
        say(&format!("ok      {:18} {took}", case.name));
        return true;
    };
    say(&format!("FAILED  {:18} {took}  {error:#}", case.name));
    let to = failed.join(case.name);
    lab.collect(&to).await;
    say(&format!("        logs: {}", to.display()));
    false
}

async fn start(place: &Place, failed: &Path) -> Result<Lab> {
    let began = Instant::now();
    let mut lab = Lab::start(place).await?;
    if let Err(error) = lab.come_up().await {
        let to = failed.join("start");
        lab.collect(&to).await;
        say(&format!("logs: {}", to.display()));
        return Err(error);
    }
    say(&format!("nodes   {:18} {}", "up", seconds(began.elapsed())));
    Ok(lab)
}

fn seconds(time: Duration) -> String {
    format!("{:6.1} s", time.as_secs_f64())
}
