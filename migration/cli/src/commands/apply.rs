//! `apply`: carries a plan out, volume by volume. Without `--execute` nothing is written.

use std::sync::Arc;

use azcsi_kube::objects::Effect;
use azcsi_types::fault::report;
use serde::Serialize;

use super::{Report, World, diff};
use crate::args::Apply;
use crate::failure::{Exit, Failure};
use crate::output::{render, table};
use crate::plan::{Item, Plan, inputs, journal_name};
use crate::resources::{CLAIMS, VOLUMES};

/// What became of one volume.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) volume: String,
    pub(super) result: String,
    #[serde(skip)]
    pub(super) exit: u8,
}

pub(super) async fn run(world: &World, args: &Apply) -> Result<Report, Failure> {
    let plan = diff::read(&args.plan)?;
    let hash = plan.hash();
    if !args.execute {
        return dry(world, &plan, &hash).await;
    }
    if args.confirm.as_deref() != Some(hash.as_str()) {
        return Err(Failure::Usage(format!(
            "--confirm must be the hash of this plan, {hash}"
        )));
    }
    let engine = world.engine(&args.state, args.wait);
    let (mut outcomes, mut failures) = (Vec::new(), 0);
    for item in &plan.items {
        if failures >= args.max_failures {
            break;
        }
        let outcome = outcome(&item.volume, engine.apply(&hash, item).await, "converted");
        failures += usize::from(outcome.exit != 0);
        outcomes.push(outcome);
    }
    summary(world, &outcomes)
}

/// The words and the code for what became of a volume.
pub(super) fn outcome(volume: &str, result: Result<(), Failure>, good: &str) -> Outcome {
    let (result, exit) = match result {
        Ok(()) => (good.to_owned(), Exit::Done),
        Err(error) => (report(&error), error.exit()),
    };
    Outcome {
        volume: volume.to_owned(),
        result,
        exit: exit as u8,
    }
}

/// All outcomes; the gravest decides the exit code.
pub(super) fn summary(world: &World, outcomes: &[Outcome]) -> Result<Report, Failure> {
    const GRAVITY: [Exit; 6] = [
        Exit::Operator,
        Exit::Resumable,
        Exit::Changed,
        Exit::Blocked,
        Exit::Internal,
        Exit::Usage,
    ];
    let text = render(world.format, &outcomes, || {
        let rows = outcomes
            .iter()
            .map(|one| vec![one.volume.clone(), one.result.clone()]);
        table(&["VOLUME", "RESULT"], &rows.collect::<Vec<_>>())
    })?;
    let has = |exit: &&Exit| outcomes.iter().any(|one| one.exit == **exit as u8);
    let exit = GRAVITY.iter().find(has).copied().unwrap_or(Exit::Done);
    Ok(Report { text, exit })
}

async fn dry(world: &World, plan: &Plan, hash: &str) -> Result<Report, Failure> {
    let mut outcomes = Vec::new();
    for item in &plan.items {
        let tell = Arc::clone(&world.tell);
        tell(&format!("{}: asking the server", item.volume));
        outcomes.push(outcome(
            &item.volume,
            asked(world, item).await,
            "would be converted",
        ));
    }
    let mut report = summary(world, &outcomes)?;
    if world.format == crate::output::Format::Table {
        report.text.push_str(&format!(
            "\nNothing was changed. To convert: apply --execute --confirm {hash}\n"
        ));
    }
    Ok(report)
}

async fn asked(world: &World, item: &Item) -> Result<(), Failure> {
    let objects = &world.objects;
    let volume = objects.get(&VOLUMES, None, &item.volume).await?;
    let claim = match crate::plan::claim_key(item) {
        Some((place, name)) => objects.get(&CLAIMS, Some(place), name).await?,
        None => None,
    };
    if volume
        .map(|volume| inputs(&volume, claim.as_ref()))
        .as_ref()
        != Some(&item.inputs)
    {
        return Err(Failure::Changed(
            "changed since the plan was made".to_owned(),
        ));
    }
    let mut body = item.after.volume.clone();
    body["metadata"]["name"] = format!("{}-trial", journal_name(&item.volume)).into();
    objects.create(&VOLUMES, None, &body, Effect::Dry).await?;
    Ok(())
}
