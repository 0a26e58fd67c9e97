//! Manifests on disk: YAML or JSON, one document or many, Lists too.
//!
//! A manifest is edited, not written anew: only the lines of what changes are touched, so comments,
//! order and spelling of all else stay. Every edit is read back and compared with what was meant; where
//! an edit does not succeed the document is written anew and its comments are lost, with a note.

mod edit;
mod lines;

use azcsi_migration::Plugin;
use azcsi_migration::registry::{is_inline_migratable, is_pv_migratable};
use serde_json::{Value, json};

use crate::facts::Facts;
use crate::failure::Failure;
use crate::output::yaml;
use crate::resources::{CONVERTED_FROM, JOURNAL};
use crate::target::volume::{Context, Variant};
use crate::target::{class, drop_annotations, volume};
use crate::value::{child, list, name, text};
use crate::verdict::Wishes;

/// The result for one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// The new content.
    pub text: String,
    /// Objects that were converted.
    pub changed: usize,
    /// Objects that cannot be.
    pub blocked: usize,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Converts what a file holds.
///
/// # Errors
/// The content is neither YAML nor JSON.
pub fn convert(content: &str, wishes: &Wishes) -> Result<Converted, Failure> {
    let mut out = Converted::default();
    if content.trim_start().starts_with(['{', '[']) {
        let old: Value = serde_json::from_str(content).map_err(|error| wrong(&error))?;
        let new = out.object(&old, wishes);
        out.text = if new == old {
            content.to_owned()
        } else {
            serde_json::to_string_pretty(&new).map_err(|error| wrong(&error))? + "\n"
        };
        return Ok(out);
    }
    for document in documents(content) {
        let text = out.document(document, wishes)?;
        out.text.push_str(&text);
    }
    Ok(out)
}

fn wrong(error: &dyn std::error::Error) -> Failure {
    Failure::Document {
        what: "the manifest".to_owned(),
        why: error.to_string(),
    }
}

/// The documents, each with the marker line before it; together they are the whole content.
fn documents(content: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = vec![0];
    let mut at = 0;
    for line in content.split_inclusive('\n') {
        let marker = line.trim_end() == "---" || line.starts_with("--- ");
        if marker && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(content.len());
    starts
        .windows(2)
        .map(|pair| &content[pair[0]..pair[1]])
        .collect()
}

impl Converted {
    fn document(&mut self, document: &str, wishes: &Wishes) -> Result<String, Failure> {
        let old = read(document).map_err(|error| wrong(&error))?;
        let new = self.object(&old, wishes);
        if new == old {
            return Ok(document.to_owned());
        }
        let edited = edit::applied(document, &old, &new);
        if let Some(edited) = edited.filter(|text| read(text).is_ok_and(|back| back == new)) {
            return Ok(edited);
        }
        self.notes
            .push(format!("{}: written anew, comments are lost", title(&new)));
        let marker = document
            .lines()
            .next()
            .filter(|line| line.starts_with("---"));
        let marker = marker.map(|line| format!("{line}\n")).unwrap_or_default();
        let text = yaml(&new).map_err(|why| Failure::Document {
            what: title(&new),
            why,
        })?;
        Ok(marker + &text)
    }

    /// An object, or the items of a List, converted where they are of the two plugins.
    fn object(&mut self, old: &Value, wishes: &Wishes) -> Value {
        let kind = text(old, "/kind");
        if kind.ends_with("List") && old.get("items").is_some() {
            let mut copy = old.clone();
            let items = list(old, "/items")
                .iter()
                .map(|item| self.object(item, wishes));
            copy["items"] = items.collect::<Vec<_>>().into();
            return copy;
        }
        let converted = match kind {
            "PersistentVolume" if is_pv_migratable(old) => offline_volume(old, wishes),
            "StorageClass" if Plugin::of_in_tree_name(text(old, "/provisioner")).is_some() => {
                class::of(old).map(|(new, notes)| {
                    self.notes
                        .extend(notes.iter().map(|note| format!("{}: {note}", title(old))));
                    new
                })
            }
            _ => {
                self.inline(old);
                return old.clone();
            }
        };
        match converted {
            Ok(new) => {
                self.changed += 1;
                new
            }
            Err(error) => {
                self.blocked += 1;
                self.notes
                    .push(format!("{}: left alone: {error}", title(old)));
                old.clone()
            }
        }
    }

    fn inline(&mut self, object: &Value) {
        for pointer in [
            "/spec/volumes",
            "/spec/template/spec/volumes",
            "/spec/jobTemplate/spec/template/spec/volumes",
        ] {
            for volume in list(object, pointer)
                .iter()
                .filter(|v| is_inline_migratable(v))
            {
                self.blocked += 1;
                self.notes.push(format!(
                    "{}: the volume {} stands in the pod template: give it a volume and a claim",
                    title(object),
                    text(volume, "/name")
                ));
            }
        }
    }
}

fn read(document: &str) -> Result<Value, serde_saphyr::Error> {
    let empty = document.lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "---"
    });
    if empty {
        Ok(Value::Null)
    } else {
        serde_saphyr::from_str(document)
    }
}

fn title(object: &Value) -> String {
    format!("{} {}", text(object, "/kind"), name(object))
}

/// The volume as Git should have it: with the policy that is meant, and no marks of a conversion.
fn offline_volume(old: &Value, wishes: &Wishes) -> Result<Value, Failure> {
    let absent = old.pointer("/spec/azureDisk/fsType").is_none();
    let wishes = Wishes {
        // What the API server would have stored.
        assume_fs_type: wishes
            .assume_fs_type
            .clone()
            .or_else(|| absent.then(|| "ext4".to_owned())),
        ..wishes.clone()
    };
    let context = Context {
        facts: &Facts::default(),
        wishes: &wishes,
        variant: Variant::Renew,
        journal: "",
        account: None,
    };
    let mut new = volume::of(old, &context)?;
    drop_annotations(&mut new, &[JOURNAL, CONVERTED_FROM]);
    let policy = old.pointer("/spec/persistentVolumeReclaimPolicy");
    let spec = child(&mut new, "spec");
    match policy {
        Some(policy) => spec.insert("persistentVolumeReclaimPolicy".to_owned(), json!(policy)),
        None => spec.remove("persistentVolumeReclaimPolicy"),
    };
    Ok(new)
}

#[cfg(test)]
mod tests;
