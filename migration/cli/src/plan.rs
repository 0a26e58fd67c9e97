//! What is going to happen, volume by volume, with a hash over all of it.

use azcsi_migration::Plugin;
use azcsi_migration::handle::account_of_secret;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::equality::differences;
use crate::facts::Facts;
use crate::failure::Failure;
use crate::inventory::Inventory;
use crate::step::Step;
use crate::target::volume::{Context, Variant, cache_of};
use crate::target::{claim, volume};
use crate::value::{hash, name, namespace, policy, short, text};
use crate::verdict::{Verdict, Wishes, of as verdict_of};
use crate::workload::{Pause, Workload, owners};

/// The form of plan files.
const FORM: u32 = 1;

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The form of the file.
    pub form: u32,
    /// When it was made (RFC 3339).
    pub made: String,
    /// What is converted.
    pub items: Vec<Item>,
    /// What is not, and why.
    pub left_out: Vec<LeftOut>,
}

/// One volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Name of the volume, before and after.
    pub volume: String,
    /// How the claim stays with it.
    pub variant: Variant,
    /// The objects as they are.
    pub before: Objects,
    /// The objects as they will be.
    pub after: Objects,
    /// Reclaim policy that `finalize` puts back.
    pub final_policy: String,
    /// Who uses it.
    pub workloads: Vec<Workload>,
    /// Wait for pods that this tool cannot pause, instead of refusing.
    pub wait_for_operator: bool,
    /// The filesystem that was assumed.
    #[serde(default)]
    pub assume_fs_type: Option<String>,
    /// Cache mode ReadWrite becomes ReadOnly.
    #[serde(default)]
    pub tame_cache: bool,
    /// SHA-256 over the objects as they are, without what changes by itself.
    pub inputs: String,
    /// What a person should know.
    pub notes: Vec<String>,
    /// What will be done, in order.
    pub steps: Vec<String>,
}

impl Item {
    /// The wishes it was made with.
    #[must_use]
    pub fn wishes(&self) -> Wishes {
        Wishes {
            assume_fs_type: self.assume_fs_type.clone(),
            tame_cache: self.tame_cache,
        }
    }
}

/// A volume and its claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objects {
    /// The volume.
    pub volume: Value,
    /// The claim, if there is one.
    pub claim: Option<Value>,
}

/// A volume that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub volume: String,
    /// The verdict.
    pub verdict: String,
    /// The reason.
    pub why: String,
}

/// How a plan is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the claim stays.
    pub variant: Variant,
    /// Wishes for the new objects.
    pub wishes: Wishes,
    /// A person takes care of what applies manifests from Git.
    pub gitops_acknowledged: bool,
    /// Wait for pods that this tool cannot pause.
    pub wait_for_operator: bool,
}

/// The plan for these volumes.
///
/// # Errors
/// A volume that was found ready cannot be converted after all: a defect, never a state.
pub fn make(
    inventory: &Inventory,
    facts: &Facts,
    options: &Options,
    volumes: &[&Value],
    made: String,
) -> Result<Plan, Failure> {
    let (mut items, mut left_out) = (Vec::new(), Vec::new());
    for old in volumes {
        let Some((verdict, why)) = verdict_of(inventory, facts, &options.wishes, old) else {
            continue;
        };
        let refused = match verdict {
            Verdict::AlreadyCsi => continue,
            verdict if !verdict.is_convertible() => Some((verdict.word(), why)),
            _ => refusal(inventory, options, old),
        };
        match refused {
            Some((verdict, why)) => left_out.push(LeftOut {
                volume: name(old).to_owned(),
                verdict: verdict.to_owned(),
                why,
            }),
            None => items.push(item(inventory, facts, options, old)?),
        }
    }
    Ok(Plan {
        form: FORM,
        made,
        items,
        left_out,
    })
}

impl Plan {
    /// SHA-256 over the whole plan.
    #[must_use]
    pub fn hash(&self) -> String {
        hash(&serde_json::to_value(self).unwrap_or(Value::Null))
    }

    /// Reads a plan file.
    ///
    /// # Errors
    /// It is no plan of this form.
    pub fn parse(content: &[u8]) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::Document {
            what: "the plan".to_owned(),
            why,
        };
        let plan: Self =
            serde_json::from_slice(content).map_err(|error| wrong(error.to_string()))?;
        if plan.form != FORM {
            return Err(wrong(format!(
                "form {}, this program makes form {FORM}",
                plan.form
            )));
        }
        Ok(plan)
    }
}

/// Marks of programs that apply manifests again and again.
const GITOPS: [&str; 5] = [
    "argocd.argoproj.io/tracking-id",
    "argocd.argoproj.io/instance",
    "kustomize.toolkit.fluxcd.io/name",
    "helm.toolkit.fluxcd.io/name",
    "configmanagement.gke.io/managed",
];

fn refusal(
    inventory: &Inventory,
    options: &Options,
    old: &Value,
) -> Option<(&'static str, String)> {
    let claim = inventory.claim_of(old);
    let marked = [Some(old), claim.as_ref()]
        .into_iter()
        .flatten()
        .find_map(|object| {
            let has = |mark: &&&str| {
                ["annotations", "labels"]
                    .iter()
                    .any(|place| !text_in(object, place, mark).is_empty())
            };
            GITOPS.iter().find(has)
        });
    if let (Some(mark), false) = (marked, options.gitops_acknowledged) {
        let why = format!("{mark}: change the manifests too, then give --gitops-acknowledged");
        return Some(("BLOCKED-GITOPS", why));
    }
    let unpausable = users(inventory, old)
        .into_iter()
        .find(|workload| workload.pause == Pause::ByHand);
    match unpausable {
        Some(workload) if !options.wait_for_operator => Some((
            "MANUAL-WORKLOAD",
            format!(
                "{} cannot be paused by this tool: --wait-for-operator waits for you",
                workload.title()
            ),
        )),
        _ => None,
    }
}

