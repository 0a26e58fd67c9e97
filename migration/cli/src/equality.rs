//! Whether an old and a new volume mean the same thing. Pure.
//!
//! The runtime translation of the old volume is what Kubernetes attached and mounted until now. The
//! new volume must say the same in every point that reaches the driver.

use azcsi_migration::persistent_volume::{from_csi, to_csi};
use azcsi_migration::{Mode, Plugin};
use serde_json::Value;

use crate::target::volume::{DEFAULT_CACHE, names_share};
use crate::value::{name, text};
use crate::verdict::Wishes;

/// Every difference that matters; none is equality.
#[must_use]
pub fn differences(old: &Value, new: &Value, wishes: &Wishes) -> Vec<String> {
    let runtime = match to_csi(Mode::Compat, old) {
        Ok(runtime) => runtime,
        Err(error) => return vec![format!("the old volume does not translate: {error}")],
    };
    let mut out = Vec::new();
    same(&mut out, "/spec/csi/driver", &runtime, new);
    for field in [
        "/spec/accessModes",
        "/spec/capacity",
        "/spec/mountOptions",
        "/spec/volumeMode",
        "/spec/storageClassName",
        "/spec/claimRef/namespace",
        "/spec/claimRef/name",
        "/spec/csi/readOnly",
    ] {
        same(&mut out, field, &runtime, new);
    }
    if text(new, "/spec/csi/driver") == Plugin::AzureDisk.driver() {
        disk(&mut out, old, new, wishes, &runtime);
    } else {
        file(&mut out, old, new, &runtime);
    }
    out
}

fn same(out: &mut Vec<String>, pointer: &str, old: &Value, new: &Value) {
    let (before, after) = (old.pointer(pointer), new.pointer(pointer));
    if before != after {
        out.push(format!(
            "{pointer}: {} became {}",
            shown(before),
            shown(after)
        ));
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

fn equal(out: &mut Vec<String>, what: &str, before: &str, after: &str) {
    if before != after {
        out.push(format!("{what}: {before:?} became {after:?}"));
    }
}

fn disk(out: &mut Vec<String>, old: &Value, new: &Value, wishes: &Wishes, runtime: &Value) {
    same(out, "/spec/csi/volumeHandle", runtime, new);
    let cache = |volume: &Value| {
        let attributes = volume
            .pointer("/spec/csi/volumeAttributes")
            .and_then(Value::as_object);
        let mut found = attributes.into_iter().flatten();
        found
            .find(|(key, _)| key.eq_ignore_ascii_case("cachingmode"))
            .and_then(|(_, value)| value.as_str())
            .filter(|mode| !mode.is_empty())
            .unwrap_or(DEFAULT_CACHE)
            .to_owned()
    };
    let before = match (cache(runtime), wishes.tame_cache) {
        (mode, true) if mode == DEFAULT_CACHE => "ReadOnly".to_owned(),
        (mode, _) => mode,
    };
    equal(out, "cache mode", &before, &cache(new));
    let stored = text(runtime, "/spec/csi/fsType");
    let assumed = wishes.assume_fs_type.as_deref().unwrap_or_default();
    let wanted = match stored {
        _ if text(old, "/spec/volumeMode") == "Block" => "",
        "" => assumed,
        stored => stored,
    };
    equal(out, "filesystem", wanted, text(new, "/spec/csi/fsType"));
    match from_csi(Mode::Strict, new) {
        Ok(back) => equal(
            out,
            "disk on the way back",
            text(old, "/spec/azureDisk/diskURI"),
            text(&back, "/spec/azureDisk/diskURI"),
        ),
        Err(error) => out.push(format!("the new volume does not translate back: {error}")),
    }
}

fn file(out: &mut Vec<String>, old: &Value, new: &Value, runtime: &Value) {
    same(out, "/spec/csi/nodeStageSecretRef", runtime, new);
    let share = text(old, "/spec/azureFile/shareName");
    equal(
        out,
        "share",
        share,
        text(new, "/spec/csi/volumeAttributes/shareName"),
    );
    let handle = text(new, "/spec/csi/volumeHandle");
    if !names_share(handle, share, name(old)) {
        out.push(format!(
            "the handle {handle:?} does not name the share and the volume"
        ));
    }
    match from_csi(Mode::Compat, new) {
        Ok(back) => {
            for field in ["secretName", "secretNamespace", "shareName"] {
                let pointer = format!("/spec/azureFile/{field}");
                let before = match text(old, &pointer) {
                    "" if field == "secretNamespace" => text(old, "/spec/claimRef/namespace"),
                    given => given,
                };
                equal(out, field, before, text(&back, &pointer));
            }
        }
        Err(error) => out.push(format!("the new volume does not translate back: {error}")),
    }
}
