//! `scan`: every volume of the two plugins, every inline volume, every class, with a verdict.

use std::borrow::Cow;
use std::collections::BTreeMap;

use azcsi_migration::registry::is_inline_migratable;
use azcsi_migration::{Plugin, inline};
use serde::Serialize;
use serde_json::Value;

use super::{Report, World, wishes};
use crate::args::{PluginName, Scan, Select};
use crate::failure::{Exit, Failure};
use crate::inventory::Inventory;
use crate::output::{render, table};
use crate::packed::Packed;
use crate::value::{list, name, namespace, text};
use crate::verdict::{Verdict, of as verdict_of};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Row {
    /// Volume, Class, or the kind that holds an inline volume.
    kind: String,
    name: String,
    claim: String,
    class: String,
    plugin: String,
    verdict: String,
    why: String,
}

#[derive(Debug, Serialize)]
struct Found {
    rows: Vec<Row>,
    verdicts: BTreeMap<String, usize>,
    not_read: Vec<String>,
}

pub(super) async fn run(world: &World, args: &Scan) -> Result<Report, Failure> {
    let (inventory, facts) = world.inventory(&args.facts).await?;
    let wishes = wishes(&args.facts);
    let mut rows = Vec::new();
    let (mut ready, mut blocked) = (0, 0);
    for volume in chosen(&inventory, &args.select)? {
        let Some((verdict, why)) = verdict_of(&inventory, &facts, &wishes, volume) else {
            continue;
        };
        ready += usize::from(verdict.is_convertible());
        blocked += usize::from(!verdict.is_convertible() && verdict != Verdict::AlreadyCsi);
        rows.push(row(volume, verdict.word(), why));
    }
    if is_whole(&args.select) {
        classes(&inventory, &mut rows);
        inlines(&inventory, &mut rows);
    }
    let mut verdicts = BTreeMap::new();
    for row in &rows {
        *verdicts.entry(row.verdict.clone()).or_default() += 1;
    }
    let found = Found {
        rows,
        verdicts,
        not_read: inventory.unread.clone(),
    };
    let text = render(world.format, &found, || shown(&found))?;
    let exit = match (blocked, ready) {
        (0, 0) => Exit::Done,
        (0, _) => Exit::Convertible,
        _ => Exit::Blocked,
    };
    Ok(Report { text, exit })
}

/// The volumes that the arguments name, by name.
///
/// # Errors
/// A selector makes no sense.
pub(super) fn chosen<'a>(
    inventory: &'a Inventory,
    select: &Select,
) -> Result<Vec<&'a Value>, Failure> {
    let labels = labels(select.selector.as_deref().unwrap_or_default())?;
    let of_plugin = |volume: &Value| {
        let field = match select.plugin {
            None => return true,
            Some(PluginName::Disk) => Plugin::AzureDisk,
            Some(PluginName::File) => Plugin::AzureFile,
        };
        volume
            .pointer(&format!("/spec/{}", field.source_field()))
            .is_some()
            || text(volume, "/spec/csi/driver") == field.driver()
    };
    let place = |volume: &Value| text(volume, "/spec/claimRef/namespace").to_owned();
    let claim =
        |volume: &Value| format!("{}/{}", place(volume), text(volume, "/spec/claimRef/name"));
    let matches = |volume: &&Value| {
        let has = |(key, value): &(String, String)| {
            let labels = volume.pointer("/metadata/labels");
            labels.and_then(|all| all.get(key)).and_then(Value::as_str) == Some(value)
        };
        (select.pv.is_empty() || select.pv.iter().any(|wanted| wanted == name(volume)))
            && (select.pvc.is_empty() || select.pvc.contains(&claim(volume)))
            && select
                .namespace
                .as_ref()
                .is_none_or(|wanted| *wanted == place(volume))
            && select
                .class
                .as_ref()
                .is_none_or(|c| c == text(volume, "/spec/storageClassName"))
            && labels.iter().all(has)
            && of_plugin(volume)
    };
    let all = inventory.volumes.values().filter(matches);
    Ok(all.take(select.limit.unwrap_or(usize::MAX)).collect())
}

fn labels(selector: &str) -> Result<Vec<(String, String)>, Failure> {
    let parts = selector.split(',').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                Failure::Usage(format!("--selector {part:?}: only key=value is understood"))
            })?;
            Ok((
                key.trim().to_owned(),
                value.trim_start_matches('=').trim().to_owned(),
            ))
        })
        .collect()
}

