//! `plan`: a file that says what is going to happen.

use time::OffsetDateTime;

use super::scan::chosen;
use super::{Report, World, wishes};
use crate::args::Plan as Arguments;
use crate::failure::{Exit, Failure};
use crate::output::{render, table, timestamp};
use crate::plan::{Options, Plan, make};
use crate::target::volume::Variant;
use crate::verdict::Wishes;

pub(super) async fn run(world: &World, args: &Arguments) -> Result<Report, Failure> {
    let (inventory, facts) = world.inventory(&args.facts).await?;
    let options = Options {
        variant: if args.keep_pvc {
            Variant::Keep
        } else {
            Variant::Renew
        },
        wishes: Wishes {
            tame_cache: args.rw_cache_to_readonly,
            ..wishes(&args.facts)
        },
        gitops_acknowledged: args.gitops_acknowledged,
        wait_for_operator: args.wait_for_operator,
    };
    let volumes = chosen(&inventory, &args.select)?;
    let made = timestamp(OffsetDateTime::from(world.objects.kube().clock().wall()));
    let plan = make(&inventory, &facts, &options, &volumes, made)?;
    let content = serde_json::to_vec_pretty(&plan).map_err(|error| Failure::Document {
        what: "the plan".to_owned(),
        why: error.to_string(),
    })?;
    std::fs::write(&args.out, content).map_err(|e| Failure::file("write", &args.out, e))?;
    let text = render(world.format, &plan, || {
        format!(
            "{}\nplan {}\nhash {}\n",
            shown(&plan),
            args.out.display(),
            plan.hash()
        )
    })?;
    let exit = if plan.left_out.is_empty() {
        Exit::Done
    } else {
        Exit::Blocked
    };
    Ok(Report { text, exit })
}

fn shown(plan: &Plan) -> String {
    let planned = plan.items.iter().map(|item| {
        let workloads: Vec<String> = item.workloads.iter().map(|w| w.title()).collect();
        let mut notes = item.notes.clone();
        if !workloads.is_empty() {
            notes.insert(0, format!("restarts {}", workloads.join(", ")));
        }
        vec![item.volume.clone(), "CONVERT".to_owned(), notes.join("; ")]
    });
    let left = plan
        .left_out
        .iter()
        .map(|left| vec![left.volume.clone(), left.verdict.clone(), left.why.clone()]);
    let rows: Vec<Vec<String>> = planned.chain(left).collect();
    table(&["VOLUME", "PLAN", "NOTES"], &rows)
}