fn text_in<'a>(object: &'a Value, place: &str, key: &str) -> &'a str {
    let found = object.pointer(&format!("/metadata/{place}"));
    found
        .and_then(|all| all.get(key))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Who uses the claim of a volume.
fn users(inventory: &Inventory, old: &Value) -> Vec<Workload> {
    owners(inventory.users_of(old).iter(), |kind, namespace, name| {
        inventory.workload(kind, namespace, name)
    })
}

/// The storage account that the secret of a share names, if it was looked at.
fn account_of(inventory: &Inventory, old: &Value) -> Option<String> {
    let secret = text(old, "/spec/azureFile/secretName").to_owned();
    let place = match text(old, "/spec/azureFile/secretNamespace") {
        "" => text(old, "/spec/claimRef/namespace"),
        given => given,
    };
    inventory
        .secrets
        .get(&(place.to_owned(), secret))
        .cloned()
        .flatten()
}

fn item(
    inventory: &Inventory,
    facts: &Facts,
    options: &Options,
    old: &Value,
) -> Result<Item, Failure> {
    let old_claim = inventory.claim_of(old);
    let old_claim = old_claim.as_ref();
    let variant = old_claim.map_or(Variant::Renew, |_| options.variant);
    let account = account_of(inventory, old);
    let context = Context {
        facts,
        wishes: &options.wishes,
        variant,
        journal: &journal_name(name(old)),
        account: account.as_deref(),
    };
    let new = volume::of(old, &context)?;
    let different = differences(old, &new, &options.wishes);
    if let Some(difference) = different.first() {
        return Err(Failure::Blocked(format!("{}: {difference}", name(old))));
    }
    let new_claim = match variant {
        Variant::Renew => old_claim.map(|old| claim::of(old, &new)),
        Variant::Keep => old_claim.cloned(),
    };
    Ok(Item {
        volume: name(old).to_owned(),
        variant,
        inputs: inputs(old, old_claim),
        notes: notes(options, old, &new, account.as_deref()),
        steps: Step::FORWARD
            .iter()
            .map(|step| step.told().to_owned())
            .collect(),
        final_policy: policy(old).to_owned(),
        workloads: users(inventory, old),
        wait_for_operator: options.wait_for_operator,
        assume_fs_type: options.wishes.assume_fs_type.clone(),
        tame_cache: options.wishes.tame_cache,
        before: Objects {
            volume: old.clone(),
            claim: old_claim.cloned(),
        },
        after: Objects {
            volume: new,
            claim: new_claim,
        },
    })
}

/// The name of the journal and of the lease of a volume.
#[must_use]
pub fn journal_name(volume: &str) -> String {
    format!("azcsi-migrate-{}", short(volume))
}

/// The hash over what must not change between plan and apply.
#[must_use]
pub fn inputs(volume: &Value, claim: Option<&Value>) -> String {
    hash(&json!({"volume": steady(volume), "claim": claim.map(steady)}))
}

/// An object without what changes by itself.
fn steady(object: &Value) -> Value {
    let mut spec = object.get("spec").cloned().unwrap_or(Value::Null);
    if let Some(reference) = spec.get_mut("claimRef").and_then(Value::as_object_mut) {
        reference.remove("resourceVersion");
    }
    let metadata: Map<String, Value> = ["uid", "name", "namespace", "labels"]
        .into_iter()
        .filter_map(|key| {
            Some((
                key.to_owned(),
                object.pointer(&format!("/metadata/{key}"))?.clone(),
            ))
        })
        .collect();
    json!({"metadata": metadata, "spec": spec})
}

fn notes(options: &Options, old: &Value, new: &Value, account: Option<&str>) -> Vec<String> {
    let mut out = Vec::new();
    let secret = text(old, "/spec/azureFile/secretName");
    if !secret.is_empty() && account.is_none() && account_of_secret(secret) == secret {
        out.push("the storage account is not known: --check-secrets reads it".to_owned());
    }
    if old.pointer("/spec/azureDisk").is_some() {
        let before = text(old, "/spec/azureDisk/cachingMode");
        let after = cache_of(old, &options.wishes);
        if before != after {
            out.push(format!("cache mode {before:?} becomes {after}"));
        } else if after == volume::DEFAULT_CACHE {
            out.push(
                "host cache ReadWrite stays; --rw-cache-to-readonly would change it".to_owned(),
            );
        }
    }
    if old.pointer("/spec/nodeAffinity") != new.pointer("/spec/nodeAffinity") {
        out.push("the node affinity uses the driver's zone key now".to_owned());
    }
    if options.variant == Variant::Renew && old.pointer("/spec/claimRef").is_some() {
        out.push("the claim gets a new uid: backups that refer to it see a new claim".to_owned());
    }
    if Plugin::of_in_tree_name(crate::value::annotation(
        old,
        "pv.kubernetes.io/provisioned-by",
    ))
    .is_none()
        && policy(old) == "Delete"
    {
        out.push("until now nothing would have deleted the disk with its claim".to_owned());
    }
    out
}

/// The claim of an item: namespace and name.
#[must_use]
pub fn claim_key(item: &Item) -> Option<(&str, &str)> {
    let claim = item.before.claim.as_ref()?;
    Some((namespace(claim), name(claim)))
}
