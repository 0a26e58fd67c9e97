//! `diff`: what a plan changes, member by member.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::Report;
use crate::args::OfPlan;
use crate::equality::differences;
use crate::failure::{Exit, Failure};
use crate::output::{Format, render};
use crate::plan::{Item, Plan};

#[derive(Debug, Serialize)]
struct Change {
    volume: String,
    /// Members that go, with their values.
    removed: BTreeMap<String, Value>,
    /// Members that come.
    added: BTreeMap<String, Value>,
    /// What the driver would see otherwise; empty is equality.
    differences: Vec<String>,
}

pub(super) fn run(args: &OfPlan, format: Format) -> Result<Report, Failure> {
    let plan = read(&args.plan)?;
    let changes: Vec<Change> = plan.items.iter().map(change).collect();
    let text = render(format, &changes, || changes.iter().map(shown).collect())?;
    let exit = if changes.is_empty() {
        Exit::Done
    } else {
        Exit::Convertible
    };
    Ok(Report { text, exit })
}

/// Reads a plan file.
pub(super) fn read(path: &Path) -> Result<Plan, Failure> {
    let content = std::fs::read(path).map_err(|error| Failure::file("read", path, error))?;
    Plan::parse(&content)
}

fn change(item: &Item) -> Change {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    flatten("volume", &item.before.volume, &mut before);
    flatten("volume", &item.after.volume, &mut after);
    for (objects, out) in [(&item.before, &mut before), (&item.after, &mut after)] {
        if let Some(claim) = &objects.claim {
            flatten("claim", claim, out);
        }
    }
    let both: Vec<String> = before
        .iter()
        .filter(|(key, value)| after.get(*key) == Some(value))
        .map(|(key, _)| key.clone())
        .collect();
    for key in both {
        before.remove(&key);
        after.remove(&key);
    }
    Change {
        volume: item.volume.clone(),
        removed: before,
        added: after,
        differences: differences(&item.before.volume, &item.after.volume, &item.wishes()),
    }
}

fn flatten(path: &str, value: &Value, out: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                flatten(&format!("{path}.{key}"), value, out);
            }
        }
        other => {
            out.insert(path.to_owned(), other.clone());
        }
    }
}

fn shown(change: &Change) -> String {
    let mut out = format!("{}\n", change.volume);
    for (sign, members) in [("-", &change.removed), ("+", &change.added)] {
        for (key, value) in members {
            out.push_str(&format!("  {sign} {key}: {value}\n"));
        }
    }
    if change.differences.is_empty() {
        out.push_str("  = the driver sees the same volume\n");
    }
    for difference in &change.differences {
        out.push_str(&format!("  ! {difference}\n"));
    }
    out
}