/// Whether nothing was narrowed down, so that classes and inline volumes belong to the picture.
const fn is_whole(select: &Select) -> bool {
    select.pv.is_empty()
        && select.pvc.is_empty()
        && select.namespace.is_none()
        && select.selector.is_none()
        && select.class.is_none()
        && select.limit.is_none()
}

fn row(volume: &Value, verdict: &str, why: String) -> Row {
    let plugin = Plugin::ALL.into_iter().find(|plugin| {
        volume
            .pointer(&format!("/spec/{}", plugin.source_field()))
            .is_some()
            || text(volume, "/spec/csi/driver") == plugin.driver()
    });
    let claim = match text(volume, "/spec/claimRef/name") {
        "" => String::new(),
        claim => format!("{}/{claim}", text(volume, "/spec/claimRef/namespace")),
    };
    Row {
        kind: "Volume".to_owned(),
        name: name(volume).to_owned(),
        claim,
        class: text(volume, "/spec/storageClassName").to_owned(),
        plugin: plugin.map_or("", Plugin::source_field).to_owned(),
        verdict: verdict.to_owned(),
        why,
    }
}

fn classes(inventory: &Inventory, rows: &mut Vec<Row>) {
    for class in inventory.classes.values() {
        let Some(plugin) = Plugin::of_in_tree_name(text(class, "/provisioner")) else {
            continue;
        };
        let (verdict, why) = match crate::target::class::of(class) {
            Ok((_, notes)) => ("READY", notes.join("; ")),
            Err(error) => ("MANUAL-CLASS", error.to_string()),
        };
        rows.push(Row {
            kind: "Class".to_owned(),
            name: name(class).to_owned(),
            claim: String::new(),
            class: String::new(),
            plugin: plugin.source_field().to_owned(),
            verdict: verdict.to_owned(),
            why,
        });
    }
}

/// Volumes that stand in pod templates: no object of their own shows them.
fn inlines(inventory: &Inventory, rows: &mut Vec<Row>) {
    let pods = inventory.pods.iter().map(Packed::open);
    let bare = pods
        .filter(|pod| list(pod, "/metadata/ownerReferences").is_empty())
        .map(Cow::Owned);
    let top = inventory.workloads.values().filter(|one| {
        !list(one, "/metadata/ownerReferences")
            .iter()
            .any(|owner| owner["controller"] == true)
    });
    for holder in top.map(Cow::Borrowed).chain(bare) {
        let holder = &*holder;
        let place = namespace(holder);
        for volume in list(holder, "/spec/volumes")
            .iter()
            .filter(|v| is_inline_migratable(v))
        {
            let plugin = Plugin::ALL
                .into_iter()
                .find(|plugin| volume.get(plugin.source_field()).is_some());
            let (verdict, why) = match inline::to_csi(azcsi_migration::Mode::Strict, volume, place)
            {
                Ok(_) => (
                    "MANUAL-INLINE",
                    "make a volume and a claim, then edit the template".into(),
                ),
                Err(error) => ("BLOCKED-INLINE", error.to_string()),
            };
            rows.push(Row {
                kind: text(holder, "/kind").to_owned(),
                name: format!("{place}/{}:{}", name(holder), text(volume, "/name")),
                claim: String::new(),
                class: String::new(),
                plugin: plugin.map_or("", Plugin::source_field).to_owned(),
                verdict: verdict.to_owned(),
                why,
            });
        }
    }
}

fn shown(found: &Found) -> String {
    let cells: Vec<Vec<String>> = found
        .rows
        .iter()
        .map(|row| {
            let row = row.clone();
            vec![
                row.kind,
                row.name,
                row.claim,
                row.class,
                row.plugin,
                row.verdict,
                row.why,
            ]
        })
        .collect();
    let head = ["KIND", "NAME", "CLAIM", "CLASS", "PLUGIN", "VERDICT", "WHY"];
    let mut out = table(&head, &cells);
    let sums: Vec<String> = found
        .verdicts
        .iter()
        .map(|(verdict, count)| format!("{count} {verdict}"))
        .collect();
    out.push_str(&format!(
        "\n{}\n",
        if sums.is_empty() {
            "nothing found".to_owned()
        } else {
            sums.join(", ")
        }
    ));
    out
}
