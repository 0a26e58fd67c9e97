//! The CSI volume that takes the place of an in-tree one.
//!
//! It is derived from the old object, so that nothing is forgotten, and says outright what the
//! translation leaves to defaults: the cache mode, the access to the secret, where the volume is.

use azcsi_migration::handle::{FileHandle, account_of_secret};
use azcsi_migration::persistent_volume::to_csi;
use azcsi_migration::topology::{BETA_REGION, BETA_ZONE, REGION, ZONE, replaced};
use azcsi_migration::{Mode, Plugin};
use serde_json::{Map, Value, json};

use super::{annotate, bare, drop_annotations};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::resources::{CONVERTED_FROM, JOURNAL};
use crate::value::{child, name, policy, text};
use crate::verdict::Wishes;

const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const RESOURCE_GROUP: &str = "kubernetes.io/azure-file-resource-group";
/// Annotations that belong to the old form.
const OBSOLETE: [&str; 4] = [
    "pv.kubernetes.io/migrated-to",
    "pv.kubernetes.io/bound-by-controller",
    "volumehelper.VolumeDynamicallyCreatedByKey",
    "kubernetes.io/createdby",
];

/// How the claim stays with its volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Variant {
    /// The claim is made anew.
    Renew,
    /// The claim stays; only the volume is made anew.
    Keep,
}

/// What the new volume is made from besides the old one.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// What Azure says.
    pub facts: &'a Facts,
    /// What the operator wants.
    pub wishes: &'a Wishes,
    /// Whether the claim stays.
    pub variant: Variant,
    /// The name of the journal.
    pub journal: &'a str,
    /// The storage account that the secret names, if it was looked at.
    pub account: Option<&'a str>,
}

/// The new volume.
///
/// # Errors
/// The old one cannot be converted.
pub fn of(old: &Value, context: &Context<'_>) -> Result<Value, Failure> {
    let translated = to_csi(Mode::Strict, old)?;
    let mut new = bare(&translated);
    let plugin = if old.pointer("/spec/azureDisk").is_some() {
        Plugin::AzureDisk
    } else {
        Plugin::AzureFile
    };
    let csi = match plugin {
        Plugin::AzureDisk => disk(old, context),
        Plugin::AzureFile => {
            new = replaced(BETA_ZONE, ZONE, &replaced(BETA_REGION, REGION, &new)?)?;
            file(old, &translated, context)
        }
    };
    let final_policy = policy(old).to_owned();
    let spec = child(&mut new, "spec");
    spec.insert("csi".to_owned(), csi);
    spec.insert("persistentVolumeReclaimPolicy".to_owned(), json!("Retain"));
    if let Some(claim) = spec.get_mut("claimRef").and_then(Value::as_object_mut) {
        claim.remove("resourceVersion");
        if context.variant == Variant::Renew {
            claim.remove("uid");
        }
    }
    rename_labels(&mut new);
    drop_annotations(&mut new, &OBSOLETE);
    drop_annotations(&mut new, &[PROVISIONED_BY, RESOURCE_GROUP]);
    // Only with this does the provisioner delete the disk when the claim goes, as it did before.
    if final_policy == "Delete" {
        annotate(&mut new, PROVISIONED_BY, plugin.driver());
    }
    annotate(&mut new, CONVERTED_FROM, plugin.in_tree_name());
    annotate(&mut new, JOURNAL, context.journal);
    Ok(new)
}

/// The cache mode that the API server stores when none is given.
pub const DEFAULT_CACHE: &str = "ReadWrite";

/// The cache mode of the new volume.
#[must_use]
pub fn cache_of<'a>(old: &'a Value, wishes: &Wishes) -> &'a str {
    match text(old, "/spec/azureDisk/cachingMode") {
        "" | DEFAULT_CACHE if wishes.tame_cache => "ReadOnly",
        "" => DEFAULT_CACHE,
        stored => stored,
    }
}

fn disk(old: &Value, context: &Context<'_>) -> Value {
    let uri = text(old, "/spec/azureDisk/diskURI");
    let mut attributes = Map::new();
    attributes.insert(
        "cachingMode".to_owned(),
        json!(cache_of(old, context.wishes)),
    );
    let shares = context.facts.max_shares(uri);
    if shares >= 2 {
        attributes.insert("maxShares".to_owned(), json!(shares.to_string()));
    }
    let mut csi = Map::new();
    csi.insert("driver".to_owned(), json!(Plugin::AzureDisk.driver()));
    csi.insert("volumeHandle".to_owned(), json!(uri));
    let assumed = context.wishes.assume_fs_type.as_deref().unwrap_or_default();
    let fs_type = match text(old, "/spec/azureDisk/fsType") {
        "" => assumed,
        stored => stored,
    };
    if !fs_type.is_empty() && text(old, "/spec/volumeMode") != "Block" {
        csi.insert("fsType".to_owned(), json!(fs_type));
    }
    if old.pointer("/spec/azureDisk/readOnly") == Some(&Value::Bool(true)) {
        csi.insert("readOnly".to_owned(), json!(true));
    }
    csi.insert("volumeAttributes".to_owned(), Value::Object(attributes));
    Value::Object(csi)
}

fn file(old: &Value, translated: &Value, context: &Context<'_>) -> Value {
    let share = text(old, "/spec/azureFile/shareName");
    let secret = text(old, "/spec/azureFile/secretName");
    let account = context.account.unwrap_or_else(|| account_of_secret(secret));
    let annotated = crate::value::annotation(old, RESOURCE_GROUP);
    let group = match annotated {
        "" => context.facts.group_of(account).unwrap_or_default(),
        given => given,
    };
    let place = text(translated, "/spec/csi/nodeStageSecretRef/namespace");
    let volume = name(old);
    // Six parts, the fourth empty, so that the name is never taken for a disk image; without a group
    // the driver reads only the five-part form right.
    let handle = if group.is_empty() {
        format!("#{account}#{share}#{volume}#{place}")
    } else {
        format!("{group}#{account}#{share}##{volume}#{place}")
    };
    let mut attributes = Map::new();
    attributes.insert("shareName".to_owned(), json!(share));
    attributes.insert("protocol".to_owned(), json!("smb"));
    if !group.is_empty() {
        attributes.insert("resourceGroup".to_owned(), json!(group));
    }
    let mut csi = Map::new();
    csi.insert("driver".to_owned(), json!(Plugin::AzureFile.driver()));
    csi.insert("volumeHandle".to_owned(), json!(handle));
    csi.insert("volumeAttributes".to_owned(), Value::Object(attributes));
    csi.insert(
        "nodeStageSecretRef".to_owned(),
        json!({"name": secret, "namespace": place}),
    );
    if old.pointer("/spec/azureFile/readOnly") == Some(&Value::Bool(true)) {
        csi.insert("readOnly".to_owned(), json!(true));
    }
    Value::Object(csi)
}

/// Whether a file handle is one that this module writes: used by the check of equality.
#[must_use]
pub fn names_share(handle: &str, share: &str, volume: &str) -> bool {
    let parts: Vec<&str> = handle.split('#').collect();
    let read = FileHandle::parse(handle);
    read.is_ok_and(|read| read.share == share) && parts.contains(&volume)
}

fn rename_labels(new: &mut Value) {
    let metadata = child(new, "metadata");
    let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) else {
        return;
    };
    for (old, stable) in [(BETA_ZONE, ZONE), (BETA_REGION, REGION)] {
        if let Some(value) = labels.remove(old) {
            labels.entry(stable).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests;
