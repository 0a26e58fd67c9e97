//! `resume`, `verify`, `rollback` and `finalize`: what is done with conversions in the journal.

use std::time::Duration;

use super::apply::{Outcome, outcome, summary};
use super::{Report, World};
use crate::args::{Finalize, Work};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::journal::Record;
use crate::step::Step;

pub(super) async fn resume(world: &World, args: &Work) -> Result<Report, Failure> {
    let engine = world.engine(&args.state, args.wait);
    let open = |record: &Record| !record.is_over() && record.step != Step::Finalized;
    let mut outcomes = Vec::new();
    for volume in volumes(world, args, open).await? {
        outcomes.push(outcome(&volume, engine.resume(&volume).await, "done"));
    }
    summary(world, &outcomes)
}

pub(super) async fn rollback(world: &World, args: &Work) -> Result<Report, Failure> {
    let engine = world.engine(&args.state, args.wait);
    // Finished conversions are undone only by name.
    let open = |record: &Record| record.step != Step::RolledBack && record.step != Step::Finalized;
    let mut outcomes = Vec::new();
    for volume in volumes(world, args, open).await? {
        outcomes.push(outcome(
            &volume,
            engine.rollback(&volume).await,
            "rolled back",
        ));
    }
    summary(world, &outcomes)
}

pub(super) async fn finalize(world: &World, args: &Finalize) -> Result<Report, Failure> {
    let mut world = world.clone();
    world.timing.soak = Duration::from_secs(args.soak);
    let engine = world.engine(&args.work.state, args.work.wait);
    let ready = |record: &Record| record.step == Step::Resumed && record.done;
    let mut outcomes = Vec::new();
    for volume in volumes(&world, &args.work, ready).await? {
        outcomes.push(outcome(&volume, engine.finalize(&volume).await, "final"));
    }
    summary(&world, &outcomes)
}

pub(super) async fn verify(world: &World, args: &Work) -> Result<Report, Failure> {
    let engine = world.engine(&args.state, args.wait);
    let converted = |record: &Record| matches!(record.step, Step::Resumed | Step::Finalized);
    let mut outcomes = Vec::new();
    for volume in volumes(world, args, converted).await? {
        outcomes.push(checked(&engine, &volume).await);
    }
    summary(world, &outcomes)
}

async fn checked(engine: &Engine, volume: &str) -> Outcome {
    let result = engine
        .verify(volume)
        .await
        .and_then(|wrong| match wrong.is_empty() {
            true => Ok(()),
            false => Err(Failure::Operator(wrong.join("; "))),
        });
    outcome(volume, result, "equal to its original")
}

/// The volumes that were named, or those of the journal that are meant.
async fn volumes(
    world: &World,
    args: &Work,
    meant: impl Fn(&Record) -> bool,
) -> Result<Vec<String>, Failure> {
    if !args.pv.is_empty() {
        return Ok(args.pv.clone());
    }
    let records = world.journal(&args.state).all().await?;
    Ok(records
        .into_iter()
        .filter(|record| meant(record))
        .map(|record| record.item.volume)
        .collect())
}
