//! `status`: how far conversions are.

use super::{Report, World};
use crate::args::State;
use crate::failure::{Exit, Failure};
use crate::output::{render, table};
use crate::step::Step;

pub(super) async fn run(world: &World, args: &State) -> Result<Report, Failure> {
    let records = world.journal(args).all().await?;
    let text = render(world.format, &records, || {
        let rows: Vec<Vec<String>> = records
            .iter()
            .map(|record| {
                let state = format!(
                    "{:?}{}",
                    record.step,
                    if record.done { "" } else { " (unfinished)" }
                );
                let last = record.history.last().cloned().unwrap_or_default();
                vec![record.item.volume.clone(), state, last]
            })
            .collect();
        table(&["VOLUME", "STATE", "LAST"], &rows)
    })?;
    let open = records
        .iter()
        .any(|record| !record.is_over() && record.step != Step::Finalized);
    let exit = if open { Exit::Resumable } else { Exit::Done };
    Ok(Report { text, exit })
}
