//! The CSI class that takes the place of an in-tree one, in the driver's own spelling.

use azcsi_migration::storage_class::to_csi;
use azcsi_migration::{Mode, Plugin};
use serde_json::{Map, Value, json};

use super::bare;
use crate::failure::Failure;
use crate::value::{child, text};

/// Parameters of the disk plugin by their name in lower case, and the driver's spelling.
const DISK: [(&str, &str); 12] = [
    ("cachingmode", "cachingMode"),
    ("diskencryptionsetid", "diskEncryptionSetID"),
    ("diskiopsreadwrite", "DiskIOPSReadWrite"),
    ("diskmbpsreadwrite", "DiskMBpsReadWrite"),
    ("fstype", "csi.storage.k8s.io/fstype"),
    ("location", "location"),
    ("maxshares", "maxShares"),
    ("resourcegroup", "resourceGroup"),
    ("skuname", "skuName"),
    ("storageaccounttype", "skuName"),
    ("tags", "tags"),
    ("writeacceleratorenabled", "enableWriteAccelerator"),
];
/// The same for files.
const FILE: [(&str, &str); 7] = [
    ("location", "location"),
    ("resourcegroup", "resourceGroup"),
    ("secretnamespace", "secretNamespace"),
    ("sharename", "shareName"),
    ("skuname", "skuName"),
    ("storageaccount", "storageAccount"),
    ("tags", "tags"),
];
/// Parameters that mean nothing any more.
const DROPPED: [&str; 3] = ["kind", "storageaccount", "zoned"];

/// The new class, and what a person should know about it.
///
/// # Errors
/// The class cannot be translated, or has a parameter that no driver knows.
pub fn of(old: &Value) -> Result<(Value, Vec<String>), Failure> {
    let translated = to_csi(Mode::Strict, old)?;
    let provisioner = text(old, "/provisioner");
    let plugin = Plugin::of_in_tree_name(provisioner);
    let (driver, known): (&str, &[(&str, &str)]) = match plugin {
        Some(Plugin::AzureFile) => (Plugin::AzureFile.driver(), &FILE),
        _ => (Plugin::AzureDisk.driver(), &DISK),
    };
    let mut notes = Vec::new();
    let mut parameters = Map::new();
    let old_parameters = translated.get("parameters").and_then(Value::as_object);
    for (key, value) in old_parameters.into_iter().flatten() {
        let lower = key.to_ascii_lowercase();
        if let Some((_, spelled)) = known.iter().find(|(name, _)| *name == lower) {
            if parameters
                .insert((*spelled).to_owned(), value.clone())
                .is_some()
            {
                return Err(Failure::Blocked(format!("the class says {spelled} twice")));
            }
        } else if DROPPED.contains(&lower.as_str()) {
            notes.push(format!("{key} has no meaning for {driver} and is dropped"));
        } else {
            return Err(Failure::Blocked(format!(
                "{driver} knows no parameter {key}"
            )));
        }
    }
    if plugin == Some(Plugin::AzureDisk) && !parameters.contains_key("cachingMode") {
        let mode = default_cache(text_of(&parameters, "skuName"));
        parameters.insert("cachingMode".to_owned(), json!(mode));
        notes.push(format!("cachingMode {mode} is now written out"));
    }
    let mut new = bare(&translated);
    let members = new.as_object_mut();
    if let Some(members) = members {
        members.insert("provisioner".to_owned(), json!(driver));
        members.insert("parameters".to_owned(), Value::Object(parameters));
    }
    hand_over_default(&mut new, &mut notes);
    Ok((new, notes))
}

fn text_of<'a>(parameters: &'a Map<String, Value>, key: &str) -> &'a str {
    parameters
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The host cache that the driver uses when a class is silent; these SKUs accept none.
fn default_cache(sku: &str) -> &'static str {
    let none = ["UltraSSD_LRS", "PremiumV2_LRS"];
    if none.iter().any(|known| known.eq_ignore_ascii_case(sku)) {
        "None"
    } else {
        "ReadOnly"
    }
}

/// Two default classes at once make new claims go astray, so the mark is for a person to move.
fn hand_over_default(new: &mut Value, notes: &mut Vec<String>) {
    const MARKS: [&str; 2] = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    let marked = MARKS
        .iter()
        .any(|mark| crate::value::annotation(new, mark) == "true");
    super::drop_annotations(new, &MARKS);
    if marked {
        let _ = child(new, "metadata");
        super::annotate(new, MARKS[0], "true");
        notes.push("the default class: take the mark from the old one before this is made".into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of;

    fn class(parameters: &serde_json::Value) -> serde_json::Value {
        json!({"metadata": {"name": "c"}, "provisioner": "kubernetes.io/azure-disk",
            "parameters": parameters})
    }

    #[test]
    fn parameters_get_the_drivers_spelling_and_the_cache_is_written_out() {
        let old = class(
            &json!({"StorageAccountType": "Premium_LRS", "KIND": "managed",
            "fsType": "xfs", "zones": " a-1, a-2,"}),
        );
        let (new, notes) = of(&old).unwrap();
        assert_eq!(new["provisioner"], "disk.csi.azure.com");
        assert_eq!(
            new["parameters"],
            json!({"skuName": "Premium_LRS", "csi.storage.k8s.io/fstype": "xfs",
                "cachingMode": "ReadOnly"})
        );
        assert_eq!(
            new["allowedTopologies"][0]["matchLabelExpressions"][0]["values"],
            json!(["a-1", "a-2"])
        );
        assert_eq!(notes.len(), 2);
        let (ultra, _) = of(&class(&json!({"skuname": "ultrassd_lrs"}))).unwrap();
        assert_eq!(ultra["parameters"]["cachingMode"], "None");
    }

    #[test]
    fn what_no_driver_knows_is_refused() {
        for parameters in [
            json!({"kind": "Dedicated"}),
            json!({"speed": "fast"}),
            json!({"skuname": "a", "storageaccounttype": "b"}),
        ] {
            assert!(of(&class(&parameters)).is_err(), "{parameters}");
        }
    }
}
